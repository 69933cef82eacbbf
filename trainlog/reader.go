package trainlog

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
)

// A reader turns lines into curves.
type reader struct {
	Options
	log      Log
	scan     scanner
	table    *table
	summary  *summary
	gpuTable gpuTable
	memoryAt int // which field of an Ultralytics row is the memory, 0 for none
	labels   lineLabel
	label    int // of the line, Unknown for none

	trackers map[Source]*tracker // without run and device
	moved    *tracker            // by the last step that was printed
	series   map[seriesKey]*building
	order    []*building
	latest   *building // that took the figure before
	counters map[Source]int
	forms    [numForms]bool

	line    int64
	current string // its text, without what was put around it
	now     moment
}

// A moment is what is known about the line being read besides its figures.
type moment struct {
	Source
	at    float64
	zoned bool
}

func newMoment() moment {
	return moment{Source: Source{Rank: Unknown, Device: Unknown}, at: math.NaN()}
}

func newReader(o Options) *reader {
	return &reader{Options: o, log: Log{Name: o.Name}, scan: scanner{words: newVocabulary()},
		trackers: map[Source]*tracker{}, series: map[seriesKey]*building{}, counters: map[Source]int{}}
}

// positioned tells how far a file was read.
type positioned interface{ ReadRaw() int64 }

// read reads all lines. A line ends at a line feed or a carriage return, which
// progress bars use.
func (r *reader) read(in io.Reader, at positioned) error {
	const every = 1 << 14 // lines between reports of progress
	b := bufio.NewReaderSize(in, maxLine)
	for n := 0; ; n++ {
		chunk, err := b.ReadSlice('\n')
		if len(chunk) > 0 {
			r.line++
			if errors.Is(err, bufio.ErrBufferFull) {
				err = r.long(b, chunk)
			} else {
				r.segments(bytes.TrimSuffix(chunk, []byte("\n")))
			}
		}
		if n%every == 0 && r.Progress != nil {
			r.Progress(at.ReadRaw(), -1)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// long reads a line that is longer than a buffer, of which it is given the start.
// Of each part that a carriage return ends the first maxLine bytes count.
func (r *reader) long(b *bufio.Reader, chunk []byte) (err error) {
	held := make([]byte, 0, maxLine)
	for err = bufio.ErrBufferFull; ; chunk, err = b.ReadSlice('\n') {
		for part := range bytes.SplitAfterSeq(bytes.TrimSuffix(chunk, []byte("\n")), []byte("\r")) {
			held = append(held, part[:min(len(part), maxLine-len(held))]...)
			if bytes.HasSuffix(part, []byte("\r")) {
				r.segments(held)
				held = held[:0]
			}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			r.segments(held)
			return err
		}
	}
}

func (r *reader) segments(line []byte) {
	for len(line) > 0 {
		segment := line
		if at := bytes.IndexByte(line, '\r'); at >= 0 {
			segment, line = line[:at], line[at+1:]
		} else {
			line = nil
		}
		if segment = bytes.TrimLeft(bytes.TrimRight(dropEscapes(segment), " \t\x00"), "\x00"); len(segment) > 0 && r.isInteresting(segment) {
			r.text(string(segment))
		}
	}
}

// isInteresting is a quick look at whether a line may hold a figure or a step:
// most lines of most logs hold neither.
func (r *reader) isInteresting(line []byte) bool {
	if r.table != nil || r.summary != nil || line[0] == '{' || line[0] == '|' || line[0] == '#' || line[0] >= 0x80 || line[0] == '[' && bytes.Contains(line, []byte(" MB |")) ||
		len(line) > 10 && line[4] == '/' && line[7] == '/' && isDigit(line[0]) || isDate(line) {
		return true
	}
	for i := 0; i+3 <= len(line); i++ {
		if at, ok := trigram(line[i], line[i+1], line[i+2]); ok && interesting[at] {
			return true
		}
		if line[i] == '%' && line[i+1] == '|' || line[i] == 0xe6 {
			return true
		}
	}
	return false
}

// interesting marks the beginnings of words that matter.
var interesting = func() (set [1 << 15]bool) {
	for _, word := range []string{"mem", "all", "res", "vra", "cac", "pea", "ste", "ite", "epo", "upd", "bat", "gib", "mib", "tra", "gpu", "fre", "max", "use"} {
		at, _ := trigram(word[0], word[1], word[2])
		set[at] = true
	}
	return set
}()

// trigram numbers three letters, in either case.
func trigram(a, b, c byte) (n int, ok bool) {
	x, y, z := (a|0x20)-'a', (b|0x20)-'a', (c|0x20)-'a'
	return int(x)<<10 | int(y)<<5 | int(z), x < 26 && y < 26 && z < 26
}

// text reads one line.
func (r *reader) text(line string) {
	r.now = newMoment()
	if text, at := containerText(line); !math.IsNaN(at) {
		line, r.now.at, r.now.zoned = text, at, true
	}
	r.unwrapped(line)
}

// unwrapped reads a line that what ran the program has put nothing around any more.
func (r *reader) unwrapped(line string) {
	r.label = Unknown
	if r.labels != noLabel {
		line, r.label = taskNumber(line)
	}
	if r.labels == taskLabel {
		r.now.Rank = r.label
	}
	line = strings.TrimLeft(line, " \t")
	if text, ok := rankedLine(line); ok {
		r.now.Rank = rankOf(line)
		line = text
	}
	r.current = line
	switch {
	case line == "":
	case line[0] == '{' && r.object(line):
	case r.summaryLine(line):
	case r.tableLine(line):
	case r.gpuTableLine(line):
	case r.epochRow(line):
	default:
		r.printed(line)
	}
}

// printed reads figures and steps beside words.
func (r *reader) printed(line string) {
	if r.now.Rank == Unknown {
		r.now.Rank = rankOf(line)
	}
	r.now.Process = processOf(line)
	if r.failure(line) || r.statsText(line) {
		return
	}
	figures, unclear := r.scan.figures(line)
	if math.IsNaN(r.now.at) && len(figures) > 0 {
		r.now.at, r.now.zoned = timeOf(line)
	}
	here := placeOf(line, r.scan.tokens)
	if r.labels == stepLabel && r.label != Unknown && math.IsNaN(here.step) {
		here.step = float64(r.label)
	}
	r.move(here, len(figures) > 0)
	if len(figures) > 0 {
		r.forms[PrintedLines] = true
		for i := range figures {
			r.take(&figures[i], here.known())
		}
	} else if unclear {
		r.unreadable(line, "memory without a unit")
	}
}

func (r *reader) unreadable(line, why string) {
	u := &r.log.Unreadable
	u.Count++
	if len(u.Examples) < MaxExamples {
		const longest = 120
		if len(line) > longest {
			line = strings.ToValidUTF8(line[:longest], "") + "…"
		}
		u.Examples = append(u.Examples, Example{Line: r.line, Text: line, Why: why})
	}
}

// move follows the steps of the process that the line is about.
func (r *reader) move(here place, own bool) {
	if here.known() {
		r.moved = r.tracker()
		r.moved.move(here, own)
	}
}

// steps returns where the process is that the line is about. A line that names
// none goes with the step that was printed last.
func (r *reader) steps() *tracker {
	t := r.tracker()
	if !t.known && r.moved != nil && r.now.Rank == Unknown && r.now.Process == "" {
		return r.moved
	}
	return t
}

// tracker returns the steps of the process that the line is about.
func (r *reader) tracker() *tracker {
	key := Source{Rank: r.now.Rank, Process: r.now.Process}
	t := r.trackers[key]
	if t == nil {
		if len(r.trackers) >= MaxSeries {
			key = Source{Rank: Unknown}
			if t = r.trackers[key]; t != nil {
				return t
			}
		}
		t = newTracker()
		r.trackers[key] = t
	}
	return t
}
