package pickle

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits on what a file may claim. They are far above what PyTorch writes; a
// file beyond them is damaged or hostile.
const (
	// MaxString is the longest string or bytes value, in bytes.
	MaxString = 64 << 20
	// MaxLine is the longest text argument of protocol 0 opcodes other than strings.
	MaxLine = 4096
	// MaxInteger is the longest LONG, in bytes.
	MaxInteger = 256
	// MaxNesting is how many containers may be open at once.
	MaxNesting = 1000
	// MaxMemo is the highest number of memo entries.
	MaxMemo = 1 << 30
	// Beyond freeLoad entries, the stack, the memo, the containers made and those
	// filled may each hold one entry per bytesPerEntry of input. (Numbers take
	// about as much of the file as of memory.) A real snapshot has one
	// memo entry in about 25 bytes.
	freeLoad      = 1 << 18
	bytesPerEntry = 4
	// maxPath is how much of a place in a document a message shows, in bytes.
	maxPath = 512
)

// An Error says where a pickle could not be read any further.
type Error struct {
	Offset int64  // of the opcode, in decoded bytes
	Op     string // name of the opcode, "" when there is none
	Path   string // place in the document, like device_traces[0][1234].frames; "" at the top
	Err    error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v, at byte %d", e.Err, e.Offset)
	if e.Op != "" {
		fmt.Fprintf(&b, " (%s)", e.Op)
	}
	if e.Path != "" {
		fmt.Fprintf(&b, ", in %s", e.Path)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Truncated reports whether the file ended before the pickle did.
func (e *Error) Truncated() bool { return errors.Is(e.Err, io.ErrUnexpectedEOF) }

// A GlobalError refuses a pickle that names a class or function which is not
// on the list of harmless ones. Nothing was called.
type GlobalError struct{ Module, Name string }

func (e *GlobalError) Error() string {
	return fmt.Sprintf("refused: the pickle names %s.%s, which is code and not data (nothing was run)",
		clip(e.Module), clip(e.Name))
}

// clip keeps a stranger's text short and printable inside a message.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most] + "…"
	}
	q := fmt.Sprintf("%q", s)
	return q[1 : len(q)-1]
}

// A claimError is a length that the rest of the input cannot hold.
type claimError struct {
	what          string
	claimed, left uint64
}

func (e *claimError) Error() string {
	return fmt.Sprintf("%s claims %d bytes, and only %d are left", e.what, e.claimed, e.left)
}
func (e *claimError) Unwrap() error { return io.ErrUnexpectedEOF }

// errTruncated is what an early end of the file becomes.
type errTruncated struct{}

func (errTruncated) Error() string { return "the file ends early" }
func (errTruncated) Unwrap() error { return io.ErrUnexpectedEOF }
