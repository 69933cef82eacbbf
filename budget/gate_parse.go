package budget

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// gatesVersion is the version of the budget file that this code reads.
const gatesVersion = "1"

// ParseGates reads a budget file, which is YAML; name is for messages. Errors
// name the line of the first thing that is wrong.
func ParseGates(name string, data []byte) (*Gates, error) {
	root, err := parseFile(name, data)
	if err != nil {
		return nil, err
	}
	f, err := root.fields("a budget")
	if err != nil {
		return nil, err
	}
	out := &Gates{File: name}
	read(f, "version", new(string), knownVersion(gatesVersion))
	read(f, "baseline", &out.Baseline, filled)
	read(f, "files", &out.Files, filledList)
	var gates []node
	read(f, "gates", &gates, node.list)
	if err := f.done(); err != nil {
		return nil, err
	}
	if len(gates) == 0 {
		return nil, root.errorf("no gates: list at least one under the key gates")
	}
	for i, n := range gates {
		g, err := parseGate(n, fmt.Sprintf("gate %d", i+1))
		if err != nil {
			return nil, err
		}
		out.Gates = append(out.Gates, *g)
	}
	return out, distinctNames(out)
}

// distinctNames makes sure that a name stands for one gate. Names that were not
// given get a number.
func distinctNames(gates *Gates) error {
	lines := map[string]int{}
	for i := range gates.Gates {
		g := &gates.Gates[i]
		if first, twice := lines[g.Name]; twice && g.Name != "" {
			return &FileError{gates.File, g.Line, fmt.Errorf("name: %q is the name of the gate on line %d too", units.Ellipsis(g.Name, 60), first)}
		}
		lines[g.Name] = g.Line
	}
	for i := range gates.Gates {
		g := &gates.Gates[i]
		if g.Name != "" {
			continue
		}
		g.Name = g.title()
		for n := 2; lines[g.Name] != 0; n++ {
			g.Name = g.title() + " #" + strconv.Itoa(n)
		}
		lines[g.Name] = g.Line
	}
	return nil
}

func knownVersion(want string) func(node) (string, error) {
	return func(n node) (string, error) {
		text, err := n.text()
		if err == nil && text != want {
			err = n.errorf("%s is not a version this program reads, which is %s", n.kind(), want)
		}
		return text, err
	}
}

// filled reads text that says something.
func filled(n node) (string, error) {
	text, err := n.text()
	if err == nil && strings.TrimSpace(text) == "" {
		err = n.errorf("is empty")
	}
	return strings.TrimSpace(text), err
}

// filledList reads a list of such texts, or one of them.
func filledList(n node) ([]string, error) {
	items, err := n.list()
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, n.errorf("is an empty list")
	}
	list := make([]string, len(items))
	for i, item := range items {
		if list[i], err = filled(item); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// oneOf reads one of a few words.
func oneOf(words ...string) func(node) (string, error) {
	return func(n node) (string, error) {
		text, err := n.text()
		if err == nil && !slices.Contains(words, text) {
			err = n.errorf("%s is not %s", n.kind(), orList(words))
		}
		return text, err
	}
}

// orList joins words: "a, b or c".
func orList(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// A gateParser reads one gate. What it may hold depends on its subject.
type gateParser struct {
	*fields
	gate *Gate
}

func parseGate(n node, what string) (*Gate, error) {
	f, err := n.fields(what)
	if err != nil {
		return nil, err
	}
	p := gateParser{f, &Gate{Line: n.yaml.Line}}
	if err := p.subject(); err != nil {
		return nil, err
	}
	g := p.gate
	read(f, "name", &g.Name, filled)
	read(f, "owner", &g.Owner, filled)
	read(f, "note", &g.Note, filled)
	read(f, "device", &g.Devices, deviceList)
	read(f, "files", &g.Files, filledList)
	severity := "fail"
	read(f, "severity", &severity, oneOf("fail", "warn"))
	g.Warn = severity == "warn"
	read(f, "optional", &g.Optional, node.flag)
	p.moment()
	p.exceptions()
	p.limits()
	if err := f.done(); err != nil {
		return nil, err
	}
	return g, p.check()
}

// subject reads the one key that says what the gate is about.
func (p *gateParser) subject() error {
	var found []string
	for k, key := range gateKinds {
		n, ok := p.take(key)
		if !ok {
			continue
		}
		found = append(found, key)
		p.gate.Kind = GateKind(k)
		subject, err := p.gate.Kind.subject(n)
		if err != nil {
			return underKey(key, err)
		}
		p.gate.Subject = subject
	}
	switch len(found) {
	case 0:
		if err := p.mistyped(); err != nil {
			return err
		}
		return p.errorf("%s says nothing about what it judges: add %s", p.what, orList(gateKinds[:]))
	case 1:
		return nil
	}
	return p.errorf("%s is about %s: make each a gate of its own", p.what, strings.Join(found, " and "))
}

// mistyped is the error of a key that looks like a subject's.
func (p *gateParser) mistyped() error {
	for _, key := range p.keys {
		if near, ok := nearest(key.yaml.Value, gateKinds[:]); ok {
			return key.errorf("%s: unknown key of %s; did you mean %s", quoteKey(key.yaml.Value), p.what, near)
		}
	}
	return nil
}

// subject checks what a gate of a kind is said to be about.
func (k GateKind) subject(n node) (string, error) {
	text, err := filled(n)
	if err != nil {
		return "", err
	}
	switch {
	case k == OnStat:
		return known(n, text, "number", StatNames())
	case text == AnyOf:
	case k == OnCategory:
		return known(n, text, "category", categoryNames())
	case k == OnFinding:
		return known(n, text, "finding", attribution.FindingIDs())
	case k == OnLine:
		return text, checkLine(n, text)
	}
	return text, nil
}

// known checks a name against those that there are.
func known(n node, name, what string, names []string) (string, error) {
	if slices.Contains(names, name) {
		return name, nil
	}
	hint := "there are " + strings.Join(names, ", ")
	if near, ok := nearest(name, names); ok {
		hint = "did you mean " + near
	}
	return "", n.errorf("%s is no %s; %s", n.kind(), what, hint)
}

func categoryNames() []string {
	var names []string
	for _, c := range attribution.Categories() {
		names = append(names, c.String())
	}
	return names
}

// checkLine makes sure that a line is one: FILE:LINE, or what snapview prints for memory
// without a line, in parentheses.
func checkLine(n node, text string) error {
	if strings.HasPrefix(text, "(") {
		return nil
	}
	i := strings.LastIndexByte(text, ':')
	if i > 0 {
		if line, err := strconv.Atoi(text[i+1:]); text[i+1:] == "*" || err == nil && line > 0 {
			return nil
		}
	}
	return n.errorf("%s names no line; write it like model.py:19, or use file or function", n.kind())
}

// deviceList reads devices, nil for all.
func deviceList(n node) ([]string, error) {
	list, err := filledList(n)
	if err != nil {
		return nil, err
	}
	if len(list) == 1 && list[0] == "all" {
		return nil, nil
	}
	for _, d := range list {
		if i, err := strconv.Atoi(d); d != "cpu" && (err != nil || i < 0 || strconv.Itoa(i) != d) {
			return nil, n.errorf("%q is not the index of a device, cpu or all", units.Ellipsis(d, 40))
		}
	}
	return list, nil
}

func (p *gateParser) moment() {
	g := p.gate
	if g.Kind == OnStat || g.Kind == OnFinding {
		if n, ok := p.values["at"]; ok {
			p.take("at")
			p.fail(n.errorf("at: a %s has no moment of its own; stats are named with it, such as peak.reserved_bytes", g.Kind))
		}
		return
	}
	g.At = atPeak
	read(p.fields, "at", &g.At, oneOf(atPeak, atEnd))
}

// exceptions reads what a gate on many subjects leaves out.
func (p *gateParser) exceptions() {
	g := p.gate
	read(p.fields, "except", &g.Except, func(n node) ([]string, error) {
		if !g.each() {
			return nil, n.errorf("only a gate on any %s, or on a pattern with *, has exceptions", g.Kind)
		}
		items, err := n.list()
		if err != nil {
			return nil, err
		}
		list := make([]string, len(items))
		for i, item := range items {
			if list[i], err = g.Kind.subject(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	})
}

// limits reads the limits that the gate's subject can have.
func (p *gateParser) limits() {
	g, unit := p.gate, p.gate.unit()
	if unit == unitWord {
		read(p.fields, "allow", &g.Allow, filledList)
		return
	}
	read(p.fields, "max", &g.Max, amount(unit, false))
	if g.Kind == OnFinding {
		g.Forbid = g.Max == nil
		return
	}
	read(p.fields, "min", &g.Min, amount(unit, false))
	read(p.fields, "of", &g.Of, func(n node) (string, error) {
		text, err := filled(n)
		if err != nil {
			return "", err
		}
		if s, ok := findStat(text); ok && s.unit != unitBytes {
			return "", n.errorf("%s is not a number of bytes, so nothing is a part of it", text)
		}
		return known(n, text, "number", StatNames())
	})
	if unit == unitShare {
		return
	}
	read(p.fields, "max_growth", &g.MaxGrowth, amount(unit, true))
	read(p.fields, "min_growth", &g.MinGrowth, amount(unit, true))
	var below *Amount
	read(p.fields, "ignore_below", &below, amount(unit, false))
	if below != nil {
		g.IgnoreBelow = below.Value
		if below.IsPercent {
			p.fail(p.values["ignore_below"].errorf("ignore_below: a percentage where a size belongs; max_growth takes the percentage"))
		}
	}
}

// check tells what of a gate does not make sense together.
func (p *gateParser) check() error {
	g, unit := p.gate, p.gate.unit()
	under := func(key, format string, args ...any) error {
		return underKey(key, p.values[key].errorf(format, args...))
	}
	has := func(key string) bool { _, ok := p.values[key]; return ok }
	percent := func(a *Amount) bool { return a != nil && a.IsPercent && unit != unitShare }
	switch {
	case unit == unitWord && len(g.Allow) == 0:
		return p.errorf("%s has no limit: list the words that pass under allow", p.what)
	case unit != unitWord && !g.Forbid && g.Max == nil && g.Min == nil && !g.grows():
		return p.errorf("%s has no limit: add max, min, max_growth or min_growth", p.what)
	case percent(g.Max) && g.Kind == OnFinding:
		return under("max", "a finding takes a size, not %s", g.Max)
	case percent(g.Max) && g.Of == "":
		return under("max", "%s of what? say so with of, such as of: peak.reserved_bytes; against the baseline it is max_growth", g.Max)
	case percent(g.Min) && g.Of == "":
		return under("min", "%s of what? say so with of, such as of: peak.reserved_bytes; against the baseline it is min_growth", g.Min)
	case g.Of != "" && !percent(g.Max) && !percent(g.Min):
		return under("of", "neither max nor min is a percentage of it")
	case g.Max != nil && g.Min != nil && inverted(g.Min, g.Max):
		return under("min", "%s is more than max, which is %s", g.Min, g.Max)
	case g.MaxGrowth != nil && g.MinGrowth != nil && inverted(g.MinGrowth, g.MaxGrowth):
		return under("min_growth", "%s is more than max_growth, which is %s", g.MinGrowth, g.MaxGrowth)
	case has("ignore_below") && g.MaxGrowth == nil:
		return under("ignore_below", "there is no max_growth that it could be about")
	}
	return nil
}

// inverted reports whether two limits of one form are the wrong way round.
func inverted(low, high *Amount) bool {
	return low.IsPercent == high.IsPercent && (low.Value > high.Value || low.Percent > high.Percent)
}
