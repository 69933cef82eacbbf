package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
)

// estimateText is the answer, then what it consists of, then where it fits.
func (u *ui) estimateText(l *budget.Ledger, rows rowsFlag) string {
	var b strings.Builder
	b.WriteString(u.style(bold, "peak "+bothUnits(l.PerGPU)) + u.perGPUText(l) + ", in the " + phaseName(l.Peak) + "\n")
	u.factLines(&b, "model", afterCommas(modelText(l))...)
	u.factLines(&b, "training", afterCommas(trainingText(&l.Config))...)
	if l.Simulated {
		u.factLines(&b, "symbols", afterCommas(l.Symbols())...)
		u.factLines(&b, "reserved", words("about "+units.Bytes(l.Reserved)+" is what PyTorch's caching allocator will hold under its default settings")...)
	}
	if l.Total != l.PerGPU {
		u.factLines(&b, "undivided", words(bothUnits(l.Total)+" for the whole model and this batch on one GPU")...)
	}
	b.WriteString("\n" + u.classTable(l))
	b.WriteString("\n" + u.lineTable(l, rows))
	b.WriteString("\n" + u.peakTable(l))
	b.WriteString("\n" + u.cardTable(l))
	b.WriteString("\n")
	for _, x := range l.Overhead {
		u.factLines(&b, "beyond", words(units.Bytes(x.Bytes)+" "+x.Name+" ("+x.Formula+")")...)
	}
	for _, s := range l.NotIncluded {
		u.factLines(&b, "left out", words(s)...)
	}
	for _, s := range l.Notes {
		u.factLines(&b, "note", words(s)...)
	}
	return b.String()
}

// bothUnits is a size in binary and in decimal units, each by its name.
func bothUnits(n int64) string {
	decimal := strconv.FormatFloat(float64(n)/1e9, 'f', 2, 64) + " GB"
	if n < 1e9 {
		decimal = strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
	}
	return units.Bytes(n) + " (" + decimal + ")"
}

func (u *ui) perGPUText(l *budget.Ledger) string {
	switch {
	case l.Config.Pipeline > 1:
		return " on each GPU of pipeline stage " + strconv.FormatInt(l.Stage+1, 10)
	case l.Config.GPUs > 1:
		return " on each GPU"
	}
	return ""
}

// phaseName says where in the step the peak is.
func phaseName(p budget.StepPeak) string {
	name := string(p.Step)
	if p.Step == budget.OptimizerStep {
		return "optimizer step"
	}
	if p.At != "" {
		name += ", at " + units.Safe(p.At)
	}
	return name
}

func modelText(l *budget.Ledger) string {
	m := &l.Config.Model
	name := "own architecture"
	if m.Name != "" {
		name = units.Safe(m.Name)
	}
	text := name + ", " + units.Count(l.Params) + " parameters"
	switch m.Head {
	case budget.MLMHead:
		text += ", head for masked words"
	case budget.ClassHead:
		text += ", classifier of " + units.Count(m.Labels) + " classes"
	case budget.NoHead:
		text += ", no head"
	}
	if l.Trained != l.Params {
		text += ", " + units.Count(l.Trained) + " trained on this GPU"
	}
	return text
}

func trainingText(c *budget.Config) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if c.Batch > 0 && c.Model.Arch == budget.ViT {
		add("%s", plural(int(c.Batch), "image"))
	} else if c.Batch > 0 {
		add("%d × %d tokens", c.Batch, c.Seq)
	}
	add("%s", c.Precision)
	add("%s", c.Optimizer)
	if c.Batch > 0 {
		add("attention %s", c.Attention)
	}
	if c.Checkpoint != budget.NoCheckpoint {
		add("checkpoint %s", c.Checkpoint)
	}
	if c.Accumulation > 1 {
		add("%d micro-batches a step", c.Accumulation)
	}
	if c.GPUs > 1 {
		add("%d GPUs", c.GPUs)
	}
	if c.ZeRO > 0 {
		add("ZeRO %d", c.ZeRO)
	}
	if c.Tensor > 1 {
		add("tensor parallel %d", c.Tensor)
	}
	if c.Pipeline > 1 {
		add("pipeline %d", c.Pipeline)
	}
	if c.LoRARank > 0 {
		add("LoRA rank %d", c.LoRARank)
	}
	return strings.Join(parts, ", ")
}

// classTable is the peak by class, and the most of each class at any time.
func (u *ui) classTable(l *budget.Ledger) string {
	t := newTable(left, right, right, right, right)
	t.header("class", "at the peak", "", "share", "most at once")
	for _, c := range budget.Classes() {
		if l.Full[c] == 0 {
			continue
		}
		t.row(strings.ReplaceAll(string(c), "_", " "), units.Bytes(l.Totals[c]), decimalUnits(l.Totals[c]), units.Percent(l.Totals[c], l.PerGPU), units.Bytes(l.Full[c]))
	}
	t.row(u.style(bold, "total"), units.Bytes(l.PerGPU), decimalUnits(l.PerGPU), units.Percent(l.PerGPU, l.PerGPU), "")
	return t.String()
}

func decimalUnits(n int64) string {
	return strconv.FormatFloat(float64(n)/1e9, 'f', 3, 64) + " GB"
}

// lineTable has the lines of the ledger, each with its arithmetic below.
func (u *ui) lineTable(l *budget.Ledger, rows rowsFlag) string {
	shown := l.Largest(rows.limit(len(l.Lines)))
	var b strings.Builder
	b.WriteString("what is live at the peak, and the most of it at once\n")
	var rest, restPeak int64
	hidden := 0
	for i, x := range l.Lines {
		if !shown[i] {
			rest, restPeak, hidden = rest+x.Bytes, restPeak+x.AtPeak, hidden+1
			continue
		}
		b.WriteString(sizeField(x.AtPeak) + "  " + sizeField(x.Bytes) + "  " + u.style(bold, x.Name) + u.style(faint, " ("+strings.ReplaceAll(string(x.Class), "_", " ")+")") + "\n")
		u.arithmetic(&b, x)
	}
	if hidden > 0 {
		b.WriteString(sizeField(restPeak) + "  " + sizeField(rest) + "  " + plural(hidden, "smaller line") + "; -n 0 shows all\n")
	}
	return b.String()
}

// lineIndent is where the arithmetic of a line begins.
const lineIndent = 24

func (u *ui) arithmetic(b *strings.Builder, x budget.Line) {
	parts := append(words(x.Formula+" "), words("= "+x.Numbers)...)
	for _, line := range wrap(parts, u.width-lineIndent-2) {
		b.WriteString(strings.Repeat(" ", lineIndent+2) + line + "\n")
	}
}

// sizeField is a size of fixed width; nothing is a dash.
func sizeField(n int64) string {
	text := "–"
	if n != 0 {
		text = units.Bytes(n)
	}
	return strings.Repeat(" ", max(0, 11-units.Width(text))) + text
}

func (u *ui) peakTable(l *budget.Ledger) string {
	t := newTable(left, right, right, left)
	t.header("part of the step", "tensors", "allocated", "highest at")
	for _, p := range l.Peaks {
		name := string(p.Step)
		if p.Step == budget.OptimizerStep {
			name = "optimizer step"
		}
		t.row(name, units.Bytes(p.Bytes), units.Bytes(p.Allocated), units.Safe(p.At))
	}
	return t.String()
}

// cardTable says on which cards it fits.
func (u *ui) cardTable(l *budget.Ledger) string {
	t := newTable(left, right, right, left)
	t.header("card", "memory", "needs", "fits")
	for _, c := range l.Cards() {
		text := "yes, " + units.Bytes(c.Card.Bytes-c.Needs) + " left"
		if c.Narrow() {
			text = "narrowly" + strings.TrimPrefix(text, "yes")
		}
		if !c.Fits() {
			text = u.style(alarm, "no") + ", " + units.Bytes(c.Needs-c.Card.Bytes) + " short"
		}
		t.row(c.Card.Name, units.Bytes(c.Card.Bytes), units.Bytes(c.Needs), text)
	}
	return t.String()
}
