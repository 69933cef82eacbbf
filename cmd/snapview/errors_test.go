package main

import (
	"errors"
	"testing"
)

// TestInFile: the name of a file is in a message once.
func TestInFile(t *testing.T) {
	for _, x := range []struct{ name, text, want string }{
		{"a.yaml", "is empty", "a.yaml: is empty"},
		{"a.yaml", "a.yaml: is empty", "a.yaml: is empty"},
		{"a.yaml", "a.yaml:7: foo: unknown setting", "a.yaml:7: foo: unknown setting"},
		{"a", "a:b is no key", "a: a:b is no key"},
		{"a\x1b", `a\x1b:7: foo`, `a\x1b:7: foo`},
		{"-", "broken", "standard input: broken"},
	} {
		if got := inFile(x.name, errors.New(x.text)).Error(); got != x.want {
			t.Errorf("%q in %q: %q, want %q", x.text, x.name, got, x.want)
		}
	}
}
