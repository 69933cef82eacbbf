package attribution

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

const (
	outlierSentences = 3 // outliers that the summary tells in words
	groupsInWords    = 8
)

// sentences tells the result, the most important first.
func (c *comparison) sentences() []string {
	r := c.report
	out := append(c.limitSentence(), c.spreadSentence()...)
	for k := range r.Outliers {
		if k == outlierSentences {
			out = append(out, "unusual as well: "+namedRanks(r.unusualLabels(r.Outliers[k:])))
			break
		}
		out = append(out, r.OutlierText(&r.Outliers[k]))
		if text := r.inputText(&r.Outliers[k]); text != "" {
			out = append(out, text)
		}
	}
	out = append(out, c.groupSentences()...)
	out = append(out, c.oomSentence()...)
	out = append(out, c.straySentences()...)
	if n := len(r.MissingRanks); n > 0 {
		out = append(out, missingText(rankLabels(r.MissingRanks)))
	}
	if len(r.Missing) > 0 {
		out = append(out, missingText(r.Missing))
	}
	return out
}

func missingText(labels []string) string {
	if len(labels) == 1 {
		return "no file is of rank " + labels[0]
	}
	return "no file is of " + namedRanks(labels)
}

// unusualLabels are the ranks of some outliers.
func (r *RankReport) unusualLabels(list []RankOutlier) []string {
	var rows []int
	for _, o := range list {
		rows = append(rows, o.Rows...)
	}
	slices.Sort(rows)
	return r.labels(rows)
}

func (r *RankReport) labels(rows []int) []string {
	out := make([]string, len(rows))
	for k, i := range rows {
		out[k] = r.Rows[i].Label
	}
	return out
}

// limitSentence says which rank needs most of its GPU.
func (c *comparison) limitSentence() []string {
	r := c.report
	switch len(c.rows) {
	case 0:
		return nil
	case 1:
		return []string{"there is one rank only: nothing to compare it with"}
	}
	most := &r.Rows[r.Limiting]
	value := func(i int) int64 { return r.Rows[i].PeakReserved }
	least := c.rows[0]
	for _, i := range c.rows {
		if value(i) < value(least) {
			least = i
		}
	}
	held := "at its peak"
	if r.At == "end" {
		held = "at most, as far as is known"
	}
	if most.PeakReserved-value(least) < leastMatter {
		return []string{fmt.Sprintf("all %s ranks reserve the same within %s: %s %s", units.Count(len(c.rows)), units.Bytes(leastMatter), units.Bytes(most.PeakReserved), held)}
	}
	who := fmt.Sprintf("rank %s limits the job: it reserves %s %s", most.Label, units.Bytes(most.PeakReserved), held)
	if full := slices.DeleteFunc(slices.Clone(c.rows), func(i int) bool { return value(i) <= most.PeakReserved-leastMatter }); len(full) > 1 {
		who = fmt.Sprintf("%s limit the job: they reserve up to %s %s", namedRanks(r.labels(full)), units.Bytes(most.PeakReserved), strings.Replace(held, "its peak", "their peaks", 1))
	}
	if len(c.rows) == 2 {
		return []string{fmt.Sprintf("%s, rank %s %s (%s less)", who, r.Rows[least].Label, units.Bytes(value(least)), apart(value(least), most.PeakReserved))}
	}
	median := lowerMedian(c.rows, value)
	if median == most.PeakReserved { // most ranks reserve that much
		return []string{fmt.Sprintf("at least half of the %s ranks reserve %s %s, the most of all; rank %s the least, %s",
			units.Count(len(c.rows)), units.Bytes(median), held, r.Rows[least].Label, units.Bytes(value(least)))}
	}
	return []string{fmt.Sprintf("%s, the median of %s ranks %s (%s less), the least %s (rank %s)",
		who, units.Count(len(c.rows)), units.Bytes(median), apart(median, most.PeakReserved), units.Bytes(value(least)), r.Rows[least].Label)}
}

// spreadSentence says what the ranks with the most and the least differ in,
// where nothing else will.
func (c *comparison) spreadSentence() []string {
	r := c.report
	s := &r.Spread
	if len(c.rows) < 3 || s.Bytes < leastMatter {
		return nil
	}
	for _, o := range r.Outliers {
		if slices.Contains(o.Rows, s.High) && r.Totals(o.Reference).Sum()-r.Totals(s.Low).Sum() < leastMatter {
			return nil // told below
		}
	}
	return []string{fmt.Sprintf("from the least requested (rank %s, %s) to the most (rank %s, %s) it is %s%s",
		r.Rows[s.Low].Label, units.Bytes(r.Totals(s.Low).Sum()), r.Rows[s.High].Label, units.Bytes(r.Totals(s.High).Sum()),
		units.Bytes(s.Bytes), partsText(s.Categories, s.Lines))}
}

// partsText lists the categories and lines that a difference is made of.
func partsText(categories []CategoryDelta, lines []RankDelta) string {
	var parts []string
	for _, d := range categories[:min(len(categories), 3)] {
		if len(parts) == 0 || abs(d.Delta) >= abs(categories[0].Delta)/50 {
			parts = append(parts, words(d.Category)+" "+units.Signed(d.Delta))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := ": " + strings.Join(parts, ", ")
	switch places := deltaTexts(lines, 3); len(places) {
	case 0:
	case 1:
		text += "; line " + places[0]
	default:
		text += "; lines " + strings.Join(places, ", ")
	}
	return text
}

// apart is by how much less a is than b: "116 MiB, 11.3%".
func apart(a, b int64) string {
	return units.Bytes(b-a) + ", " + units.Percent(b-a, b)
}

// OutlierText says what a rank holds more, or less, than its reference.
func (r *RankReport) OutlierText(o *RankOutlier) string {
	of := "rank " + r.Rows[o.Reference].Label
	if !o.Pair {
		of += ", which has the median"
		if len(r.Groups) > 1 {
			of += " of its group"
		}
	}
	who, holds := namedRanks(r.labels(o.Rows)), "holds"
	if len(o.Rows) > 1 {
		who, holds = fmt.Sprintf("%s (%s of %s) each", who, units.Count(len(o.Rows)), units.Count(len(r.groupOf(o.Rows[0]).Rows))), "hold"
	}
	text := fmt.Sprintf("%s %s as much at %s as %s", who, holds, r.whose(len(o.Rows)), of)
	if o.Delta != 0 {
		more := "more"
		if o.Delta < 0 {
			more = "less"
		}
		text = fmt.Sprintf("%s %s %s (%s) %s at %s than %s", who, holds, units.Bytes(abs(o.Delta)),
			units.Percent(abs(o.Delta), r.Totals(o.Reference).Sum()), more, r.whose(len(o.Rows)), of)
	}
	parts := partsText(o.Categories, o.Lines)
	text += parts
	if abs(o.Reserved) >= leastMatter && parts == "" {
		text += fmt.Sprintf("; it reserves %s", units.Signed(o.Reserved))
	}
	return text
}

// groupOf is the group that a row is compared in.
func (r *RankReport) groupOf(row int) *RankGroup {
	k := slices.IndexFunc(r.Groups, func(g RankGroup) bool { return slices.Contains(g.Rows, row) })
	return &r.Groups[k]
}

func (r *RankReport) whose(ranks int) string {
	switch {
	case r.At == "end":
		return "the end"
	case ranks > 1:
		return "their peaks"
	}
	return "its peak"
}

// deltaTexts names the lines with the largest differences, as long as they are
// not small beside the first. Those of Python code say more than C++ functions
// and memory without a line.
func deltaTexts(lines []RankDelta, most int) []string {
	var out []string
	for _, python := range []bool{true, false} {
		var largest int64
		for _, l := range lines {
			frame := snapshot.Frame{File: l.File}
			if (l.File != "" && frame.IsPython()) != python || l.Delta == 0 || len(out) == most {
				continue
			}
			if largest = max(largest, abs(l.Delta)); abs(l.Delta) >= largest/10 {
				place := RankLine{File: l.File, Line: l.Line, Function: l.Function}
				out = append(out, place.ShortPlace()+" "+units.Signed(l.Delta))
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// ShortPlace is a line in few words: file and line of Python code, the name of
// a C++ function without its arguments, or what memory without a line is called.
func (l *RankLine) ShortPlace() string {
	if frame := (snapshot.Frame{File: l.File}); l.File != "" && frame.IsPython() {
		return placeText(&DiffRow{File: l.File, Line: l.Line, Function: l.Function})
	}
	name, _, _ := strings.Cut(l.Function, "<")
	if !strings.HasPrefix(name, "(") { // names in parentheses stand for memory without a line
		name, _, _ = strings.Cut(name, "(")
	}
	name = strings.TrimPrefix(strings.TrimSpace(name), "void ")
	if name == "" {
		name = snapshot.NativeCode
	}
	return units.Safe(units.Ellipsis(name, 48))
}

// inputText explains a rank by its inputs: activations grow with the batch and
// with the length of sequences.
func (r *RankReport) inputText(o *RankOutlier) string {
	here, there := r.Totals(o.Rows[0]), r.Totals(o.Reference)
	if here[Input] <= 0 || there[Input] <= 0 || here[Activation] <= 0 || there[Activation] <= 0 {
		return ""
	}
	inputs := float64(here[Input]) / float64(there[Input])
	activations := float64(here[Activation]) / float64(there[Activation])
	if inputs > 0.98 && inputs < 1.02 || (inputs > 1) != (activations > 1) {
		return ""
	}
	if ratio := activations / inputs; ratio > 0.95 && ratio < 1.05 {
		return fmt.Sprintf("the inputs of %s are %.3g times as large (%s to %s), and so are the activations: other batches or sequence lengths",
			namedRanks(r.labels(o.Rows)), inputs, units.Bytes(there[Input]), units.Bytes(here[Input]))
	}
	return fmt.Sprintf("the inputs of %s are %.3g times as large (%s to %s), the activations %.3g times",
		namedRanks(r.labels(o.Rows)), inputs, units.Bytes(there[Input]), units.Bytes(here[Input]), activations)
}

// groupSentences notes ranks that hold different parts of the model, or are of
// another kind, which is no fault.
func (c *comparison) groupSentences() []string {
	r := c.report
	if len(r.Groups) < 2 {
		return nil
	}
	var out, parts []string
	main := 0
	for k, g := range r.Groups {
		if len(g.Rows) > len(r.Groups[main].Rows) {
			main = k
		}
		if !g.OfKind && len(parts) < groupsInWords {
			parts = append(parts, fmt.Sprintf("%s %s", r.GroupName(&g), units.Bytes(g.Parameters)))
		}
	}
	if len(parts) > 1 {
		out = append(out, "ranks differ in their parameters, as pipeline stages do: "+strings.Join(parts, ", ")+"; ranks are compared within these groups")
	}
	for k := range r.Groups {
		if g := &r.Groups[k]; g.OfKind && len(out) <= groupsInWords {
			out = append(out, c.kindSentence(g))
		}
	}
	for k, g := range r.Groups {
		if k == main || g.OfKind || len(out) > groupsInWords {
			continue
		}
		if text := c.groupDifference(&g, &r.Groups[main]); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// kindSentence tells how ranks differ from those with equal parameters.
func (c *comparison) kindSentence(g *RankGroup) string {
	r := c.report
	k := slices.IndexFunc(r.Groups, func(o RankGroup) bool {
		return !o.OfKind && o.Name == g.Name && abs(o.Parameters-g.Parameters) <= c.matters(*g)
	})
	if k < 0 {
		return r.GroupName(g) + " are of a kind of their own"
	}
	other := &r.Groups[k]
	delta := r.Totals(g.Reference).Sum() - r.Totals(other.Reference).Sum()
	categories, lines := c.against(g.Reference, other.Reference)
	text := fmt.Sprintf("%s each hold %s as much as %s at %s", r.GroupName(g), "about", r.GroupName(other), r.whose(2))
	if abs(delta) >= leastMatter {
		text = fmt.Sprintf("%s each hold %s at %s than %s", r.GroupName(g), moreOrLess(delta), r.whose(2), r.GroupName(other))
	}
	return text + " with equal parameters: another stage or other work" + strings.Replace(partsText(categories, lines), ": ", "; ", 1)
}

// moreOrLess is "1.16 GiB more" or "16.4 MiB less".
func moreOrLess(delta int64) string {
	if delta < 0 {
		return units.Bytes(-delta) + " less"
	}
	return units.Bytes(delta) + " more"
}

// groupDifference says which parameters a group has that the largest has not.
func (c *comparison) groupDifference(g, main *RankGroup) string {
	_, lines := c.against(g.Reference, main.Reference)
	lines = slices.DeleteFunc(lines, func(l RankDelta) bool { return l.Category != Parameter })
	texts := deltaTexts(lines, 3)
	if len(texts) == 0 {
		return ""
	}
	return fmt.Sprintf("parameters of %s against %s: %s", c.report.GroupName(g), c.report.GroupName(main), strings.Join(texts, ", "))
}

// GroupName calls a group by its name and its ranks.
func (r *RankReport) GroupName(g *RankGroup) string {
	labels := r.labels(g.Rows)
	if g.Name == "" {
		return namedRanks(labels)
	}
	return g.Name + " (" + namedRanks(labels) + ")"
}

func (c *comparison) oomSentence() []string {
	var labels []string
	for _, i := range c.rows {
		if c.report.Rows[i].OOMs > 0 {
			labels = append(labels, c.report.Rows[i].Label)
		}
	}
	if len(labels) == 0 {
		return nil
	}
	return []string{namedRanks(labels) + " ran out of memory: see snapview oom FILE"}
}

// straySentences tell of memory on other ranks' devices.
func (c *comparison) straySentences() []string {
	type gpu struct {
		node   string
		device int
	}
	found := map[gpu][]int{}
	var order []gpu
	for i, row := range c.report.Rows {
		if k := (gpu{row.ID.Node, row.Device}); row.Stray {
			if found[k] == nil {
				order = append(order, k)
			}
			found[k] = append(found[k], i)
		}
	}
	var out []string
	for _, k := range order {
		var sum int64
		var labels []string
		for _, i := range found[k] {
			sum += c.report.Rows[i].PeakReserved
			labels = append(labels, c.report.Rows[i].ID.String())
		}
		where := fmt.Sprintf("device %d", k.device)
		if k.node != "" {
			where += " of " + k.node
		}
		out = append(out, fmt.Sprintf("%s also reserved up to %s in all on %s, which is another rank's own: call torch.cuda.set_device before anything is allocated",
			namedRanks(labels), units.Bytes(sum), where))
	}
	return out
}
