package viewer

import (
	"fmt"
	"path"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// summarize puts a device's results in a sentence or two: how high it went,
// who held it, and what is held for nothing. It words finished numbers and
// judges only what a reader would look at first.
func summarize(d *Device) Verdict {
	st, h := d.Stats, d.History
	if st.Reserved == 0 && !h.Known() {
		return Verdict{Tone: "note", Text: "The allocator held no memory on this device when the snapshot was taken, and no history was recorded."}
	}
	v := Verdict{Tone: "ok"}
	switch {
	case h.Inconsistent():
		v.Tone = "bad"
	case h.State != "complete":
		v.Tone = "note"
	}
	var parts []string
	if d.Failure != nil {
		v.Tone = "bad"
		parts = append(parts, failureSentence(d.Failure, h))
		if d.OOM != nil {
			parts = append(parts, "This is "+d.OOM.Short+".")
		}
	}
	parts = append(parts, heightSentence(d))
	if s := purposeSentence(d); s != "" {
		parts = append(parts, s)
	}
	if m := firstMoment(d.Moments); m != nil && len(m.Rows) > 0 {
		parts = append(parts, m.Title+", "+holders(m)+".")
	}
	if st.PendingFree > 0 {
		parts = append(parts, fmt.Sprintf("%s were pending free %s: given up by the program, but still in use by a stream.", units.Bytes(st.PendingFree), h.when()))
	}
	if s, tone := freeSentence(st, h); s != "" {
		parts = append(parts, s)
		if v.Tone == "ok" {
			v.Tone = tone
		}
	}
	v.Text = strings.Join(parts, " ")
	return v
}

// heightSentence tells the peak, or the end when no peak is known.
func heightSentence(d *Device) string {
	h := d.History
	switch {
	case h.CutOff:
		return fmt.Sprintf("In the part of the file that could be read, at least %s was allocated when the snapshot was taken; the peak is not known, because the file breaks off before its history.", units.Bytes(d.Stats.Allocated))
	case !h.Known():
		return fmt.Sprintf("%s was allocated when the snapshot was taken; the peak is not known, because no history was recorded.", units.Bytes(d.Stats.Allocated))
	case h.OpenEnd && h.End > h.Peak.Bytes:
		return fmt.Sprintf("The file breaks off within its history: memory peaked at %s or more, which was requested when the snapshot was taken. In the events read it reached at least %s, and the last of them left at least %s requested.", units.Bytes(h.End), units.Bytes(h.Peak.Bytes), units.Bytes(h.Last))
	case h.OpenEnd:
		return fmt.Sprintf("The file breaks off within its history: memory peaked at %s or more, and at the last event read %s or more was requested.", units.Bytes(h.Peak.Bytes), units.Bytes(h.Last))
	case h.Inconsistent():
		return fmt.Sprintf("Memory ended at %s. The history contradicts itself or the segments; replayed all the same, it peaks at %s, which is not certain.", units.Bytes(h.End), units.Bytes(h.Peak.Bytes))
	case h.LowerBound() && h.Peak.Bytes == h.End:
		return fmt.Sprintf("Memory ended at %s, the highest in a truncated history: the peak was at least that.", units.Bytes(h.End))
	case h.LowerBound():
		return fmt.Sprintf("Memory peaked at %s at least, as the history is truncated, and ended at %s.", units.Bytes(h.Peak.Bytes), units.Bytes(h.End))
	case h.Peak.Bytes == h.End:
		return fmt.Sprintf("Memory peaked at %s, which is also where it ended.", units.Bytes(h.Peak.Bytes))
	}
	return fmt.Sprintf("Memory peaked at %s and ended at %s.", units.Bytes(h.Peak.Bytes), units.Bytes(h.End))
}

func firstMoment(ms []Moment) *Moment {
	if len(ms) == 0 {
		return nil
	}
	return &ms[0]
}

// holders words who holds most at a moment. Rows are sorted, so those that
// share the first place are the first ones.
func holders(m *Moment) string {
	first := m.Rows[0]
	ties := 1
	for ties < len(m.Rows) && m.Rows[ties].Bytes == first.Bytes {
		ties++
	}
	if ties > 1 {
		return tiedHolders(m, ties)
	}
	s := holder(first, m.Total)
	switch {
	case len(m.Rows) == 1:
		return s
	case first.File != "":
		return s + ", more than any other line"
	}
	for i, r := range m.Rows[1:] {
		if r.File == "" {
			continue
		}
		if i == 0 {
			return s + fmt.Sprintf(", then %s with %s (%s)", rowName(r), units.Bytes(r.Bytes), units.Percent(r.Bytes, m.Total))
		}
		return s + "; of the lines of code, " + holder(r, m.Total)
	}
	return s
}

func tiedHolders(m *Moment, ties int) string {
	const most = 3
	var names []string
	for i, r := range m.Rows[:ties] {
		if i == most-1 && ties > most {
			names = append(names, units.Count(ties-i)+" others")
			break
		}
		names = append(names, rowName(r))
	}
	first := m.Rows[0]
	return fmt.Sprintf("%s each held %s (%s)", joinAnd(names), units.Bytes(first.Bytes), units.Percent(first.Bytes, m.Total))
}

// holder words one row as a clause.
func holder(r Row, total int64) string {
	verb := "held"
	if r.Kind == SpecialFrame && r.Function != snapshot.AutogradThread {
		verb = "came to"
	}
	return fmt.Sprintf("%s %s %s (%s)", rowName(r), verb, units.Bytes(r.Bytes), units.Percent(r.Bytes, total))
}

// rowName names a row in running text, also when it has no line.
func rowName(r Row) string {
	switch {
	case r.File != "":
		return shortPlace(r.Frame)
	case r.Function == snapshot.AutogradThread:
		return "the autograd thread (no Python stack)"
	case r.Function == snapshot.NoStackKnown:
		return "memory without a stack"
	case r.Function == snapshot.OlderMemory:
		return "memory older than the history"
	case r.Function == snapshot.NativeCode || r.Function == "":
		return "native code"
	}
	return "native code (" + clean(r.Function, maxFunction) + ")"
}

// maxFunction bounds C++ names in sentences, in bytes.
const maxFunction = 80

// freeSentence tells what the allocator holds for nothing, when that is worth
// a word: from a tenth of what is reserved.
func freeSentence(st Stats, h History) (text, tone string) {
	free := st.Free()
	if free*10 < st.Reserved || free == 0 {
		return "", "ok"
	}
	text = fmt.Sprintf("Of %s reserved, %s (%s) was free %s", units.Bytes(st.Reserved), units.Bytes(free), units.Percent(free, st.Reserved), h.when())
	switch {
	case st.InactiveSplit == free:
		return text + ", all of it in gaps between used blocks, where empty_cache() cannot return it.", "note"
	case st.InactiveSplit*10 >= st.Reserved:
		return text + fmt.Sprintf(", and %s of that sits in gaps between used blocks, where empty_cache() cannot return it.", units.Bytes(st.InactiveSplit)), "note"
	}
	return text + ".", "ok"
}

// shortPlace is "dir/file.py:12": enough to recognise, short enough to read.
func shortPlace(f Frame) string {
	dir, file := splitPlace(f.File)
	if dir != "" {
		file = path.Base(dir) + "/" + file
	}
	if f.Line <= 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, f.Line)
}

// splitPlace separates the directory from the file name, for either slash.
func splitPlace(file string) (dir, base string) {
	i := strings.LastIndexAny(file, `/\`)
	return strings.TrimRight(file[:i+1], `/\`), file[i+1:]
}
