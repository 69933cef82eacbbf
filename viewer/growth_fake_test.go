package viewer

import (
	"fmt"
	"math"
	"slices"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/snapshot"
)

// overSteps makes a series of n points, a step apart.
func overSteps(name string, n int, apart float64, bytes func(i int) float64) attribution.Series {
	s := attribution.Series{Name: name}
	for i := range n {
		s.Steps = append(s.Steps, float64(i)*apart)
		s.Bytes = append(s.Bytes, math.Round(bytes(i)))
	}
	return s
}

// judged is a section with the verdict on its curves.
func judged(heading, unit string, curves ...attribution.Series) GrowthSection {
	in := attribution.GrowthInput{Unit: unit}
	for _, c := range curves {
		switch c.Name {
		case "allocated":
			in.Allocated = c
		case "reserved":
			in.Reserved = c
		case "peak":
			in.Peak = c
		}
	}
	s := GrowthSection{Heading: heading, Growth: attribution.Judge(in)}
	for _, c := range curves {
		s.Curves = append(s.Curves, leakCurve(c, &s.Growth))
	}
	return s
}

const fakeMiB = 1 << 20

func rawFrames(frames ...Frame) (out []snapshot.Frame) {
	for _, f := range frames {
		out = append(out, snapshot.Frame{File: f.File, Function: f.Function, Line: f.Line})
	}
	return out
}

// fakeGrowth is a small page with every part in it: a leak, growth of the cache,
// too little to judge, a comparison, marks and lines that could not be read.
func fakeGrowth() GrowthPage {
	leak := judged("Device 0", "step",
		overSteps("allocated", 40, 10, func(i int) float64 {
			return fakeMiB * (3000 + 12*float64(i) + 20*math.Sin(float64(i)*1.7) + 200*min(1, float64(i)))
		}),
		overSteps("reserved", 40, 10, func(i int) float64 { return fakeMiB * (3400 + 64*math.Floor(float64(i)/5)) }),
		overSteps("peak", 40, 10, func(i int) float64 { return fakeMiB * (3300 + 12*float64(i)) }),
		overSteps("outside", 20, 20, func(i int) float64 { return fakeMiB * (600 + 10*float64(i%3)) }),
	)
	held := overSteps("", 40, 10, func(i int) float64 { return fakeMiB * 8 * float64(i) })
	leak.Suspects = []attribution.Suspect{
		{File: linear.File, Function: linear.Function, Line: linear.Line, Frames: rawFrames(native, linear, call, forward, train), BytesPerStep: .8 * fakeMiB, Low: .79 * fakeMiB, High: .81 * fakeMiB, Live: 312 * fakeMiB, Count: 390, Category: attribution.Activation, Curve: held, Every: 10, AtATime: 2},
		{File: forward.File, Function: forward.Function, Line: forward.Line, Frames: rawFrames(call, forward, train), BytesPerStep: .4 * fakeMiB, Low: .3 * fakeMiB, High: .5 * fakeMiB, Live: 100 * fakeMiB, Count: 1, Category: attribution.OptimizerState, Curve: held},
		{Function: "(autograd thread)", BytesPerStep: 1000, Low: 0, High: 2000, Live: 4000, Count: 4, Category: attribution.Unknown},
	}
	leak.Hints = []attribution.Hint{{ID: "outputs_kept", Title: "Outputs are kept", Evidence: "One tensor of the same shape a step is never freed.", Do: "Append output.detach().cpu() instead.", File: train.File, Function: train.Function, Line: train.Line}}
	leak.Marks = []GrowthMark{{MarkRetry, "cudaMalloc retry", 150}, {MarkOOM, "out of memory", 380}}
	if room, ok := leak.Growth.Room(80<<30, 620*fakeMiB); ok {
		leak.Room = &room
	}
	leak.Notes = []string{"The answer rests on 40 printed lines.", "Units are binary: GB is printed for 2^30 bytes."}
	leak.Warnings = []string{"the allocator freed its cache and tried again 3 times", "1 allocation failed"}
	leak.Tables = []PlainTable{{Title: "File by file", Head: []string{"File", "Requested"}, Right: []bool{false, true}, Rows: [][]string{{"epoch0.pickle", "3.00 GiB"}}}}
	leak.Figures = []Fact{{"An epoch", "+60.0 MiB", "50 steps"}, {"Retries", "3", "num_alloc_retries"}}
	cache := judged("Device 1", "step",
		overSteps("allocated", 40, 10, func(i int) float64 { return fakeMiB * (129 + float64(i%3)/100) }),
		overSteps("reserved", 40, 10, func(i int) float64 { return fakeMiB * (300 + 60*math.Floor(float64(i)/9)) }),
	)
	short := judged("Device 2", "second", overSteps("allocated", 3, .2, func(i int) float64 { return fakeMiB * float64(i) }))
	bare := judged("Device 3", "step", overSteps("device_used", 8, 1, func(i int) float64 { return fakeMiB * float64(100+i) }))
	fixed := overSteps("allocated", 40, 10, func(i int) float64 { return fakeMiB * (3100 + 2*math.Sin(float64(i)*1.7)) })
	return GrowthPage{
		Name: "runs/train.log", Version: "v0.0.0-test", Facts: []string{"training log", "40 lines of memory", "4 devices"},
		Changes: []GrowthChange{{
			Heading: "Device 0, before and after", Badge: "Fixed", Verdict: Verdict{"ok", "The slope is gone: 1.20 MiB a step before, none after."}, Unit: "step",
			Before: leak.Curves[0], After: GrowthCurve{Series: fixed, Trend: attribution.Fit(fixed)},
			Tables: []PlainTable{{Title: "By line", Head: []string{"Before", "After", "Where"}, Right: []bool{true, true}, Rows: [][]string{{"819 KiB", "0 B", "model.py:12"}}}},
			Notes:  []string{"Both runs were measured over 40 steps."},
		}},
		Sections: []GrowthSection{leak, cache, short, bare},
		Unread:   []UnreadLines{{File: "runs/train.log", Count: 9, Examples: []UnreadLine{{12, "allocated lots", "no unit"}, {14, "reserved ?", "no number"}}}},
		Notes:    []string{"Steps are those that the lines name."},
	}
}

// hugeGrowth is larger than anything that must fit, with so many comparisons
// and sections.
func hugeGrowth(changes, sections int) GrowthPage {
	name := func(i int) string { return fmt.Sprintf("<%0300d>&\"'<<<<<<<<", i) }
	p := fakeGrowth()
	p.Name = name(0)
	s := &p.Sections[0]
	s.Curves = nil
	for _, n := range []string{"allocated", "reserved", "peak", "process_used", "device_used", "used", "outside"} {
		s.Curves = append(s.Curves, leakCurve(overSteps(n, 20_000, 1.25, func(i int) float64 { return float64(i%977)*1e12 + float64(i) }), &s.Growth))
	}
	for i := range 100 {
		s.Warnings = append(s.Warnings, name(i))
		s.Curves = append(s.Curves, GrowthCurve{Series: attribution.Series{Name: name(i)}})
	}
	for i := range 500 {
		var stack []snapshot.Frame
		for j := range 40 {
			stack = append(stack, snapshot.Frame{File: name(i*40 + j), Function: name(j), Line: int32(j)})
		}
		s.Suspects = append(s.Suspects, attribution.Suspect{File: name(i), Function: name(i + 1), Line: 7, Frames: stack, BytesPerStep: 1e9, Low: 1e8, High: 1e10, Live: 1 << 50, Curve: overSteps("", 200, 1, func(i int) float64 { return float64(i%9) * 1e14 })})
		s.Marks = append(s.Marks, GrowthMark{MarkRetry, name(i), float64(i)}, GrowthMark{MarkOOM, name(i), float64(i)})
		s.Notes, p.Notes, p.Facts = append(s.Notes, name(i)), append(p.Notes, name(i)), append(p.Facts, name(i))
		s.Hints = append(s.Hints, attribution.Hint{Title: name(i), Evidence: name(i), Do: name(i), File: name(i), Function: name(i)})
		p.Unread = append(p.Unread, UnreadLines{File: name(i), Count: 1000, Examples: []UnreadLine{{1, name(i), name(i)}}})
	}
	table := PlainTable{Title: "t", Head: []string{"a", "b"}}
	for i := range 2000 {
		table.Rows = append(table.Rows, []string{name(i), name(i)})
	}
	c := &p.Changes[0]
	s.Tables = []PlainTable{table, table, table, table, table}
	c.Before, c.After, c.Notes, c.Tables = s.Curves[0], s.Curves[1], s.Notes, s.Tables
	p.Changes, p.Sections = slices.Repeat(p.Changes[:1], changes), slices.Repeat(p.Sections[:1], sections)
	return p
}

// poisonedGrowth puts a name everywhere where text from a file goes.
func poisonedGrowth(name string) GrowthPage {
	p := fakeGrowth()
	p.Name, p.Version, p.Facts, p.Notes = "a/"+name, name, []string{name, name}, []string{name}
	evil := Frame{File: "/" + name, Function: name, Line: 1}
	for i := range p.Sections {
		s := &p.Sections[i]
		s.Heading, s.Growth.Why, s.Growth.Need = name, name, name
		for j := range s.Curves {
			if i == 3 {
				s.Curves[j].Series.Name = name
			}
		}
		for j := range s.Suspects {
			x := &s.Suspects[j]
			if x.File != "" {
				x.File, x.Function, x.Frames = evil.File, name, rawFrames(evil, evil, evil, evil)
			}
		}
		for j := range s.Hints {
			s.Hints[j] = attribution.Hint{Title: name, Evidence: name, Do: name, File: evil.File, Function: name}
		}
		for j := range s.Marks {
			s.Marks[j].Label = name
		}
		for j := range s.Notes {
			s.Notes[j], s.Warnings[j], s.Figures[j] = name, name, Fact{name, name, name}
		}
	}
	p.Sections[0].Tables[0].Rows[0] = []string{name, name}
	c := &p.Changes[0]
	c.Heading, c.Badge, c.Verdict.Text, c.Notes = name, name, name, []string{name}
	c.Before.Series.Name, c.After.Series.Name = name, name
	c.Tables[0].Rows[0] = []string{name, name, name}
	u := &p.Unread[0]
	u.File = name
	for i := range u.Examples {
		u.Examples[i].Text, u.Examples[i].Why = name, name
	}
	return p
}
