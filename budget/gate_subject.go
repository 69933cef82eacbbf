package budget

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// A gateSubject is one thing that a gate judges on a device.
type gateSubject struct {
	label  string // which of several; "" when the gate is about one
	value  Number
	word   string
	unsure string // why the word is no answer

	before       int64 // in the baseline
	beforeAtMost bool
	noBefore     string // why it is not known

	finding *attribution.Finding
	found   bool // the finding is there

	category int        // −1 for all
	place    *GatePlace // nil for all
}

// holds reports whether a line belongs to the subject.
func (s *gateSubject) holds(file, function string) bool {
	return s.place == nil || s.place.File == file && (s.place.Function == "" || s.place.Function == function)
}

// subjects are what a gate is about on the device, or why that is not known.
// None and no reason: nothing there is meant.
func (v *deviceView) subjects(r *GateResult) ([]gateSubject, string) {
	switch g := r.Gate; g.Kind {
	case OnStat:
		return v.statSubject(g), ""
	case OnCategory:
		return v.categorySubjects(g)
	case OnFinding:
		return v.findingSubjects(g), ""
	default:
		return v.placeSubjects(r)
	}
}

func (v *deviceView) statSubject(g *Gate) []gateSubject {
	s := gateSubject{category: -1, noBefore: v.noBase}
	if g.unit() == unitWord {
		var ok bool
		if s.word, s.unsure, ok = v.device.source.word(g.Subject); !ok {
			return nil
		}
		return []gateSubject{s}
	}
	number, ok := v.device.source.number(g.Subject)
	if !ok {
		return nil
	}
	s.value = number
	if v.before != nil {
		if s.before, ok = v.before.Numbers[g.Subject]; !ok {
			s.noBefore = "the baseline does not have " + g.Subject + "; --update writes it anew"
		}
	}
	return []gateSubject{s}
}

func (v *deviceView) categorySubjects(g *Gate) ([]gateSubject, string) {
	totals, missing := v.device.source.totals(g.At)
	if missing != "" {
		return nil, missing
	}
	var before attribution.Totals
	noBefore := v.noBase
	if v.before != nil {
		var ok bool
		if before, ok = v.before.Totals[g.At]; !ok {
			noBefore = "the baseline does not have the " + g.At + "; --update writes it anew"
		}
	}
	var out []gateSubject
	for _, c := range attribution.Categories() {
		name := c.String()
		s := gateSubject{value: exactly(totals[c]), before: before[c], noBefore: noBefore, category: int(c)}
		switch {
		case g.Subject == name:
		case g.Subject == AnyOf && !slices.Contains(g.Except, name) && (totals[c] != 0 || before[c] != 0):
			s.label = name
		default:
			continue
		}
		out = append(out, s)
	}
	return out, ""
}

// findingSubjects are the findings that a gate means. One that is not there has
// no bytes: that is what a gate on it hopes for.
func (v *deviceView) findingSubjects(g *Gate) []gateSubject {
	found, ok := v.device.source.findings()
	if !ok {
		return nil
	}
	var out []gateSubject
	for i := range found {
		f := &found[i]
		s := gateSubject{value: exactly(f.Bytes), finding: f, found: true, category: -1}
		switch {
		case g.Subject == f.ID:
		case g.Subject == AnyOf && !f.Info && !slices.Contains(g.Except, f.ID):
			s.label = f.ID
		default:
			continue
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		out = []gateSubject{{category: -1}}
	}
	return out
}

// placeSubjects are the lines, functions or files that a gate means.
func (v *deviceView) placeSubjects(r *GateResult) ([]gateSubject, string) {
	g := r.Gate
	rows, noBefore, missing := v.rows(g.At)
	if missing != "" {
		return nil, missing
	}
	picked := pickRows(g, rows, false)
	if len(picked) == 0 { // the line may have moved since the budget was written
		picked = pickRows(g, rows, true)
	}
	var out []gateSubject
	index := map[GatePlace]int{}
	for _, row := range picked {
		place := placeOf(g.Kind, &row)
		i, ok := index[place]
		if !ok {
			i = len(out)
			index[place] = i
			out = append(out, gateSubject{place: &place, noBefore: noBefore, category: -1})
		}
		out[i].value.Value += row.After
		out[i].before += row.Before
		if g.Kind == OnLine && v.growth != nil && row.Status == attribution.New && noBefore == "" {
			out[i].before, out[i].beforeAtMost = min(v.growth.Unlisted, row.After), v.growth.Unlisted > 0
		}
	}
	if len(out) == 0 && r.nearest == "" {
		r.nearest = nearestRow(g, rows)
	}
	return out, ""
}

// rows are the lines at a moment, with what the baseline has of them.
func (v *deviceView) rows(at string) (rows []attribution.DiffRow, noBefore, missing string) {
	if v.growth != nil && v.growth.Moment == at {
		return v.growth.Rows, "", ""
	}
	noBefore = v.noBase
	if v.before != nil {
		noBefore = fmt.Sprintf("the baseline has lines at the %s only", v.before.Moment)
	}
	places, missing := v.device.source.places(at)
	for _, p := range places {
		bytes := p.Totals.Sum()
		rows = append(rows, attribution.DiffRow{File: p.File, Line: p.Line, Function: p.Function, After: bytes, Delta: bytes, AfterCount: max(p.Count, 1), Status: attribution.New})
	}
	return rows, noBefore, missing
}

// pickRows are the rows that a gate means, with moved by the lines they had in
// the baseline. What is gone counts only for a gate on that one place.
func pickRows(g *Gate, rows []attribution.DiffRow, moved bool) (out []attribution.DiffRow) {
	for _, r := range rows {
		if r.Function == UnlistedRow || r.Status == attribution.Gone && g.each() {
			continue
		}
		line := r.Line
		if moved {
			line = r.MovedFrom
		}
		if meansPlace(g.Kind, g.Subject, &r, line) && !slices.ContainsFunc(g.Except, func(e string) bool { return meansPlace(g.Kind, e, &r, r.Line) }) {
			out = append(out, r)
		}
	}
	return out
}

// meansPlace reports whether a pattern means a row, as if it had this line.
func meansPlace(kind GateKind, pattern string, r *attribution.DiffRow, line int32) bool {
	if pattern == AnyOf {
		return kind != OnFile || r.File != ""
	}
	switch kind {
	case OnLine:
		i := strings.LastIndexByte(pattern, ':')
		if strings.HasPrefix(pattern, "(") || i < 0 {
			return r.File == "" && wildcard(pattern, r.Function)
		}
		return r.File != "" && line != 0 && wildcard(pattern[i+1:], strconv.Itoa(int(line))) && matchPath(pattern[:i], r.File)
	case OnFile:
		return r.File != "" && matchPath(pattern, r.File)
	}
	if file, function, ok := strings.Cut(pattern, ".py:"); ok {
		return r.File != "" && matchPath(file+".py", r.File) && wildcard(function, r.Function)
	}
	return wildcard(pattern, r.Function)
}

// placeOf is the line, function or file that a row belongs to.
func placeOf(kind GateKind, r *attribution.DiffRow) GatePlace {
	switch kind {
	case OnLine:
		return GatePlace{r.File, r.Function, r.Line, r.MovedFrom}
	case OnFunction:
		return GatePlace{File: r.File, Function: r.Function}
	}
	return GatePlace{File: r.File}
}

// String is the place on one line: "model.py:19 forward".
func (p GatePlace) String() string {
	text := units.Safe(p.File)
	if p.Line > 0 {
		text += ":" + strconv.Itoa(int(p.Line))
	}
	return strings.TrimSpace(text + " " + units.Safe(p.Function))
}

// nearestRow says what a gate on a place may have meant: the line of the same
// file, or of any, that holds most.
func nearestRow(g *Gate, rows []attribution.DiffRow) string {
	var best *attribution.DiffRow
	name := g.Subject
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		name = name[:i]
	}
	same := func(r *attribution.DiffRow) bool { return path.Base(slashed(r.File)) == path.Base(slashed(name)) }
	for i := range rows {
		r := &rows[i]
		if r.After > 0 && (best == nil || same(r) && !same(best) || same(r) == same(best) && r.After > best.After) {
			best = r
		}
	}
	if best == nil {
		return ""
	}
	return fmt.Sprintf("%s with %s", GatePlace{best.File, best.Function, best.Line, 0}, units.Bytes(best.After))
}
