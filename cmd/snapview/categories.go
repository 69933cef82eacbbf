package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
	"github.com/spf13/cobra"
)

// categoriesOptions are what categories adds to the common options.
type categoriesOptions struct {
	options
	at     string
	blocks bool
}

func newCategories() *cobra.Command {
	o := &categoriesOptions{}
	cmd := &cobra.Command{
		Use:   "categories FILE",
		Short: "What memory is for: parameters, gradients, optimizer state, activations, …",
		Long: `What memory is for at a moment, in requested bytes by category. Every block has a
category, the evidence for it and a confidence from 0 to 1: the share of such
answers that is right. Rows sum to the total.

` + momentHelp,
		Example: `  snapview categories snapshot.pickle
  snapview categories snapshot.pickle --at peak
  snapview categories snapshot.pickle --blocks --json`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return runCategories(cmd, o, args[0]) },
	}
	flags := cmd.Flags()
	o.register(flags, tableRows, "with --blocks, at most `N` blocks of a device, 0 for all (default 20; all with --json)")
	flags.StringVar(&o.at, "at", "end", "`MOMENT`: end, start, peak, oom, an event or a time")
	flags.BoolVar(&o.blocks, "blocks", false, "list the blocks")
	return cmd
}

func runCategories(cmd *cobra.Command, o *categoriesOptions, name string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	at, err := parseMoment(o.at)
	if err != nil {
		return err
	}
	f, err := u.openFile(name)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := u.readSnapshot(f, name, &o.options)
	if err != nil {
		return err
	}
	timelines, err := replay(s, name, &o.options)
	if err != nil {
		return err
	}
	answers, err := u.classifyDevices(s, o.device.withoutIdle(timelines), at)
	if err != nil {
		return inFile(name, err)
	}
	if o.json {
		return writeJSON(u.out, categoriesJSON(s, answers, o))
	}
	_, err = fmt.Fprint(u.out, u.categoriesText(s, answers, o))
	return err
}

// deviceCategories is the answer of categories for one device.
type deviceCategories struct {
	*attribution.Classification
	moment snapshot.Moment
}

// classifyDevices answers for each device. One that does not have the moment is
// left out with a note, as long as another has it.
func (u *ui) classifyDevices(s *snapshot.Snapshot, timelines []*snapshot.Timeline, at string) ([]deviceCategories, error) {
	var answers []deviceCategories
	var missing []error
	for _, t := range timelines {
		m, err := findMoment(t, at)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		answers = append(answers, deviceCategories{attribution.Classify(s, t), m})
	}
	if len(answers) == 0 && len(missing) > 0 {
		return nil, missing[0]
	}
	for _, err := range missing {
		u.note(s.Source.Name, err.Error())
	}
	for _, a := range answers {
		if caveat := unsoundCaveat(a.Timeline); caveat != "" {
			u.note(s.Source.Name, caveat)
		}
		if caveat := peakCaveat(a.Timeline); at == "peak" && caveat != "" {
			u.note(s.Source.Name, caveat)
		}
	}
	return answers, nil
}

// categoryTable is the JSON of categories for one device; bytes are requested
// bytes, those of a phase's peak included.
type categoryTable struct {
	Device  int              `json:"device"`
	Partial string           `json:"partial,omitempty"`
	History string           `json:"history"`
	At      atMoment         `json:"at"`
	Total   int64            `json:"total_bytes"`
	Totals  map[string]int64 `json:"totals"`
	Peak    *categoryPeak    `json:"peak,omitempty"` // absent without a history
	Steps   int              `json:"steps"`
	Blocks  []categoryBlock  `json:"blocks,omitzero"` // only with --blocks, largest first
}

// categoryPeak says in which phase the peak of the history is.
type categoryPeak struct {
	Requested int64  `json:"requested_bytes"`
	Event     int    `json:"event"`
	Phase     string `json:"phase"`
	Step      int    `json:"step"`
}

type categoryBlock struct {
	Address    uint64  `json:"address"`
	Size       int64   `json:"size"` // 0 when unknown: only blocks alive at the end say it
	Requested  int64   `json:"requested_bytes"`
	Category   string  `json:"category"`
	Evidence   string  `json:"evidence"`
	Confidence float64 `json:"confidence"`
}

// categoriesJSON is one object for one device and a list otherwise.
func categoriesJSON(s *snapshot.Snapshot, answers []deviceCategories, o *categoriesOptions) any {
	tables := make([]categoryTable, len(answers))
	for i, a := range answers {
		tables[i] = a.json(s, o)
	}
	if len(tables) == 1 {
		return tables[0]
	}
	return tables
}

func (a deviceCategories) json(s *snapshot.Snapshot, o *categoriesOptions) categoryTable {
	m, totals := a.moment, a.At(a.moment)
	out := categoryTable{
		Device: a.Timeline.Device.Index, Partial: partialText(s), History: a.Timeline.History.String(),
		At: atMoment{m.Name, m.Event, m.Time}, Total: totals.Sum(), Totals: map[string]int64{}, Steps: len(a.Steps),
	}
	for _, c := range attribution.Categories() {
		out.Totals[c.String()] = totals[c]
	}
	if hasHistory(a.Timeline) {
		p := a.Timeline.Peak
		out.Peak = &categoryPeak{Requested: p.Bytes, Event: p.Event}
		if phase, ok := a.PhaseAt(p.Event); ok {
			out.Peak.Phase, out.Peak.Step = phase.Kind.String(), phase.Step
		}
	}
	if o.blocks {
		out.Blocks = a.blocksJSON(o)
	}
	return out
}

func (a deviceCategories) blocksJSON(o *categoriesOptions) []categoryBlock {
	blocks := []categoryBlock{}
	for _, i := range a.largest(o, true) {
		b, l := &a.Timeline.Allocations[i], &a.Labels[i]
		// Two decimals are all that a confidence has; a float32 would print more.
		confidence, _ := strconv.ParseFloat(strconv.FormatFloat(float64(l.Confidence), 'f', 2, 32), 64)
		blocks = append(blocks, categoryBlock{b.Addr, b.Size, b.Requested, l.Category.String(), l.Evidence, confidence})
	}
	return blocks
}

// largest returns the live allocations to list, largest first.
func (a deviceCategories) largest(o *categoriesOptions, all bool) (list []int) {
	for i := range a.Live(a.moment) {
		list = append(list, i)
	}
	slices.SortStableFunc(list, func(x, y int) int {
		return cmp.Compare(a.Timeline.Allocations[y].Requested, a.Timeline.Allocations[x].Requested)
	})
	if all && !o.rows.given {
		return list
	}
	return list[:o.rows.limit(len(list))]
}

func (u *ui) categoriesText(s *snapshot.Snapshot, answers []deviceCategories, o *categoriesOptions) string {
	var b strings.Builder
	b.WriteString(u.partialLine(s))
	for i, a := range answers {
		if i > 0 {
			b.WriteByte('\n')
		}
		title := fmt.Sprintf("device %d %s; history %s", a.Timeline.Device.Index, momentText(a.Timeline, a.moment), a.Timeline.History)
		b.WriteString(u.style(bold, title) + "\n")
		b.WriteString(u.categoryRows(a))
		if text := u.phasesText(a); text != "" {
			b.WriteString("\n" + text)
		}
		if o.blocks {
			b.WriteString("\n" + u.blocksText(a, o))
		}
	}
	if len(answers) == 0 {
		b.WriteString("no device held memory\n")
	}
	return b.String()
}

// A categoryRow sums the live memory of a category up.
type categoryRow struct {
	category attribution.Category
	bytes    int64
	count    int
	evidence []evidenceRow // most bytes first
}

// An evidenceRow sums up what one kind of evidence stands for.
type evidenceRow struct {
	text  string
	bytes int64
	sure  float64 // Σ bytes · confidence
}

func (a deviceCategories) rows() []categoryRow {
	rows := make([]categoryRow, attribution.NumCategories)
	for i, live := range a.Live(a.moment) {
		l := &a.Labels[i]
		r := &rows[l.Category]
		r.category = l.Category
		r.bytes += live.Requested
		r.count++
		k := slices.IndexFunc(r.evidence, func(e evidenceRow) bool { return e.text == l.Evidence })
		if k < 0 {
			k = len(r.evidence)
			r.evidence = append(r.evidence, evidenceRow{text: l.Evidence})
		}
		r.evidence[k].bytes += live.Requested
		r.evidence[k].sure += float64(live.Requested) * float64(l.Confidence)
	}
	rows = slices.DeleteFunc(rows, func(r categoryRow) bool { return r.count == 0 })
	slices.SortStableFunc(rows, func(a, b categoryRow) int { return cmp.Compare(b.bytes, a.bytes) })
	for _, r := range rows {
		slices.SortStableFunc(r.evidence, func(a, b evidenceRow) int { return cmp.Compare(b.bytes, a.bytes) })
	}
	return rows
}

// confidence is the mean over the bytes.
func (e evidenceRow) confidence() string {
	if e.bytes == 0 {
		return "–"
	}
	return strconv.FormatFloat(e.sure/float64(e.bytes), 'f', 2, 64)
}

func (u *ui) categoryRows(a deviceCategories) string {
	rows, total := a.rows(), a.At(a.moment).Sum()
	t := newTable(left, right, right, right)
	t.header("category", "requested", "share", "blocks")
	count := 0
	for _, r := range rows {
		t.row(r.category.String(), units.Bytes(r.bytes), units.Percent(r.bytes, total), units.Count(r.count))
		count += r.count
	}
	t.row(u.style(bold, "total"), units.Bytes(total), units.Percent(total, total), units.Count(count))
	return t.String() + u.evidenceText(rows)
}

// maxEvidence is how many kinds of evidence are printed of a category.
const maxEvidence = 3

// evidenceText says what the categories rest on.
func (u *ui) evidenceText(rows []categoryRow) string {
	if len(rows) == 0 {
		return ""
	}
	t := newTable(left, right, right, left)
	t.header("evidence for", "requested", "confidence", "")
	for _, r := range rows {
		name := r.category.String()
		for _, e := range r.evidence[:min(len(r.evidence), maxEvidence)] {
			t.row(name, units.Bytes(e.bytes), e.confidence(), units.Ellipsis(e.text, max(u.width-44, 24)))
			name = ""
		}
		if more := len(r.evidence) - maxEvidence; more > 0 {
			t.row("", "", "", ellipsis+" "+strconv.Itoa(more)+" more")
		}
	}
	return "\n" + t.String()
}

// maxSteps is how many steps are printed.
const maxSteps = 8

// phasesText says in which phase the peak is, and how high each step went.
func (u *ui) phasesText(a deviceCategories) string {
	var b strings.Builder
	if phase, ok := a.PhaseAt(a.Timeline.Peak.Event); ok && hasHistory(a.Timeline) {
		fmt.Fprintf(&b, "the peak, %s, is in %s (%s)\n", units.Bytes(a.Timeline.Peak.Bytes), phaseText(phase),
			eventText(a.Timeline, a.Timeline.Peak.Event, a.Timeline.Peak.Time))
	}
	if len(a.Steps) < 2 {
		return b.String()
	}
	shown := min(len(a.Steps), maxSteps)
	for _, s := range a.Steps[:shown] {
		fmt.Fprintf(&b, "step %d: peak %s in %s\n", s.Number, units.Bytes(s.Peak.Bytes), s.PeakPhase)
	}
	if more := len(a.Steps) - shown; more > 0 {
		fmt.Fprintf(&b, "%s %s\n", ellipsis, plural(more, "more step"))
	}
	return b.String()
}

func phaseText(p attribution.Phase) string {
	if p.Kind == attribution.Setup {
		return "the setup"
	}
	return p.Name
}

func (u *ui) blocksText(a deviceCategories, o *categoriesOptions) string {
	t := newTable(right, right, left, right, left)
	t.header("address", "requested", "category", "confidence", "evidence")
	for _, i := range a.largest(o, false) {
		b, l := &a.Timeline.Allocations[i], &a.Labels[i]
		t.row(fmt.Sprintf("%#x", b.Addr), units.Bytes(b.Requested), l.Category.String(),
			strconv.FormatFloat(float64(l.Confidence), 'f', 2, 32), l.Evidence)
	}
	return t.String()
}
