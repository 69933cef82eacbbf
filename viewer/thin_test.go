package viewer

import (
	"fmt"
	"testing"
)

// Ranges of 100 steps must not stop at some step, and what is left are whole
// steps.
func TestThinKeepsWholeStepsAllAlong(t *testing.T) {
	var marks []Mark
	for step := range 100 {
		for i, name := range []string{"step", "forward", "backward", "optimizer"} {
			marks = append(marks, Mark{Kind: MarkRange, Label: name, Event: step*100 + i, End: step*100 + i + 20})
		}
	}
	drawn, legend, left := thinMarks(marks, 1)
	if len(drawn) != 100 || drawn[0].Event != 0 || drawn[len(drawn)-1].Event < 9600 {
		t.Fatalf("%d ranges from event %d to %d", len(drawn), drawn[0].Event, drawn[len(drawn)-1].Event)
	}
	for i := range 4 {
		if drawn[4+i].Event != 400+i {
			t.Errorf("the second step drawn begins with event %d", drawn[4+i].Event)
		}
	}
	if want := "Marked on the curve, spread evenly over the history: 100 of 400 named ranges."; left != want {
		t.Errorf("the page says %q", left)
	}
	if len(legend) != 1 || legend[0].Count != "400" {
		t.Errorf("the legend is %+v", legend)
	}
}

func TestThinIsBoundedAndKeepsBothEnds(t *testing.T) {
	for _, names := range []int{1, 7, 90, 5000} {
		for _, limit := range []int{1, 2, 24, 120} {
			var marks []Mark
			for i := range 5000 {
				marks = append(marks, Mark{Label: fmt.Sprint(i % names), Event: i})
			}
			got := thin(marks, limit)
			if len(got) == 0 || len(got) > limit {
				t.Errorf("%d names: %d marks, want at most %d", names, len(got), limit)
			}
			for i := 1; i < len(got); i++ {
				if got[i].Event <= got[i-1].Event {
					t.Fatalf("%d names: out of order", names)
				}
			}
			if last := got[len(got)-1].Event; last < 4000 && limit > 2 {
				t.Errorf("%d names, limit %d: the marks stop at event %d of 5000", names, limit, last)
			}
		}
	}
}

func TestMarksThatFitStay(t *testing.T) {
	d := fakeDevice()
	drawn, legend, left := thinMarks(d.Marks, 1)
	if len(drawn) != len(d.Marks) || len(legend) != 4 || left != "" {
		t.Errorf("%d marks drawn, legend %v, left out %q", len(drawn), legend, left)
	}
}
