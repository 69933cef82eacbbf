package budget

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"go.yaml.in/yaml/v4"
)

// Files that people write (budgets, configurations, plans) are read strictly: a
// key that means nothing is an error and not a setting that silently does
// nothing, and every error names its line. YAML is read, and so JSON.

// MaxFile bounds a file that a person writes or reviews, in bytes.
const MaxFile = 4 << 20

// A FileError is something wrong in a file that a person wrote.
type FileError struct {
	File string
	Line int // from 1; 0 when the whole file is meant
	Err  error
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Err.Error()
	}
	return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Err.Error()
}

func (e *FileError) Unwrap() error { return e.Err }

// A node is a value of a file and its place.
type node struct {
	file string
	yaml *yaml.Node
}

// parseFile reads the one YAML document of a file.
func parseFile(file string, data []byte) (node, error) {
	whole := func(format string, args ...any) error {
		return &FileError{File: file, Err: fmt.Errorf(format, args...)}
	}
	if len(data) > MaxFile {
		return node{}, whole("over %s: too large for a file that a person writes", units.Bytes(MaxFile))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) || err == nil && len(document.Content) == 0 {
		return node{}, whole("is empty; see the documentation for what belongs in it")
	}
	if err == nil {
		if err = decoder.Decode(&more); errors.Is(err, io.EOF) {
			return node{file, document.Content[0]}, nil
		}
		if err == nil {
			return node{}, node{file, &more}.errorf("a second document begins here; one file holds one")
		}
	}
	return node{}, yamlError(file, err)
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`)

// yamlError gives an error of the YAML library the form of all others.
func yamlError(file string, err error) error {
	text := err.Error()
	line := 0
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1]) // 0 when it names none
		text = text[len(m[0]):]
	}
	return &FileError{file, line, errors.New("not valid YAML: " + text)}
}

// errorf is an error about n.
func (n node) errorf(format string, args ...any) error {
	return &FileError{n.file, n.yaml.Line, fmt.Errorf(format, args...)}
}

// kind is what n is, for messages.
func (n node) kind() string {
	switch {
	case n.yaml.Kind == yaml.MappingNode:
		return "a mapping"
	case n.yaml.Kind == yaml.SequenceNode:
		return "a list"
	case n.yaml.Kind == yaml.AliasNode:
		return "an alias"
	case n.yaml.Tag == "!!null":
		return "nothing"
	}
	return strconv.Quote(units.Ellipsis(n.yaml.Value, 40))
}

// is reports whether n is of the kind wanted, written plainly: aliases and tags
// can make a small file a huge one, and nothing here needs them.
func (n node) is(kind yaml.Kind, want string) error {
	switch {
	case n.yaml.Kind == yaml.AliasNode:
		return n.errorf("aliases such as *%s are not supported; write the value out", n.yaml.Value)
	case n.yaml.Style&yaml.TaggedStyle != 0:
		return n.errorf("tags such as %s are not supported; write the value plainly", n.yaml.Tag)
	case n.yaml.Kind != kind || n.yaml.Tag == "!!null":
		return n.errorf("%s where %s belongs", n.kind(), want)
	}
	return nil
}

// list returns the items of a list; a value that stands alone is a list of one.
func (n node) list() ([]node, error) {
	if n.yaml.Kind == yaml.ScalarNode {
		return []node{n}, nil
	}
	if err := n.is(yaml.SequenceNode, "a list"); err != nil {
		return nil, err
	}
	items := make([]node, len(n.yaml.Content))
	for i, item := range n.yaml.Content {
		items[i] = node{n.file, item}
	}
	return items, nil
}

// text returns a value as it is written, whatever YAML takes it for.
func (n node) text() (string, error) {
	if err := n.is(yaml.ScalarNode, "a single value"); err != nil {
		return "", err
	}
	return n.yaml.Value, nil
}

// flag returns true or false.
func (n node) flag() (bool, error) {
	text, err := n.text()
	switch {
	case err != nil:
		return false, err
	case text == "true" || text == "false":
		return text == "true", nil
	}
	return false, n.errorf("%s where true or false belongs", n.kind())
}

// fields are the keys of a mapping. They are taken one after the other; done
// then tells the first thing that was wrong.
type fields struct {
	node
	what   string // whose keys they are, for messages
	keys   []node
	values map[string]node
	known  []string
	err    error
}

// fields returns the keys of a mapping.
func (n node) fields(what string) (*fields, error) {
	if err := n.is(yaml.MappingNode, what); err != nil {
		return nil, err
	}
	f := &fields{node: n, what: what, values: map[string]node{}}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		key, value := node{n.file, n.yaml.Content[i]}, node{n.file, n.yaml.Content[i+1]}
		name, err := key.text()
		if err != nil {
			return nil, err
		}
		if first, twice := f.values[name]; twice {
			return nil, key.errorf("%s: given twice, first on line %d", quoteKey(name), first.yaml.Line)
		}
		f.keys = append(f.keys, key)
		f.values[name] = value
	}
	return f, nil
}

func quoteKey(name string) string { return units.Ellipsis(units.Safe(name), 60) }

// take returns the value of a key, which thereby is a known one.
func (f *fields) take(key string) (node, bool) {
	f.known = append(f.known, key)
	v, ok := f.values[key]
	return v, ok
}

// read passes the value of a key to convert and stores what it returns. A key
// that is not there leaves what is stored.
func read[T any](f *fields, key string, to *T, convert func(node) (T, error)) {
	n, ok := f.take(key)
	if !ok {
		return
	}
	v, err := convert(n)
	if err != nil {
		f.fail(underKey(key, err))
		return
	}
	*to = v
}

// underKey says in an error which key it is about.
func underKey(key string, err error) error {
	if e, ok := errors.AsType[*FileError](err); ok {
		return &FileError{e.File, e.Line, fmt.Errorf("%s: %w", key, e.Err)}
	}
	return fmt.Errorf("%s: %w", key, err)
}

// fail keeps the error that stands first in the file.
func (f *fields) fail(err error) {
	if f.err == nil || lineOf(err) < lineOf(f.err) {
		f.err = err
	}
}

func lineOf(err error) int {
	if e, ok := errors.AsType[*FileError](err); ok {
		return e.Line
	}
	return 0
}

// done returns the error that stands first in the file, a key that nobody took
// included.
func (f *fields) done() error {
	for _, key := range f.keys {
		name := key.yaml.Value
		if slices.Contains(f.known, name) {
			continue
		}
		hint := "; known are " + strings.Join(f.known, ", ")
		if near, ok := nearest(name, f.known); ok {
			hint = "; did you mean " + near
		}
		f.fail(key.errorf("%s: unknown key of %s%s", quoteKey(name), f.what, hint))
		break
	}
	return f.err
}

// nearest returns the word that a mistyped one most likely stands for.
func nearest(word string, known []string) (string, bool) {
	plain := func(s string) string {
		return strings.NewReplacer("-", "_", " ", "_", ".", "_").Replace(strings.ToLower(s))
	}
	word = plain(word)
	limit := max(1, len(word)/3)
	best, least := "", limit+1
	for _, k := range known {
		if d := editDistance(word, plain(k), limit); d < least {
			best, least = k, d
		}
	}
	return best, best != ""
}

// editDistance is how many letters must be inserted, deleted, changed or
// swapped with their neighbour to make b of a, or a number above limit.
func editDistance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); max(d, -d) > limit {
		return limit + 1
	}
	before, row := []int(nil), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		next := make([]int, len(y)+1)
		next[0] = i + 1
		for j := range y {
			change := row[j]
			if x[i] != y[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(y)]
}
