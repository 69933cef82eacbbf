package trainlog

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/snapview/snapview/internal/input"
)

// ErrNoFigures is the error of a file in which no memory figure was found.
var ErrNoFigures = errors.New("no memory figures found")

// lookedFor ends the message about such a file.
const lookedFor = "looked for lines with allocated, reserved, cached, memory or peak and a unit (GB, MiB, bytes), " +
	"memory_stats() as JSON lines, memory_summary() text, and nvidia-smi tables; " +
	`print f"step {step} allocated {torch.cuda.memory_allocated()} reserved {torch.cuda.memory_reserved()}"`

// A Log is what a file says about memory.
type Log struct {
	Name   string
	Forms  []Form // what was found in it, in the order of Form
	Lines  int64
	Series []*Series // in the order in which they began

	Unreadable Unreadable
	Failures   []Failure     // allocations that failed: in order of lines; of a source with more than MaxFailures the first and the last
	Failed     int           // how many did
	FailedOf   []FailedCount // of each source, at most MaxSeries of them
	Counters   []Counters
	Totals     []Total
	Notes      []string // what was assumed or left out, a sentence each
	LeftOut    int      // figures beyond MaxSeries curves
}

// Bounds on what is kept of a file.
const (
	MaxSeries   = 512
	MaxExamples = 3
	MaxFailures = 16 // of one source
	maxNotes    = 16
	maxLine     = 1 << 16 // bytes of a line that are looked at
)

// A Form is a kind of text that figures were found in.
type Form uint8

const (
	PrintedLines Form = iota // figures beside words
	StatsLines               // memory_stats() as JSON
	JSONLines                // other JSON with figures
	Summaries                // memory_summary()
	DeviceTable              // nvidia-smi or rocm-smi
	ValueTable               // another table with a header
	numForms
)

var formNames = [...]string{"printed lines", "memory_stats() lines", "JSON lines", "memory_summary() text", "GPU table", "table"}

// String names the form for reading.
func (f Form) String() string { return formNames[f] }

// Unreadable are lines that hold memory figures, or should, and could not be read.
type Unreadable struct {
	Count    int
	Examples []Example // the first MaxExamples
}

// An Example is one such line, shortened.
type Example struct {
	Line int64 // from 1
	Text string
	Why  string
}

// A Failure is an allocation that failed with an error message.
type Failure struct {
	Line      int64
	Step      float64 // NaN when no step was printed
	Asked     float64 // bytes
	Free      float64 // bytes; NaN when the message does not say, as are the next three
	Total     float64
	Allocated float64
	Reserved  float64 // allocated and cached
	Source

	tracker *tracker // whose runs it is of, while the log is read
}

// A FailedCount is how many allocations of a source failed.
type FailedCount struct {
	Source
	Count int

	tracker *tracker
	last    int // index of its last failure that is kept
}

// Counters are numbers that only grow: how often the allocator freed its cache
// and tried again, and how often it failed.
type Counters struct {
	Source
	Retries, FirstRetries int64 // last and first value
	OOMs, FirstOOMs       int64

	tracker *tracker
}

// A Total is the memory size of a GPU that the file tells.
type Total struct {
	Source
	Bytes   float64
	Assumed bool // printed in GB, which was taken for GiB
}

// Options are the settings of Read.
type Options struct {
	Name     string // for messages; "-" when empty
	Progress func(read, total int64)
}

// An Error is a failure to read a log.
type Error struct {
	Name string
	Err  error
}

func (e *Error) Error() string { return e.Name + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Open reads the file at path; "-" is standard input. Compression is recognised
// by content.
func Open(path string) (*Log, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readFile(f, Options{Name: path})
}

// Read reads a log from r. If the stream ends in an error, what was read before
// is returned together with it.
func Read(r io.Reader, o Options) (*Log, error) {
	if o.Name == "" {
		o.Name = "-"
	}
	if f, ok := r.(*input.File); ok {
		return readFile(f, o) // opened and recognised by the command line
	}
	f, err := input.New(o.Name, r)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readFile(f, o)
}

// textual are the kinds of files that may hold figures as text. A log may begin
// with the program that wrote it.
var textual = map[input.Kind]bool{
	input.StatsJSONL: true, input.SMICSV: true, input.MemorySummary: true, input.TrainingLog: true, input.Text: true, input.JSON: true, input.Python: true,
}

func readFile(f *input.File, o Options) (*Log, error) {
	f.Forget()
	if !textual[f.Kind] {
		return nil, &Error{o.Name, fmt.Errorf("not a training log: it is %s", f.Kind.Describe())}
	}
	r := newReader(o)
	var err error
	if head := string(f.Head); isDocument(head) {
		err = r.document(f)
	} else {
		r.labels = labelsOf(head)
		err = r.read(f, f)
	}
	log := r.finish()
	if err != nil {
		return log, &Error{o.Name, err}
	}
	if len(log.Series) == 0 && log.Failed == 0 {
		return nil, &Error{o.Name, fmt.Errorf("%w in %d lines%s; %s", ErrNoFigures, log.Lines, log.Unreadable.because(), lookedFor)}
	}
	return log, nil
}

// because says that some lines came close.
func (u Unreadable) because() string {
	if u.Count == 0 {
		return ""
	}
	e := u.Examples[0]
	return fmt.Sprintf(" (%d could not be read, as line %d: %s)", u.Count, e.Line, e.Why)
}

// A lineLabel is what the number is that each line of a file begins with, as in
// "12: ".
type lineLabel uint8

const (
	noLabel   lineLabel = iota
	taskLabel           // srun --label puts the number of the task before each line
	stepLabel           // the program counts
)

// labelsOf tells from the start of a file what its lines begin with. Tasks print
// more than once, and not one after the other.
func labelsOf(head string) lineLabel {
	const counted = 8 // numbers that only rise are no chance
	lines, labelled, last, rise := 0, 0, Unknown, true
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		lines++
		if _, n := taskNumber(line); n != Unknown {
			labelled++
			rise = rise && n > last
			last = n
		}
	}
	switch {
	case labelled < 3 || labelled < lines-1: // head may end within a line
		return noLabel
	case rise && labelled >= counted:
		return stepLabel
	}
	return taskLabel
}
