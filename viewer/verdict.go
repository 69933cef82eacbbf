package viewer

import (
	"fmt"
	"path"
	"strings"

	"github.com/snapview/snapview/internal/units"
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
	var parts []string
	if oom := lastOOM(d.Marks); oom != nil {
		v.Tone = "bad"
		parts = append(parts, oom.Label+".")
	}
	parts = append(parts, heightSentence(d))
	if s, tone := freeSentence(st); s != "" {
		parts = append(parts, s)
		if v.Tone == "ok" {
			v.Tone = tone
		}
	}
	v.Text = strings.Join(parts, " ")
	return v
}

func lastOOM(marks []Mark) *Mark {
	for i := len(marks) - 1; i >= 0; i-- {
		if marks[i].Kind == "oom" {
			return &marks[i]
		}
	}
	return nil
}

// heightSentence tells the peak, or the end when no peak is known, and the
// line that holds most of it.
func heightSentence(d *Device) string {
	h := d.History
	m := firstMoment(d.Moments)
	heavy := heaviest(m)
	if !h.Known() {
		s := fmt.Sprintf("%s was allocated when the snapshot was taken; the peak is not known, because no history was recorded.", units.Bytes(d.Stats.Allocated))
		if heavy != "" {
			s += " At the end, " + heavy + ", more than any other line."
		}
		return s
	}
	s := fmt.Sprintf("Memory peaked at %s", units.Bytes(h.Peak.Bytes))
	switch {
	case h.Peak.Bytes == h.End:
		s += ", which is also where it ended"
	default:
		s += fmt.Sprintf(" and ended at %s", units.Bytes(h.End))
	}
	if heavy != "" {
		s += ". At the peak, " + heavy + ", more than any other line"
	}
	return s + "."
}

func firstMoment(ms []Moment) *Moment {
	if len(ms) == 0 {
		return nil
	}
	return &ms[0]
}

// heaviest words the row of a moment that holds most of it among those that
// name a line, "" when there is none.
func heaviest(m *Moment) string {
	if m == nil {
		return ""
	}
	for _, r := range m.Rows {
		if r.File != "" {
			return fmt.Sprintf("%s held %s (%s)", shortPlace(r.Frame), units.Bytes(r.Bytes), units.Percent(r.Bytes, m.Total))
		}
	}
	return ""
}

// freeSentence tells what the allocator holds for nothing, when that is worth
// a word: from a tenth of what is reserved.
func freeSentence(st Stats) (text, tone string) {
	free := st.Free()
	if free*10 < st.Reserved || free == 0 {
		return "", "ok"
	}
	text = fmt.Sprintf("Of %s reserved, %s (%s) was free at the end", units.Bytes(st.Reserved), units.Bytes(free), units.Percent(free, st.Reserved))
	if st.InactiveSplit*10 >= st.Reserved {
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
	return fmt.Sprintf("%s:%d", file, f.Line)
}

// splitPlace separates the directory from the file name, for either slash.
func splitPlace(file string) (dir, base string) {
	i := strings.LastIndexAny(file, `/\`)
	return strings.TrimRight(file[:i+1], `/\`), file[i+1:]
}
