// Package jsonvalue reads JSON into the same Values that the pickle machine
// makes, so that a snapshot written as JSON means what its pickle means.
package jsonvalue

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/snapview/snapview/internal/value"
)

// An Error says where JSON could not be read any further.
type Error struct {
	Offset int64  // decoded bytes before the place
	Path   string // like device_traces[0][1234].frames
	Err    error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%v, at byte %d", e.Err, e.Offset)
	if e.Path != "" {
		s += ", in " + e.Path
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Truncated reports whether the file ended before the document did.
func (e *Error) Truncated() bool { return errors.Is(e.Err, io.ErrUnexpectedEOF) }

type reader struct {
	dec    *jsontext.Decoder
	h      *value.Heap
	shaper value.Shaper
	stack  []value.Value
	open   []container

	scratch []byte
}

// container is an object or array that is being read: its items are on the
// stack from start on.
type container struct {
	start  int
	object bool
}

// Decode reads one JSON document; objects of more than one member are offered
// to the shaper when they are complete. After an error the root holds what was
// complete before it: unfinished arrays keep their items, unfinished objects
// are left out, but for the outermost. It also returns the bytes consumed.
func Decode(r io.Reader, h *value.Heap, s value.Shaper) (value.Value, int64, error) {
	m := reader{h: h, shaper: s, dec: jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	err := m.document()
	if err == nil {
		return m.stack[0], m.dec.InputOffset(), nil
	}
	failure := &Error{Offset: m.dec.InputOffset(), Path: path(m.dec.StackPointer()), Err: plain(err)}
	return m.salvage(), m.dec.InputOffset(), failure
}

// document reads one value up to the end of the input, so that damage behind it
// (a checksum that does not match) is noticed.
func (m *reader) document() error {
	for first := true; first || len(m.open) > 0; first = false {
		if err := m.next(); err != nil {
			return err
		}
	}
	switch _, err := m.dec.ReadToken(); err {
	case nil:
		return errors.New("more follows the end of the document")
	case io.EOF:
		return nil
	default:
		return err
	}
}

// next reads one token.
func (m *reader) next() error {
	switch m.dec.PeekKind() {
	case '"', '0':
		return m.text() // a Token would allocate for each
	}
	tok, err := m.dec.ReadToken()
	if err != nil {
		return err
	}
	switch tok.Kind() {
	case 'n':
		m.push(value.Nil)
	case 't', 'f':
		m.push(value.MakeBool(tok.Bool()))
	case '{', '[':
		m.open = append(m.open, container{start: len(m.stack), object: tok.Kind() == '{'})
	default:
		return m.shut()
	}
	return nil
}

func (m *reader) push(v value.Value) { m.stack = append(m.stack, v) }

// text reads a string or a number.
func (m *reader) text() error {
	v, err := m.dec.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() == '0' {
		return m.number(v)
	}
	// An error is only about invalid UTF-8, which is replaced.
	m.scratch, _ = jsontext.AppendUnquote(m.scratch[:0], v)
	m.push(value.MakeStr(m.h.Strings.Intern(m.scratch)))
	return nil
}

func (m *reader) number(text []byte) error {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		m.push(m.h.MakeInt(n))
		return nil
	}
	if n, err := strconv.ParseUint(string(text), 10, 64); err == nil {
		m.push(m.h.MakeUint(n))
		return nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("a number is out of range")
	}
	m.push(m.h.MakeFloat(f))
	return nil
}

// shut ends the innermost container.
func (m *reader) shut() error {
	c := m.open[len(m.open)-1]
	items := m.stack[c.start:]
	v := value.Nil
	if !c.object {
		v = m.h.NewWith(value.List, items)
	} else {
		shaped := false
		if len(items) > 2 {
			var err error
			if v, shaped, err = m.shaper.Dict(items); err != nil {
				return err
			}
		}
		if !shaped {
			v = m.h.NewWith(value.Dict, items)
		}
	}
	m.open = m.open[:len(m.open)-1]
	m.stack = m.stack[:c.start]
	m.push(v)
	return nil
}

// salvage closes what is open, after an error.
func (m *reader) salvage() value.Value {
	for len(m.open) > 0 {
		c := m.open[len(m.open)-1]
		m.open = m.open[:len(m.open)-1]
		items := m.stack[c.start:]
		var v value.Value
		switch {
		case !c.object:
			v = m.h.NewWith(value.List, items)
		case len(m.open) == 0:
			v = m.h.NewWith(value.Dict, items[:len(items)/2*2])
		default:
			m.stack = m.stack[:c.start]
			continue
		}
		m.stack = m.stack[:c.start]
		m.push(v)
	}
	if len(m.stack) == 0 {
		return value.Nil
	}
	return m.stack[0]
}

// path rewrites a JSON pointer in the form that pickle errors use.
func path(p jsontext.Pointer) string {
	var b []byte
	for token := range p.Tokens() {
		switch _, err := strconv.ParseUint(token, 10, 64); {
		case err == nil:
			b = append(append(append(b, '['), token...), ']')
		case len(b) > 0:
			b = append(append(b, '.'), token...)
		default:
			b = append(b, token...)
		}
	}
	const most = 512
	return string(b[:min(len(b), most)])
}

// plain strips offset and pointer from jsontext's error, which Error gives itself.
func plain(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return errTruncated{}
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		return syntactic.Err
	}
	return err
}

type errTruncated struct{}

func (errTruncated) Error() string { return "the file ends early" }
func (errTruncated) Unwrap() error { return io.ErrUnexpectedEOF }
