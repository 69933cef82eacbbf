package viewer

import (
	"strings"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

func row(file string, bytes int64) Row {
	return Row{Frame: Frame{File: file, Line: 3}, Bytes: bytes, Count: 1}
}

func special(name string, bytes int64) Row {
	return Row{Frame: Frame{Function: name, Kind: SpecialFrame}, Bytes: bytes, Count: 1}
}

func TestHolders(t *testing.T) {
	code := Row{Frame: Frame{Function: snapshot.NativeCode, Kind: NativeFrame}, Bytes: 60}
	empty := Row{Frame: Frame{Function: "at::empty", Kind: NativeFrame}, Bytes: 60}
	for _, c := range []struct {
		rows []Row
		want string
	}{
		{[]Row{row("d/a.py", 70), row("d/b.py", 30)}, "d/a.py:3 held 70 B (70.0%), more than any other line"},
		{[]Row{row("d/a.py", 100)}, "d/a.py:3 held 100 B (100.0%)"},
		{[]Row{row("a.py", 40), row("b.py", 40), row("c.py", 20)}, "a.py:3 and b.py:3 each held 40 B (40.0%)"},
		{[]Row{row("a.py", 25), row("b.py", 25), row("c.py", 25), row("d.py", 25)}, "a.py:3, b.py:3 and 2 others each held 25 B (25.0%)"},
		{[]Row{special("(autograd thread)", 60), row("a.py", 40)}, "the autograd thread (no Python stack) held 60 B (60.0%), then a.py:3 with 40 B (40.0%)"},
		{[]Row{special("(no stack)", 100)}, "memory without a stack came to 100 B (100.0%)"},
		{[]Row{special("(before the history)", 50), code, row("a.py", 20)}, "memory older than the history came to 50 B (50.0%); of the lines of code, a.py:3 held 20 B (20.0%)"},
		{[]Row{code, special("(no stack)", 40)}, "native code held 60 B (60.0%)"},
		{[]Row{empty, row("a.py", 40)}, "native code (at::empty) held 60 B (60.0%), then a.py:3 with 40 B (40.0%)"},
	} {
		if got := holders(&Moment{Total: 100, Rows: c.rows}); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestVerdictTone(t *testing.T) {
	for state, want := range map[string]string{"complete": "ok", "truncated": "note", "state-only": "note", "none": "note"} {
		d := Device{Stats: Stats{Reserved: 100, Allocated: 100}, History: History{State: state, Peak: Point{Bytes: 100}, End: 90}}
		if v := summarize(&d); v.Tone != want {
			t.Errorf("history %s: the tone is %s, want %s (%s)", state, v.Tone, want, v.Text)
		}
		d.Failure = &Failure{}
		if v := summarize(&d); v.Tone != "bad" {
			t.Errorf("history %s: out of memory has the tone %s", state, v.Tone)
		}
	}
}

func TestTruncatedPeakIsAtLeast(t *testing.T) {
	d := fakeDevice()
	if n := headline(&d)[0]; n.Name != "Peak, at least" {
		t.Errorf("the card of a truncated history says %q", n.Name)
	}
	if !strings.Contains(d.Verdict.Text, "peaked at 60.0 MiB at least") {
		t.Errorf("the verdict of a truncated history is %q", d.Verdict.Text)
	}
}

func TestPendingFreeIsShown(t *testing.T) {
	d := fakeDevice()
	if n := headline(&d)[3]; n.Sub != "and 2.00 MiB pending free" {
		t.Errorf("the card says %q", n.Sub)
	}
	if !strings.Contains(d.Verdict.Text, "2.00 MiB were pending free at the end") {
		t.Errorf("the verdict is %q", d.Verdict.Text)
	}
}

func TestFailureSentence(t *testing.T) {
	f := Failure{Event: 8, Of: 1, Asked: 96, Reserved: 900, Requested: 800}
	if got, want := failureSentence(&f, History{}), "Out of memory at event 8: 96 B were asked for while 900 B were reserved, 800 B of that requested by live tensors and 100 B free or lost to rounding."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	f.Of, f.DeviceFree = 3, 50
	got := failureSentence(&f, History{OpenEnd: true})
	for _, want := range []string{"(the last of 3)", "while at least 900 B were reserved", "the device had 50 B free."} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %q", got, want)
		}
	}
	f.DeviceFree = 1000
	if got := failureSentence(&f, History{}); !strings.HasSuffix(got, "1000 B free, so a limit set for the process was reached.") {
		t.Errorf("a limit of the process is not named: %s", got)
	}
}
