package budget

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// A GateChecker judges captures one after the other, so that they need not be in
// memory together.
type GateChecker struct {
	baseline *Baseline // nil for none
	alone    bool      // there is one capture
	report   GateReport
	seen     seenCaptures
}

// seenCaptures is what there was to judge, for the gates that match none of it.
type seenCaptures struct{ files, devices, kinds []string }

// NewGateChecker prepares to hold captures to gates; baseline may be nil.
// captures is how many there will be.
func NewGateChecker(gates []Gate, baseline *Baseline, captures int) *GateChecker {
	k := &GateChecker{baseline: baseline, alone: captures == 1}
	for i := range gates {
		k.report.Gates = append(k.report.Gates, GateResult{Gate: &gates[i]})
	}
	return k
}

// Fail notes a capture that could not be read.
func (k *GateChecker) Fail(file string, err error) {
	k.report.Files = append(k.report.Files, GateFileResult{Name: file, Err: err})
}

// Add judges a capture.
func (k *GateChecker) Add(c *Capture) {
	k.report.Files = append(k.report.Files, GateFileResult{Name: c.File, Kind: c.Kind, Notes: c.Notes})
	k.seen.files = append(k.seen.files, c.File)
	k.seen.kinds = append(k.seen.kinds, c.Kind)
	for _, d := range c.Devices {
		k.seen.devices = append(k.seen.devices, d.ID)
		view := k.view(c, d)
		for i := range k.report.Gates {
			r := &k.report.Gates[i]
			if r.Gate.means(c.File, d.ID) {
				view.judge(r)
			}
		}
		if view.growth != nil {
			k.report.Growth = append(k.report.Growth, *view.growth)
		}
	}
}

// means reports whether a gate is about a device of a capture.
func (g *Gate) means(file, device string) bool {
	return (g.Devices == nil || slices.Contains(g.Devices, device)) &&
		(g.Files == nil || slices.ContainsFunc(g.Files, func(p string) bool { return matchPath(p, file) }))
}

// Report ends the check.
func (k *GateChecker) Report() *GateReport {
	gates := k.report.Gates[:0]
	for _, r := range k.report.Gates {
		if r.Total == 0 {
			if r.Gate.implied {
				continue
			}
			r.Status, r.Why = GateNoMatch, k.seen.why(&r)
			if r.Gate.Optional {
				r.Status = GateSkipped
			}
		}
		gates = append(gates, r)
	}
	k.report.Gates = gates
	return &k.report
}

// why says why a gate was about nothing.
func (s *seenCaptures) why(r *GateResult) string {
	g := r.Gate
	switch {
	case len(s.files) == 0:
		return "no capture could be read"
	case !slices.ContainsFunc(s.files, func(f string) bool {
		return g.Files == nil || slices.ContainsFunc(g.Files, func(p string) bool { return matchPath(p, f) })
	}):
		return "files: no capture is called " + orList(g.Files)
	case len(s.devices) == 0:
		return "no capture has a device that held memory"
	case !slices.ContainsFunc(s.devices, func(d string) bool { return g.Devices == nil || slices.Contains(g.Devices, d) }):
		return "device: no capture has device " + orList(g.Devices) + "; there are " + strings.Join(distinct(s.devices), ", ")
	case g.Kind == OnStat || g.Kind == OnFinding:
		return "a " + orList(distinct(s.kinds)) + " has no " + g.Subject
	}
	text := fmt.Sprintf("no %s %s held memory at the %s", g.Kind, g.Subject, g.At)
	if g.Subject == AnyOf {
		text = fmt.Sprintf("no %s held memory at the %s", g.Kind, g.At)
	}
	if r.nearest != "" {
		text += "; there is " + r.nearest
	}
	return text
}

func distinct(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// A deviceView is one device of a capture beside its baseline.
type deviceView struct {
	capture *Capture
	device  *CaptureDevice
	before  *BaselineDevice // nil when there is none
	noBase  string          // why
	growth  *Growth         // nil without a baseline, or when lines cannot be compared
}

func (k *GateChecker) view(c *Capture, d *CaptureDevice) *deviceView {
	v := &deviceView{capture: c, device: d, noBase: "there is no baseline: name one with --baseline, or under baseline in the budget"}
	if k.baseline != nil {
		run, err := k.baseline.run(c.File, c.Kind, k.alone)
		if err == nil {
			v.before, err = run.device(d.ID, len(c.Devices) == 1)
		}
		if err != nil {
			v.noBase = err.Error()
		}
		if v.before != nil {
			v.noBase = ""
			if v.growth = v.before.compare(d); v.growth != nil {
				v.growth.Capture, v.growth.Run = c.File, run.Name
			}
		}
	}
	return v
}

// judge adds the checks of a gate on the device to its result.
func (v *deviceView) judge(r *GateResult) {
	subjects, why := v.subjects(r)
	for _, s := range subjects {
		for _, c := range v.checks(r.Gate, s) {
			c.Capture, c.Device, c.Subject, c.Place = v.capture.File, v.device.ID, s.label, s.place
			v.settle(r.Gate, &c, s)
			r.add(c)
		}
	}
	if why != "" {
		c := GateCheck{Capture: v.capture.File, Device: v.device.ID, Status: GateUnjudged, Why: why, Value: missing(why)}
		v.settle(r.Gate, &c, gateSubject{})
		r.add(c)
	}
}

// settle turns a status into the one that the gate's severity asks for, and
// explains what is exceeded.
func (v *deviceView) settle(g *Gate, c *GateCheck, s gateSubject) {
	switch {
	case c.Status == GateUnjudged && (g.Optional || g.lenient && v.before != nil && !v.before.knows(g)):
		c.Status = GateSkipped
	case c.Status == GateExceeded:
		c.Lines = v.explain(g, s)
		if s.finding != nil {
			c.Why = findingText(s.finding)
		}
		if g.Warn {
			c.Status = GateWarned
		}
	}
}

// checks applies every limit of a gate to a subject.
func (v *deviceView) checks(g *Gate, s gateSubject) []GateCheck {
	if g.unit() == unitWord {
		c := GateCheck{Rule: RuleAllow, Word: s.word}
		switch {
		case slices.Contains(g.Allow, s.word):
		case s.unsure != "":
			c.Status, c.Why = GateUnjudged, s.unsure
		default:
			c.Status = GateExceeded
		}
		return []GateCheck{c}
	}
	if g.Forbid {
		c := GateCheck{Rule: RuleForbid, Value: s.value}
		if s.found {
			c.Status = GateExceeded
		}
		return []GateCheck{c}
	}
	var out []GateCheck
	for _, limit := range []struct {
		rule   GateRule
		amount *Amount
	}{{RuleMax, g.Max}, {RuleMin, g.Min}, {RuleMaxGrowth, g.MaxGrowth}, {RuleMinGrowth, g.MinGrowth}} {
		if limit.amount != nil {
			out = append(out, v.check(g, s, limit.rule, limit.amount))
		}
	}
	return out
}

// check applies one limit to a subject.
func (v *deviceView) check(g *Gate, s gateSubject, rule GateRule, a *Amount) GateCheck {
	c := GateCheck{Rule: rule, Value: s.value}
	unjudged := func(why string) GateCheck {
		c.Status, c.Why = GateUnjudged, why
		return c
	}
	if s.value.Missing != "" {
		return unjudged(s.value.Missing)
	}
	switch {
	case rule == RuleMaxGrowth || rule == RuleMinGrowth:
		if s.noBefore != "" {
			return unjudged(s.noBefore)
		}
		c.Before, c.AtMost, c.HasBefore = s.before, s.beforeAtMost, true
		c.Limit = exactly(addCapped(s.before, a.of(s.before)))
		if rule == RuleMaxGrowth {
			c.Limit.Value = max(c.Limit.Value, addCapped(s.before, g.IgnoreBelow))
		}
	case s.value.Whole > 0: // a share
		c.Limit = Number{Value: a.of(s.value.Whole), Whole: s.value.Whole}
	case a.IsPercent:
		whole, ok := v.device.source.number(g.Of)
		if !ok {
			return unjudged(fmt.Sprintf("a %s has no %s", v.capture.Kind, g.Of))
		}
		if whole.Missing != "" {
			return unjudged(whole.Missing)
		}
		c.Limit = exactly(a.of(whole.Value))
	default:
		c.Limit = exactly(a.Value)
	}
	switch {
	case rule.Lower() && c.Value.Value < c.Limit.Value && c.Value.AtLeast:
		return unjudged("the file proves less than the limit, and there may have been more")
	case rule.Lower() && c.Value.Value < c.Limit.Value, !rule.Lower() && c.Value.Value > c.Limit.Value:
		c.Status = GateExceeded
	}
	return c
}

// findingText is what a finding says, most of it about which line, and what to do.
func findingText(f *attribution.Finding) string {
	place := GatePlace{File: f.File, Function: f.Function, Line: f.Line}
	return fmt.Sprintf("%s, mostly %s. %s", f.Title, place, f.Do)
}

// addCapped adds without overflow; n is not negative.
func addCapped(n, more int64) int64 {
	if sum := n + more; sum >= n || more < 0 {
		return sum
	}
	return 1<<63 - 1
}

// explain names the lines behind an exceeded check: those that grew in what the
// gate is about, or without a baseline those that hold most of it.
func (v *deviceView) explain(g *Gate, s gateSubject) []GateLine {
	moment := g.At
	if g.Kind == OnStat {
		stat, _ := findStat(g.Subject)
		moment = stat.moment
	}
	if x, ok := v.device.source.(*leakSource); ok && moment == "steps" {
		return x.suspects()
	}
	if moment == "" || g.Kind == OnLine || g.Kind == OnFinding {
		return nil
	}
	if v.growth != nil && v.growth.Moment == moment {
		if lines := grownLines(v.growth.Rows, s); len(lines) > 0 {
			return lines
		}
	}
	places, missing := v.device.source.places(moment)
	if missing != "" {
		return nil
	}
	return holdingLines(places, s)
}

// shownLines is how many lines explain a check.
const shownLines = 3

// grownLines are the lines that grew most within a subject.
func grownLines(rows []attribution.DiffRow, s gateSubject) []GateLine {
	var lines []GateLine
	for i := range rows {
		r := &rows[i]
		held, delta := r.After, r.Delta
		if s.category >= 0 {
			held, delta = 0, 0
			for _, m := range r.Mix {
				if int(m.Category) == s.category {
					held, delta = m.After, m.Delta
				}
			}
		}
		if delta > 0 && s.holds(r.File, r.Function) {
			lines = append(lines, GateLine{GatePlace{r.File, r.Function, r.Line, r.MovedFrom}, rowCategory(r, s), held, delta, true, r.Status == attribution.New})
		}
	}
	slices.SortStableFunc(lines, func(a, b GateLine) int { return int(min(max(b.Delta-a.Delta, -1), 1)) })
	return lines[:min(len(lines), shownLines)]
}

// rowCategory is the category that a row's change is of; "" when the file does
// not divide lines into categories.
func rowCategory(r *attribution.DiffRow, s gateSubject) string {
	if s.category >= 0 {
		return attribution.Category(s.category).String()
	}
	if r.Category == attribution.Unknown {
		return ""
	}
	return r.Category.String()
}

// holdingLines are the lines that hold most within a subject.
func holdingLines(places []attribution.Place, s gateSubject) []GateLine {
	var lines []GateLine
	for _, p := range places {
		bytes := p.Totals.Sum()
		if s.category >= 0 {
			bytes = p.Totals[s.category]
		}
		if bytes > 0 && s.holds(p.File, p.Function) {
			lines = append(lines, GateLine{GatePlace: GatePlace{File: p.File, Function: p.Function, Line: p.Line}, Bytes: bytes})
		}
	}
	slices.SortStableFunc(lines, func(a, b GateLine) int { return int(min(max(b.Bytes-a.Bytes, -1), 1)) })
	return lines[:min(len(lines), shownLines)]
}

// ShareText prints a share: "12.5%".
func ShareText(n Number) string { return units.Percent(n.Value, n.Whole) }
