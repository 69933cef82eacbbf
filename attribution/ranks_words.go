package attribution

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

const (
	outlierSentences = 3 // outliers that the summary tells in words
	groupsInWords    = 8
)

// sentences tells the result, the most important first.
func (c *comparison) sentences() []string {
	r := c.report
	out := c.limitSentence()
	for k := range r.Outliers {
		if k == outlierSentences {
			out = append(out, "unusual as well: "+namedRanks(r.labelsOf(r.Outliers[k:])))
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

func (r *RankReport) labelsOf(list []RankOutlier) []string {
	var out []string
	for _, o := range list {
		out = append(out, r.Rows[o.Row].Label)
	}
	slices.SortFunc(out, compareNatural)
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
		return []string{fmt.Sprintf("all %d ranks reserve the same within %s: %s %s", len(c.rows), units.Bytes(leastMatter), units.Bytes(most.PeakReserved), held)}
	}
	who := fmt.Sprintf("rank %s limits the job: it reserves %s %s", most.Label, units.Bytes(most.PeakReserved), held)
	if len(c.rows) == 2 {
		return []string{fmt.Sprintf("%s, rank %s %s (%s less)", who, r.Rows[least].Label, units.Bytes(value(least)), apart(value(least), most.PeakReserved))}
	}
	median := lowerMedian(c.rows, value)
	if median == most.PeakReserved { // most ranks reserve that much
		return []string{fmt.Sprintf("at least half of the %d ranks reserve %s %s, the most of all; rank %s the least, %s",
			len(c.rows), units.Bytes(median), held, r.Rows[least].Label, units.Bytes(value(least)))}
	}
	return []string{fmt.Sprintf("%s, the median of %d ranks %s (%s less), the least %s (rank %s)",
		who, len(c.rows), units.Bytes(median), apart(median, most.PeakReserved), units.Bytes(value(least)), r.Rows[least].Label)}
}

// apart is by how much less a is than b: "116 MiB, 11.3%".
func apart(a, b int64) string {
	return units.Bytes(b-a) + ", " + units.Percent(b-a, b)
}

// OutlierText says what a rank holds more, or less, than its reference.
func (r *RankReport) OutlierText(o *RankOutlier) string {
	row, reference := &r.Rows[o.Row], &r.Rows[o.Reference]
	of := "rank " + reference.Label
	if !o.Pair {
		of += ", which has the median"
		if len(r.Groups) > 1 {
			of += " of its group"
		}
	}
	text := fmt.Sprintf("rank %s holds as much at %s as %s", row.Label, r.whose(), of)
	if o.Delta != 0 {
		more := "more"
		if o.Delta < 0 {
			more = "less"
		}
		text = fmt.Sprintf("rank %s holds %s (%s) %s at %s than %s", row.Label, units.Bytes(abs(o.Delta)),
			units.Percent(abs(o.Delta), r.Totals(o.Reference).Sum()), more, r.whose(), of)
	}
	var parts []string
	for _, d := range o.Categories[:min(len(o.Categories), 3)] {
		if len(parts) == 0 || abs(d.Delta) >= abs(o.Categories[0].Delta)/50 {
			parts = append(parts, words(d.Category)+" "+units.Signed(d.Delta))
		}
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if lines := deltaTexts(o.Lines, 3); len(lines) > 0 {
		text += "; lines " + strings.Join(lines, ", ")
	}
	if abs(o.Reserved) >= leastMatter && len(parts) == 0 {
		text += fmt.Sprintf("; it reserves %s", units.Signed(o.Reserved))
	}
	return text
}

func (r *RankReport) whose() string {
	if r.At == "end" {
		return "the end"
	}
	return "its peak"
}

// deltaTexts names the lines with the largest differences. Those of the user's
// code say more than memory without a line.
func deltaTexts(lines []RankDelta, most int) []string {
	var out []string
	for _, withFile := range []bool{true, false} {
		for _, l := range lines {
			if (l.File != "") == withFile && l.Delta != 0 && len(out) < most {
				out = append(out, placeText(&DiffRow{File: l.File, Line: l.Line, Function: l.Function})+" "+units.Signed(l.Delta))
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// inputText explains a rank by its inputs: activations grow with the batch and
// with the length of sequences.
func (r *RankReport) inputText(o *RankOutlier) string {
	here, there := r.Totals(o.Row), r.Totals(o.Reference)
	if here[Input] <= 0 || there[Input] <= 0 || here[Activation] <= 0 || there[Activation] <= 0 {
		return ""
	}
	inputs := float64(here[Input]) / float64(there[Input])
	activations := float64(here[Activation]) / float64(there[Activation])
	if inputs > 0.98 && inputs < 1.02 || (inputs > 1) != (activations > 1) {
		return ""
	}
	if ratio := activations / inputs; ratio > 0.95 && ratio < 1.05 {
		return fmt.Sprintf("the inputs of rank %s are %.3g times as large (%s to %s), and so are its activations: it had other batches or sequence lengths",
			r.Rows[o.Row].Label, inputs, units.Bytes(there[Input]), units.Bytes(here[Input]))
	}
	return fmt.Sprintf("the inputs of rank %s are %.3g times as large (%s to %s), its activations %.3g times",
		r.Rows[o.Row].Label, inputs, units.Bytes(there[Input]), units.Bytes(here[Input]), activations)
}

// groupSentences notes ranks that hold different parts of the model, which is
// no fault.
func (c *comparison) groupSentences() []string {
	r := c.report
	if len(r.Groups) < 2 {
		return nil
	}
	var parts []string
	main := 0
	for k, g := range r.Groups {
		if len(g.Rows) > len(r.Groups[main].Rows) {
			main = k
		}
		if k < groupsInWords {
			parts = append(parts, fmt.Sprintf("%s %s", r.GroupName(&g), units.Bytes(g.Parameters)))
		}
	}
	if more := len(r.Groups) - groupsInWords; more > 0 {
		parts = append(parts, count(more, "more group"))
	}
	out := []string{"ranks differ in their parameters, as pipeline stages do: " + strings.Join(parts, ", ") + "; ranks are compared within these groups"}
	for k, g := range r.Groups {
		if k == main || len(out) > outlierSentences {
			continue
		}
		if text := c.groupDifference(&g, &r.Groups[main]); text != "" {
			out = append(out, text)
		}
	}
	return out
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
	var labels []string
	for _, i := range g.Rows {
		labels = append(labels, r.Rows[i].Label)
	}
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
