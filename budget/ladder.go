package budget

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Ladder is what to change, one thing after the other, until a configuration fits.
type Ladder struct {
	Row   int // of PlanResult.Rows
	From  int64
	Goal  int64 // what it may need with the margin
	Steps []LadderStep
	Fits  bool // some step reached the goal, or nothing was needed
	// Reserve: it fits without any step, and these are for when it does not.
	Reserve bool
}

// A LadderStep is one change, on top of those before it that were taken.
type LadderStep struct {
	Name    string
	Change  string // the settings
	Cost    string // what it costs beside memory
	Need    int64  // with it
	Frees   int64  // of what is needed, beyond the steps before; negative when it needs more
	Peak    int64
	Taken   bool   // a step that frees nothing is left out of what follows
	Fits    bool   // with the margin
	Unknown string // why it cannot be worked out
}

// A rung is a usual step: what to change of a configuration, nil for nothing.
type rung struct {
	name, cost string
	change     func(planPlace) []PlanSetting
}

// ruleOfThumb is what recomputing the forward costs: it is about a third of a step,
// whose backward is two thirds.
const ruleOfThumb = "recomputes the forward: about +1/3 compute (rule of thumb)"

// rungs are the usual steps, what costs least first.
var rungs = []rung{
	{"fused attention", "the same result to rounding; usually faster", func(p planPlace) []PlanSetting {
		if w := p.word(keyAttention); w == "" || fusedAttention(w) {
			return nil
		}
		return change(p, keyAttention, "sdpa", fusedAttention)
	}},
	{"ZeRO 1: divide the optimizer's state", "about the same communication as data parallel", zero(1)},
	{"ZeRO 2: divide the gradients too", "about the same communication as data parallel", zero(2)},
	{"checkpointing", ruleOfThumb, func(p planPlace) []PlanSetting {
		if checkpointOf(p.word(keyCheckpoint)) != noCheckpoint {
			return nil
		}
		return change(p, keyCheckpoint, "full", func(w string) bool { return checkpointOf(w) == fullCheckpoint })
	}},
	{"ZeRO 3: divide the parameters too", "about 1.5 times the communication of data parallel", zero(3)},
	{"half the batch, accumulated", "the same tokens in a step; smaller products use a GPU less well", halfBatch(2)},
	{"a quarter of the batch, accumulated", "as half the batch, further", halfBatch(2)},
	{"8-bit optimizer", "states are rounded: compare the loss", func(p planPlace) []PlanSetting {
		w := strings.ToLower(p.word(keyOptimizer))
		if !strings.HasPrefix(w, "adam") || strings.Contains(w, "8") {
			return nil
		}
		return change(p, keyOptimizer, "adamw8bit", func(w string) bool { return strings.Contains(w, "8") })
	}},
	{"16-bit autocast", "activations are rounded: compare the loss", func(p planPlace) []PlanSetting {
		if precisionOf(p.word(keyPrecision)) != fullPrecision {
			return nil
		}
		return change(p, keyPrecision, "bf16-amp", func(w string) bool { return precisionOf(w) == mixedPrecision })
	}},
	{"optimizer's state on the host", "each step waits for the host; needs its memory", func(p planPlace) []PlanSetting {
		if p.word("offload") != string(NoOffload) {
			return nil
		}
		return []PlanSetting{{Key: "offload", Value: string(OffloadOptimizer)}}
	}},
}

// change sets a word: that of the settings, or the one of a fitted model that means
// the same.
func change(p planPlace, key, value string, means func(string) bool) []PlanSetting {
	m, fitted := p.(*modelPlace)
	if !fitted {
		return []PlanSetting{{Key: key, Value: value}}
	}
	for _, k := range m.m.keys {
		if k.Name != key {
			continue
		}
		if i := slices.IndexFunc(k.Words, means); i >= 0 {
			return []PlanSetting{{Key: key, Value: k.Words[i]}}
		}
	}
	return nil
}

func zero(stage int64) func(planPlace) []PlanSetting {
	return func(p planPlace) []PlanSetting {
		if p.number("replicas") < 2 || p.number("zero") >= stage {
			return nil
		}
		return []PlanSetting{{Key: "zero", Value: strconv.FormatInt(stage, 10)}}
	}
}

func halfBatch(by int64) func(planPlace) []PlanSetting {
	return func(p planPlace) []PlanSetting {
		b := p.number(keyBatch)
		if b < by || b%by != 0 {
			return nil
		}
		out := []PlanSetting{{Key: keyBatch, Value: strconv.FormatInt(b/by, 10)}}
		if _, fitted := p.(*modelPlace); !fitted {
			out = append(out, PlanSetting{Key: "accumulation", Value: strconv.FormatInt(p.number("accumulation")*by, 10)})
		}
		return out
	}
}

// ladders are for the promised row, and for each card on which the first
// configuration does not fit.
func (r *PlanResult) ladders() {
	var rows []int
	if r.Promised >= 0 {
		rows = append(rows, r.Promised)
	}
	for i := range r.Rows {
		if r.Rows[i].configuration == 0 && r.Rows[i].Fit != Fits && i != r.Promised {
			rows = append(rows, i)
		}
	}
	for _, i := range rows {
		r.Ladders = append(r.Ladders, r.ladder(i))
	}
}

func (r *PlanResult) ladder(i int) Ladder {
	row := &r.Rows[i]
	l := Ladder{Row: i, From: row.Need, Goal: int64(float64(row.Card) * (1 - r.Plan.Margin)), Reserve: row.Fit == Fits, Fits: row.Fit == Fits}
	place, need := row.place, row.Need
	for _, s := range r.steps() {
		set := s.change(place)
		if set == nil {
			continue
		}
		step := LadderStep{Name: s.name, Cost: s.cost, Change: settingText(set)}
		next, err := place.with(set)
		var m planMemory
		if err == nil {
			m, err = next.memory(variation{})
		}
		if err != nil {
			step.Unknown = err.Error()
			l.Steps = append(l.Steps, step)
			continue
		}
		step.Peak = m.Peak
		step.Need = r.Plan.reservedOf(&m) + row.Overhead
		step.Frees = need - step.Need
		step.Taken = step.Frees > 0
		step.Fits = step.Need <= l.Goal
		l.Steps = append(l.Steps, step)
		if !step.Taken {
			continue
		}
		place, need = next, step.Need
		if step.Fits && !l.Reserve {
			l.Fits = true
			break
		}
	}
	return l
}

// reservedOf is the reserved memory as rows count it.
func (p *Plan) reservedOf(m *planMemory) int64 {
	f := p.Vary.Fragmentation
	switch {
	case f != nil:
		return int64(float64(m.Peak) * f.middle())
	case !m.fragmentationKnown():
		middle := Span{Low: fragmentationLow, High: fragmentationHigh}
		return int64(float64(m.Peak) * middle.middle())
	}
	return m.Reserved
}

// steps are the plan's own, or the usual ones.
func (r *PlanResult) steps() []rung {
	if len(r.Plan.Ladder) == 0 {
		return rungs
	}
	var out []rung
	for _, s := range r.Plan.Ladder {
		out = append(out, rung{s.Name, "", func(planPlace) []PlanSetting { return s.Set }})
	}
	return out
}

func settingText(set []PlanSetting) string {
	var parts []string
	for _, s := range set {
		parts = append(parts, fmt.Sprintf("%s=%s", s.Key, s.Value))
	}
	return strings.Join(parts, " ")
}
