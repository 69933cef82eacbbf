package budget

import (
	"strings"
	"testing"
)

// strictSample is what the tests of this file read.
type strictSample struct {
	name string
	on   bool
	list []node
}

func readSample(data string) (s strictSample, err error) {
	root, err := parseFile("f.yaml", []byte(data))
	if err != nil {
		return s, err
	}
	f, err := root.fields("the sample")
	if err != nil {
		return s, err
	}
	read(f, "name", &s.name, node.text)
	read(f, "on", &s.on, node.flag)
	read(f, "list", &s.list, node.list)
	return s, f.done()
}

func TestStrict(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", "f.yaml: is empty; see the documentation for what belongs in it"},
		{"only a comment", "# nothing\n", "f.yaml: is empty; see the documentation for what belongs in it"},
		{"not a mapping", "- 1\n", "f.yaml:1: a list where the sample belongs"},
		{"unknown, near", "name: a\n\nnmae: b\n", "f.yaml:3: nmae: unknown key of the sample; did you mean name"},
		{"unknown, far", "colour: red\n", "f.yaml:1: colour: unknown key of the sample; known are name, on, list"},
		{"case counts", "Name: a\n", "f.yaml:1: Name: unknown key of the sample; did you mean name"},
		{"twice", "name: a\non: true\nname: b\n", "f.yaml:3: name: given twice, first on line 1"},
		{"no value", "on: true\nname:\n", "f.yaml:2: name: nothing where a single value belongs"},
		{"a list for a word", "name: [a]\n", "f.yaml:1: name: a list where a single value belongs"},
		{"yes is no flag", "on: yes\n", `f.yaml:1: on: "yes" where true or false belongs`},
		{"alias", "list: &a [1]\nname: *a\n", "f.yaml:2: name: aliases such as *a are not supported; write the value out"},
		{"tag", "name: !!binary aGk=\n", "f.yaml:1: name: tags such as !!binary are not supported; write the value plainly"},
		{"two documents", "name: a\n---\nname: b\n", "f.yaml:2: a second document begins here; one file holds one"},
		{"broken", "name: a\n  b: c\n", "f.yaml:2: not valid YAML: mapping values are not allowed in this context"},
		{"the first error counts", "on: 1\nnmae: b\n", `f.yaml:1: on: "1" where true or false belongs`},
		{"hostile key", "\"a\\e[31m\": 1\n", `f.yaml:1: a\x1b[31m: unknown key of the sample; known are name, on, list`},
		{"too large", strings.Repeat("#", MaxFile+1), "f.yaml: over 4.00 MiB: too large for a file that a person writes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readSample(c.data)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestStrictReads(t *testing.T) {
	for _, data := range []string{
		"name: 012\non: true\nlist:\n  - a\n  - b\n",
		`{"name": "012", "on": true, "list": ["a", "b"]}`,
	} {
		s, err := readSample(data)
		if err != nil || s.name != "012" || !s.on || len(s.list) != 2 {
			t.Errorf("%s: got %+v, %v", data, s, err)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"max", "min", "max_growth", "peak.reserved_bytes", "owner"}
	for word, want := range map[string]string{
		"maxx": "max", "mx": "max", "maxgrowth": "max_growth", "max-growth": "max_growth", "peak_reserved_bytes": "peak.reserved_bytes",
		"onwer": "owner", "MIN": "min", "colour": "", "": "",
	} {
		if got, _ := nearest(word, known); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}
