package main

import (
	"slices"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		parts []string
		width int
		want  []string
	}{
		{nil, 10, []string{""}},
		{[]string{"one, ", "two, ", "three"}, 20, []string{"one, two, three"}},
		{[]string{"one, ", "two, ", "three"}, 9, []string{"one, two,", "three"}},
		{[]string{"one, ", "two, ", "three"}, 8, []string{"one,", "two,", "three"}},
		{[]string{"too long for it; ", "short"}, 8, []string{"too long for it;", "short"}},
		{[]string{"a:1,", "b:2"}, 4, []string{"a:1,", "b:2"}},
	} {
		if got := wrap(test.parts, test.width); !slices.Equal(got, test.want) {
			t.Errorf("wrap(%q, %d) = %q, want %q", test.parts, test.width, got, test.want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for name, want := range map[string]string{
		"a/b-1.pickle.zst": "a/b-1.pickle.zst", "-": "-", "my file.pickle": "'my file.pickle'",
		"it's": `'it'\''s'`, "$(x)": "'$(x)'", "a;b.pickle": "'a;b.pickle'", "über.pickle": "'über.pickle'",
	} {
		if got := shellWord(name); got != want {
			t.Errorf("shellWord(%q) = %q, want %q", name, got, want)
		}
	}
}
