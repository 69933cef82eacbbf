package budget

import "strings"

// Gates are the content of a budget file: what captures are held to.
type Gates struct {
	File     string   // the name of the file, for messages
	Baseline string   // path of a baseline, relative to the file; "" for none
	Files    []string // captures to judge when none are named, as patterns relative to the file
	Gates    []Gate
}

// GateKind is what a gate is about.
type GateKind uint8

const (
	OnStat     GateKind = iota // a number of the capture, see StatNames
	OnCategory                 // bytes of a category
	OnLine                     // bytes of a line of code
	OnFunction                 // bytes of a function
	OnFile                     // bytes of a source file
	OnFinding                  // bytes of a finding
)

// gateKinds are the keys that say what a gate is about.
var gateKinds = [...]string{"stat", "category", "line", "function", "file", "finding"}

func (k GateKind) String() string { return gateKinds[k] }

// AnyOf is the subject that stands for each category, line, function, file or
// finding on its own.
const AnyOf = "any"

// A Gate holds one subject to its limits. Bytes of categories, lines, functions
// and files are requested bytes at a moment.
type Gate struct {
	Name  string // of its own, or what the gate is about
	Owner string // whom to ask, "" for nobody
	Note  string
	Line  int // in the file; 0 for a gate that is not in one

	Kind    GateKind
	Subject string // a name, a pattern with *, or AnyOf
	At      string // "peak" or "end"; "" for a stat or a finding
	Of      string // the stat that percentages of Max and Min are a part of; "" for none

	Max, Min             *Amount
	MaxGrowth, MinGrowth *Amount  // against the baseline
	IgnoreBelow          int64    // growth of less than this never exceeds
	Allow                []string // words, of a stat that is one
	Forbid               bool     // a finding must not be there

	Except  []string // of AnyOf or a pattern: what is not meant
	Devices []string // nil for all
	Files   []string // captures that are meant, as patterns; nil for all

	Warn     bool // exceeding is told and does not fail
	Optional bool // what cannot be judged is skipped

	implied bool // nobody wrote it: left out of the report where it is about nothing
	lenient bool // what the baseline does not know either is skipped
}

// unit is what the gate's subject counts.
func (g *Gate) unit() gateUnit {
	if g.Kind != OnStat {
		return unitBytes
	}
	s, _ := findStat(g.Subject)
	return s.unit
}

// title is the name of a gate that has none: what it is about.
func (g *Gate) title() string {
	text := g.Subject
	switch g.Kind {
	case OnStat:
		s, _ := findStat(g.Subject)
		text = s.title
	case OnFinding:
		text = "finding " + text
		if g.Subject == AnyOf {
			text = "any finding"
		}
	default:
		if g.Subject == AnyOf {
			text = "any " + g.Kind.String()
		}
		text += " at the " + g.At
	}
	for _, limit := range [...]struct {
		list []string
		word string
	}{{g.Devices, "device "}, {g.Files, ""}} {
		if len(limit.list) > 0 {
			text += ", " + limit.word + strings.Join(limit.list, ", ")
		}
	}
	return text
}

// OwnName reports whether the gate has a name beyond what it is about.
func (g *Gate) OwnName() bool { return g.Name != g.title() }

// Whole is what percentages are of, in words; "" for nothing.
func (g *Gate) Whole() string {
	s, _ := findStat(g.Of)
	return s.title
}

// Unit names what the gate's subject counts: "bytes", "count", "share" or "word".
func (g *Gate) Unit() string { return [...]string{"bytes", "count", "share", "word"}[g.unit()] }

// each reports whether the gate may stand for several subjects.
func (g *Gate) each() bool { return g.Subject == AnyOf || strings.Contains(g.Subject, "*") }

// grows reports whether the gate needs a baseline.
func (g *Gate) grows() bool { return g.MaxGrowth != nil || g.MinGrowth != nil }

// wildcard matches text with a pattern in which * stands for any text.
func wildcard(pattern, text string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, head)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, last)
}

// matchPath matches a path with a pattern for its last elements: "model.py"
// matches "/home/me/model.py" and not "/home/me/mymodel.py".
func matchPath(pattern, path string) bool {
	path, pattern = slashed(path), slashed(pattern)
	return wildcard(pattern, path) || wildcard("*/"+strings.TrimPrefix(pattern, "/"), path)
}

func slashed(path string) string { return strings.ReplaceAll(path, `\`, "/") }
