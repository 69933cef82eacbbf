package attribution

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// findMoments groups files by what of their names does not say the rank.
func (p *rankPlan) findMoments() {
	byKey := map[string]int{}
	var rests [][]nameToken
	for i := range p.all {
		f := &p.all[i]
		key := f.name.key()
		m, known := byKey[key]
		if !known {
			m = len(rests)
			byKey[key] = m
			rests = append(rests, f.name.rest)
		}
		f.moment = m
	}
	order := make([]int, len(rests))
	for i := range order {
		order[i] = i
	}
	short := differences(rests)
	slices.SortFunc(order, func(a, b int) int { return compareMoments(orderOf(rests[a]), orderOf(rests[b])) })
	place := make([]int, len(rests))
	for to, from := range order {
		place[from] = to
		m := RankMoment{Name: joinTokens(short[from])}
		if len(rests) == 1 {
			m.Name = ""
		}
		p.moments = append(p.moments, m)
		p.tells = append(p.tells, tellsMoment(short[from]))
	}
	for i := range p.all {
		p.all[i].moment = place[p.all[i].moment]
	}
	p.countRanks()
}

// countRanks counts the ranks of each moment; a file that leavesOut holds for is none.
func (p *rankPlan) countRanks() {
	ranks := make([]map[string]bool, len(p.moments))
	leavesOut := p.leavesOut()
	for _, f := range p.all {
		if leavesOut(&f) {
			continue
		}
		if ranks[f.moment] == nil {
			ranks[f.moment] = map[string]bool{}
		}
		id := f.ID.String()
		if !f.ID.known() {
			id = f.Source.Path
		}
		ranks[f.moment][id] = true
	}
	for i := range p.moments {
		p.moments[i].Ranks = len(ranks[i])
	}
}

// leavesOut returns the rule for snapshots of folders that are no rank's: those
// whose name tells no rank while others' names do.
func (p *rankPlan) leavesOut() func(f *rankFile) bool {
	named := slices.ContainsFunc(p.all, func(f rankFile) bool { return f.ID.known() })
	return func(f *rankFile) bool { return named && !f.ID.known() && !f.Source.Named }
}

// momentsAreNodes makes machines of what seemed to be moments.
func (p *rankPlan) momentsAreNodes() {
	for i := range p.all {
		f := &p.all[i]
		f.ID.Node = strings.Trim(p.moments[f.moment].Name+" "+f.ID.Node, " ")
		f.moment = 0
	}
	p.moments, p.tells = []RankMoment{{}}, []bool{true}
	p.countRanks()
}

// choose takes the files of one moment: the one asked for, or of those that
// most ranks have the last.
func (p *rankPlan) choose(at string) error {
	p.countRanks()
	named := slices.ContainsFunc(p.all, func(f rankFile) bool { return f.ID.known() })
	switch {
	case at != "":
		m, err := p.named(at)
		if err != nil {
			return err
		}
		p.chosen = m
	case !named && slices.Contains(p.tells, false) && len(p.moments) > 1:
		p.take(func(rankFile) bool { return true }) // the names may tell machines apart, which only reading shows
		return nil
	default:
		p.chosen = 0
		for i, m := range p.moments {
			if m.Ranks >= p.moments[p.chosen].Ranks {
				p.chosen = i
			}
		}
	}
	leavesOut := p.leavesOut()
	p.take(func(f rankFile) bool {
		if leavesOut(&f) {
			p.unnamed = append(p.unnamed, f.Source.Path)
			return false
		}
		return f.moment == p.chosen
	})
	return nil
}

// named finds the moment that a text names: as a whole, or as the only one that
// it is part of.
func (p *rankPlan) named(at string) (int, error) {
	var parts []int
	for i, m := range p.moments {
		if m.Ranks == 0 {
			continue
		}
		if strings.EqualFold(m.Name, at) {
			return i, nil
		}
		if strings.Contains(strings.ToLower(m.Name), strings.ToLower(at)) {
			parts = append(parts, i)
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	if len(parts) > 1 {
		return 0, fmt.Errorf("%q is part of %s: write one of these in full", at, p.momentNames(parts))
	}
	var every []int
	for i, m := range p.moments {
		if m.Ranks > 0 {
			every = append(every, i)
		}
	}
	return 0, fmt.Errorf("%q: %w; there are %s", at, ErrNoRankMoment, p.momentNames(every))
}

// momentNames lists moments for a message.
func (p *rankPlan) momentNames(list []int) string {
	const most = 12
	var names []string
	for i, m := range list {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(list)-most))
			break
		}
		if name := p.moments[m].Name; name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "no names to choose from"
	}
	return strings.Join(names, ", ")
}

// take takes files; of several of one rank at one moment the last, by the times
// in their names.
func (p *rankPlan) take(keep func(rankFile) bool) {
	last := map[string]int{}
	for _, f := range p.all {
		if !keep(f) {
			continue
		}
		if !f.ID.known() {
			p.files = append(p.files, f)
			continue
		}
		id := f.ID.String()
		i, again := last[id]
		if !again {
			last[id] = len(p.files)
			p.files = append(p.files, f)
			continue
		}
		p.older++
		if old := &p.files[i]; cmp.Or(compareNatural(f.name.time, old.name.time), compareNatural(f.Source.Path, old.Source.Path)) > 0 {
			*old = f
		}
	}
	slices.SortStableFunc(p.files, func(a, b rankFile) int {
		return cmp.Or(compareRankIDs(a.ID, b.ID), compareNatural(a.Source.Path, b.Source.Path))
	})
}

// probe is a file by which reading tells whether moments are machines: of the
// first rank that was chosen, at another moment. It returns false when the
// names leave no doubt.
func (p *rankPlan) probe() (rankFile, bool) {
	if p.chosen < 0 || p.tells[p.chosen] || len(p.files) == 0 {
		return rankFile{}, false
	}
	for _, f := range p.all {
		if f.moment != p.chosen && !p.tells[f.moment] && f.ID.known() && f.ID.String() == p.files[0].ID.String() {
			return f, true
		}
	}
	return rankFile{}, false
}
