package trainlog

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// isDocument reports whether a file is JSON laid out over several lines, such as
// trainer_state.json, and not one object a line, nor a log that begins with the
// settings of the program.
func isDocument(head string) bool { return beginsAsDocument(head) && isJSONOnly(head) }

// isJSONOnly reports whether the start of a file is JSON as far as it goes.
func isJSONOnly(head string) bool {
	d := newDecoder(strings.NewReader(head))
	for {
		if err := d.SkipValue(); err != nil {
			return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

func beginsAsDocument(head string) bool {
	first, _, more := strings.Cut(strings.TrimLeft(head, " \t\r\n"), "\n")
	first = strings.TrimSpace(first)
	switch {
	case first == "" || first[0] != '{' && first[0] != '[':
		return false
	case first == "{" || first == "[" || first == "[{":
		return true
	case first[0] == '[': // a list on one line
		return strings.HasPrefix(first, "[{\"") || strings.HasPrefix(first, "[{}")
	}
	_, _, err := parseObject(first)
	return errors.Is(err, io.ErrUnexpectedEOF) && more && strings.HasSuffix(first, ",") || errors.Is(err, io.ErrUnexpectedEOF) && !more
}

// document reads JSON of any layout: each object in a list is an entry like a line
// of a log, and so is the object that holds the list.
func (r *reader) document(in io.Reader) error {
	d := newDecoder(in)
	for {
		switch d.PeekKind() {
		case '[':
			if err := r.entries(d); err != nil {
				return documentError(d, err)
			}
		case '{':
			if err := r.outer(d); err != nil {
				return documentError(d, err)
			}
		default:
			if err := d.SkipValue(); err == io.EOF {
				return nil
			} else if err != nil {
				return documentError(d, err)
			}
		}
	}
}

func documentError(d *jsontext.Decoder, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the file ends within the JSON")
	case errors.Is(err, errLongText):
		err = errLongText
	}
	return fmt.Errorf("%w, at byte %d", err, d.InputOffset())
}

// entries reads a list; what is no object in it is skipped.
func (r *reader) entries(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		if d.PeekKind() != '{' {
			if err := d.SkipValue(); err != nil {
				return err
			}
			continue
		}
		list, err := readObject(d, "", nil, 0)
		if err != nil {
			return err
		}
		r.entry(list)
	}
	_, err := d.ReadToken()
	return err
}

// outer reads an object whose lists are entries.
func (r *reader) outer(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	var own []member
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := key.String()
		switch k := d.PeekKind(); k {
		case '[':
			err = r.entries(d)
		case '{':
			own, err = readObject(d, name, own, 1)
		case '"', '0':
			var t jsontext.Token
			if t, err = d.ReadToken(); err == nil && len(own) < maxMembers {
				own = append(own, newMember(name, t, k))
			}
		default:
			err = d.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if r.hasFigures(own) {
		r.entry(own)
	}
	return nil
}

// entry reads an object like a line of a log.
func (r *reader) entry(list []member) {
	r.line++
	r.now = newMoment()
	r.members(list, "")
}
