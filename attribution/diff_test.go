package attribution

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snapview/snapview/snapshot"
	"pgregory.net/rapid"
)

// held is what one line holds: name is its function.
type held struct {
	line  int32
	name  string
	bytes int64
}

func holding(list ...held) *snapshot.Snapshot {
	r := newRun()
	addr := uint64(1 << 20)
	for _, h := range list {
		id := snapshot.FrameID(len(r.frames))
		r.frames = append(r.frames, snapshot.Frame{File: "/home/me/model.py", Function: h.name, Line: h.line})
		r.alloc(addr, h.bytes, r.stacks.Add([]snapshot.FrameID{id}))
		addr += uint64(h.bytes+511) / 512 * 512
	}
	return r.dump(0)
}

func rowsText(rows []DiffRow) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s:%d %d %s", r.Function, r.Line, r.Delta, r.Status)
		if r.MovedFrom != 0 {
			fmt.Fprintf(&b, " from %d", r.MovedFrom)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestDiffRows(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []held
		want          string
	}{
		{"kinds", []held{{1, "a", 100}, {2, "b", 200}, {3, "c", 300}, {4, "d", 400}}, []held{{2, "b", 250}, {3, "c", 100}, {4, "d", 400}, {5, "e", 70}},
			"c:3 -200 shrunk\na:1 -100 gone\ne:5 70 new\nb:2 50 grew\nd:4 0 same\n"},
		{"all moved by one", []held{{10, "f", 1000}, {11, "f", 2000}, {12, "f", 9000}}, []held{{11, "f", 1000}, {12, "f", 2000}, {13, "f", 9000}},
			"f:13 0 same from 12\nf:12 0 same from 11\nf:11 0 same from 10\n"},
		{"moved below an inserted line", []held{{10, "f", 1000}, {20, "f", 5000}}, []held{{10, "f", 1000}, {15, "f", 300}, {22, "f", 5500}},
			"f:22 500 grew from 20\nf:15 300 new\nf:10 0 same\n"},
		{"a line less is no move", []held{{10, "f", 1000}, {11, "f", 1000}, {12, "f", 1000}}, []held{{10, "f", 1000}, {12, "f", 4000}},
			"f:12 3000 grew\nf:11 -1000 gone\nf:10 0 same\n"},
		{"another way through code that did not move", []held{{10, "f", 1000}, {12, "f", 5000}, {30, "f", 700}}, []held{{10, "f", 1000}, {14, "f", 5000}, {30, "f", 700}},
			"f:14 5000 new\nf:12 -5000 gone\nf:10 0 same\nf:30 0 same\n"},
		{"moved, and by chance onto the number of another", []held{{10, "f", 100}, {11, "f", 5000}, {12, "f", 90}}, []held{{11, "f", 100}, {12, "f", 5000}, {13, "f", 90}},
			"f:12 0 same from 11\nf:11 0 same from 10\nf:13 0 same from 12\n"},
		{"too different to be one line", []held{{10, "f", 100}}, []held{{12, "f", 9000}},
			"f:12 9000 new\nf:10 -100 gone\n"},
		{"another function", []held{{10, "f", 100}}, []held{{12, "g", 100}},
			"g:12 100 new\nf:10 -100 gone\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Diff(holding(c.before...), holding(c.after...), DiffOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := rowsText(r.Rows); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// Whatever is compared, rows and categories sum to the change, and no line is
// used twice.
func TestDiffCloses(t *testing.T) {
	line := rapid.Custom(func(t *rapid.T) held {
		return held{rapid.Int32Range(1, 12).Draw(t, "line"), rapid.SampledFrom([]string{"f", "g"}).Draw(t, "function"), rapid.Int64Range(1, 5000).Draw(t, "bytes")}
	})
	lines := rapid.SliceOfN(line, 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		a, b := holding(lines.Draw(t, "before")...), holding(lines.Draw(t, "after")...)
		by := DiffBy(rapid.IntRange(0, int(DiffByCategory)).Draw(t, "by"))
		r, err := Diff(a, b, DiffOptions{By: by})
		if err != nil {
			t.Fatal(err)
		}
		var sum, before, after, categories int64
		seen := map[placeKey]bool{}
		for _, x := range r.Rows {
			sum, before, after = sum+x.Delta, before+x.Before, after+x.After
			if x.Status != Gone {
				k := placeKey{x.File, x.Line, x.Function}
				if seen[k] {
					t.Fatalf("%v twice", k)
				}
				seen[k] = true
			}
		}
		for _, c := range r.Categories {
			categories += c.Delta
		}
		if sum != r.Delta || before != r.Before || after != r.After || categories != r.Delta || r.After-r.Before != r.Delta {
			t.Fatalf("rows %d of %d to %d, categories %d; want %d of %d to %d", sum, before, after, categories, r.Delta, r.Before, r.After)
		}
	})
}

// Rows are named as snapshot.Fold names them.
func TestDiffNamesRowsAsFold(t *testing.T) {
	for _, name := range []string{"gpt_adamw/1_forward", "gpt_adamw_cpp/0_step", "tv_gpt/end", "nohistory/end", "ring/end", "stateonly/end"} {
		s, err := snapshot.Open("../testdata/snapshots/" + name + ".pickle.zst")
		if err != nil {
			continue // not every folder names its dumps alike
		}
		for _, by := range []DiffBy{DiffByLine, DiffByFrame, DiffByFunction, DiffByFile} {
			fold, err := snapshot.ParseBy(by.String())
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range s.Devices {
				tl := s.Timeline(d)
				m, err := tl.Moment("end")
				if err != nil {
					t.Fatal(err)
				}
				r, err := Diff(s, s, DiffOptions{Device: d.Index, By: by})
				if err != nil {
					t.Fatal(err)
				}
				got := map[placeKey]int64{}
				for _, x := range r.Rows {
					got[placeKey{x.File, x.Line, x.Function}] = x.After
					if x.Status != Same {
						t.Errorf("%s by %s: %+v against itself", name, by, x)
					}
				}
				table := s.Fold(tl, m, fold)
				if len(table.Rows) != len(got) {
					t.Errorf("%s by %s: %d rows, Fold has %d", name, by, len(got), len(table.Rows))
				}
				for _, x := range table.Rows {
					if k := (placeKey{x.File, x.Line, x.Function}); got[k] != x.Bytes {
						t.Errorf("%s by %s: %v holds %d, Fold says %d", name, by, k, got[k], x.Bytes)
					}
				}
			}
		}
	}
}

// Checkpointing trades activations for a second forward: the summary says so.
func TestDiffExplainsCheckpointing(t *testing.T) {
	a, err := snapshot.Open("../testdata/snapshots/gpt_adamw/1_forward.pickle.zst")
	if err != nil {
		t.Fatal(err)
	}
	b, err := snapshot.Open("../testdata/snapshots/gpt_ckpt/1_forward.pickle.zst")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Diff(a, b, DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Summary) == 0 || !strings.HasPrefix(r.Summary[0], "activation -") || !strings.Contains(r.Summary[0], "model.py:32 -192 MiB") {
		t.Errorf("summary %q", r.Summary)
	}
	if c := r.Categories[0]; c.Category != Activation || c.Delta > -100<<20 {
		t.Errorf("first category %+v", c)
	}
}

func TestDiffSettings(t *testing.T) {
	set := func(kv ...snapshot.KeyValue) snapshot.Settings { return snapshot.Settings{Present: true, All: kv} }
	got := diffSettings(set(snapshot.KeyValue{Key: "a", Value: "1"}, snapshot.KeyValue{Key: "b", Value: "x"}),
		set(snapshot.KeyValue{Key: "a", Value: "2"}, snapshot.KeyValue{Key: "b", Value: "x"}, snapshot.KeyValue{Key: "c", Value: "y"}))
	want := []SettingChange{{"a", "1", "2"}, {"c", "", "y"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := diffSettings(snapshot.Settings{}, set(snapshot.KeyValue{Key: "a", Value: "1"})); got != nil {
		t.Errorf("a file without settings differs by %v", got)
	}
}

func TestModuleOf(t *testing.T) {
	s := &snapshot.Snapshot{Labels: []snapshot.Label{{}, {UserMetadata: "layers.0.attn"}}}
	add := func(frames ...snapshot.Frame) snapshot.StackID {
		var ids []snapshot.FrameID
		for _, f := range frames {
			ids = append(ids, snapshot.FrameID(len(s.Frames)))
			s.Frames = append(s.Frames, f)
		}
		return s.Stacks.Add(ids)
	}
	linear := add(snapshot.Frame{File: torchLib + "nn/modules/linear.py", Function: "forward"},
		snapshot.Frame{File: torchLib + "nn/modules/module.py", Function: "_call_impl"},
		snapshot.Frame{File: "/home/me/model.py", Function: "forward"},
		snapshot.Frame{File: torchLib + "utils/checkpoint.py", Function: "forward"},
		snapshot.Frame{File: "/home/me/train.py", Function: "main"})
	for _, c := range []struct {
		a    snapshot.Allocation
		want string
	}{
		{snapshot.Allocation{Stack: linear}, "model::forward › Linear"},
		{snapshot.Allocation{Stack: linear, Label: 1}, "layers.0.attn"},
		{snapshot.Allocation{}, NoModule},
	} {
		if got := ModuleOf(s, &c.a); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
