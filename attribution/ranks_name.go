package attribution

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// RankBasis is what the rank of a row rests on.
type RankBasis uint8

const (
	RankUnknown  RankBasis = iota
	RankByName             // the file's name says it: rank3, tp1, node1_gpu3
	RankByNumber           // the number by which the names differ, which no word explains
	RankByDevice           // the index of the device
	RankByOrder            // the place among the files; nothing tells the rank
)

var rankBasisNames = [...]string{"unknown", "name", "number", "device", "order"}

func (b RankBasis) String() string { return rankBasisNames[min(int(b), len(rankBasisNames)-1)] }

// RankID says which process, and so which GPU, a file is of.
type RankID struct {
	Rank  int        // its rank in the job; −1 when only the rest is known
	Node  string     // the machine; "" when not known
	Local int        // its number on the machine; −1 when not known
	Axes  []RankAxis // coordinates in a grid of processes
}

// RankAxis is a coordinate such as tp 3.
type RankAxis struct {
	Name  string // "pp", "tp", "dp", "cp", "ep" …
	Index int
}

// noRank is a file whose name does not say whose it is.
var noRank = RankID{Rank: -1, Local: -1}

// String is the rank as short as it is unmistakable: "3", "node1/3", "pp0 tp1".
func (id RankID) String() string {
	node := ""
	if id.Node != "" {
		node = id.Node + "/"
	}
	switch {
	case id.Rank >= 0:
		return strconv.Itoa(id.Rank)
	case id.Local >= 0:
		return node + strconv.Itoa(id.Local)
	case len(id.Axes) > 0:
		var parts []string
		for _, a := range id.Axes {
			parts = append(parts, a.Name+strconv.Itoa(a.Index))
		}
		return node + strings.Join(parts, " ")
	case id.Node != "":
		return id.Node
	}
	return "?"
}

func (id RankID) known() bool {
	return id.Rank >= 0 || id.Local >= 0 || id.Node != "" || len(id.Axes) > 0
}

// axis returns the coordinate of a name, −1 without.
func (id RankID) axis(name string) int {
	for _, a := range id.Axes {
		if a.Name == name {
			return a.Index
		}
	}
	return -1
}

func compareRankIDs(a, b RankID) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), compareNatural(a.Node, b.Node), cmp.Compare(a.Local, b.Local),
		slices.CompareFunc(a.Axes, b.Axes, func(x, y RankAxis) int {
			return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Index, y.Index))
		}))
}

// A label is what the word before a number makes of it.
type label uint8

const (
	noLabel    label = iota
	rankLabel        // a rank in the job, unless the word before it says of what
	workerName       // another word for a process of the job
	localLabel       // a GPU of the machine
	nodeLabel        // a machine
	axisLabel        // a coordinate
	gridLabel        // one only before the word rank
	stepLabel        // progress of the run
	fillLabel        // a word between the label and the number: rank_id_3
)

// labels are the words that say what a number is. They are those that trainers,
// servers and their users put into names of snapshots.
var labels = makeLabels(map[label]string{
	rankLabel:  "rank rk r globalrank grank worldrank",
	workerName: "worker w actor process proc replica peer trainer task shard",
	localLabel: "gpu cuda device dev npu xpu hip card local localrank",
	nodeLabel:  "node host machine server nid pod",
	axisLabel:  "tp pp dp cp ep sp mp etp edp vpp stage",
	gridLabel:  "fsdp hsdp ddp",
	stepLabel: "step steps iter iters iteration iterations it epoch epochs batch batches ba globalstep gs microbatch mb " +
		"update round ckpt checkpoint run trial attempt version v",
	fillLabel: "id idx index no num number",
})

func makeLabels(words map[label]string) map[string]label {
	out := map[string]label{}
	for l, list := range words {
		for word := range strings.FieldsSeq(list) {
			out[word] = l
		}
	}
	return out
}

// rankName is what a file's name says.
type rankName struct {
	id   RankID
	rest []nameToken // without what says the rank: which of several snapshots it is
	time string      // the last time in the name
	bare []int       // indices into rest of numbers that no word explains
}

// maxRank is more than any job has; larger numbers in names are something else.
const maxRank = 1 << 20

// readName reads a path.
func readName(path string) rankName {
	n := rankName{id: noRank}
	tokens := nameTokens(path)
	epochs := slices.ContainsFunc(tokens, func(t nameToken) bool { return t.text == "ba" }) // ep0-ba3-rank0
	drop := make([]bool, len(tokens))
	worker := RankAxis{Index: -1}
	for i, t := range tokens {
		switch t.kind {
		case timeToken:
			n.time, drop[i] = t.text, true
			continue
		case nodeToken:
			n.id.Node, drop[i] = t.text, true
			continue
		case wordToken:
			continue
		}
		l, name, from := labelOf(tokens, i)
		if l == axisLabel && name == "ep" && epochs {
			l = stepLabel
		}
		if i+2 < len(tokens) && tokens[i+1].text == "of" && isNumber(tokens, i+2) && l != stepLabel { // 3_of_8
			drop[i+1], drop[i+2] = true, true
			if l == noLabel {
				l, from = rankLabel, i
			}
		}
		if drop[i] || t.num > maxRank {
			continue
		}
		switch l {
		case rankLabel:
			n.id.Rank = t.num
		case workerName:
			worker = RankAxis{name, t.num}
		case localLabel:
			n.id.Local = t.num
		case nodeLabel:
			n.id.Node = name + t.text
		case axisLabel:
			n.id.Axes = append(n.id.Axes, RankAxis{name, t.num})
		default:
			continue
		}
		for j := from; j <= i; j++ {
			drop[j] = true
		}
	}
	switch {
	case n.id.Rank < 0:
		n.id.Rank = worker.Index
	case worker.Index >= 0: // replica_0/rank3
		n.id.Axes = append(n.id.Axes, worker)
	}
	slices.SortStableFunc(n.id.Axes, func(a, b RankAxis) int { return cmp.Compare(axisOrder(a.Name), axisOrder(b.Name)) })
	n.keepRest(tokens, drop)
	return n
}

// axisOrder puts the coordinate first that divides the model most coarsely.
func axisOrder(name string) int {
	return -slices.Index([]string{"tp", "etp", "sp", "cp", "ep", "edp", "fsdp", "hsdp", "ddp", "dp", "mp", "vpp", "pp"}, name)
}

// keepRest keeps the tokens that do not say the rank, and finds bare numbers.
func (n *rankName) keepRest(tokens []nameToken, drop []bool) {
	folder := false
	for i, t := range tokens {
		if folder = folder || t.sep == "/"; drop[i] {
			continue
		}
		if folder {
			t.sep, folder = "/", false
		}
		if t.kind == numberToken {
			if l, _, _ := labelOf(tokens, i); l != stepLabel && (i == 0 || tokens[i-1].text != "of") {
				n.bare = append(n.bare, len(n.rest))
			}
		}
		n.rest = append(n.rest, t)
	}
}

// labelOf says what the words before the number at i make of it: the label, the
// name of an axis or a machine, and the first token that belongs to it.
func labelOf(tokens []nameToken, i int) (l label, name string, from int) {
	word := func(j int) (label, string) {
		if j < 0 || tokens[j].kind != wordToken || tokens[j+1].sep == "/" {
			return noLabel, ""
		}
		return labels[tokens[j].text], tokens[j].text
	}
	at := i - 1
	l, name = word(at)
	if l == fillLabel {
		at--
		l, name = word(at)
	}
	before, what := word(at - 1)
	switch {
	case len(name) == 1 && tokens[i].sep != "": // r03 is a rank; in mem_r_3 the letter may be anything
		return noLabel, "", i
	case l == rankLabel && (before == axisLabel || before == localLabel || before == nodeLabel || before == gridLabel):
		return min(before, axisLabel), what, at - 1 // the rank within that
	case l == gridLabel, name == "stage" && what == "zero": // fsdp2, zero_stage_3: settings
		return noLabel, "", i
	case name == "stage":
		name = "pp"
	}
	return l, name, at
}

// key is the rest as text that is equal for the files of one moment.
func (n *rankName) key() string { return joinTokens(n.rest) }

func joinTokens(tokens []nameToken) string {
	var b strings.Builder
	for i, t := range tokens {
		switch {
		case i == 0:
		case t.sep == "/":
			b.WriteByte('/')
		case t.sep != "" || t.kind != numberToken:
			b.WriteByte('_')
		}
		b.WriteString(t.text)
	}
	return b.String()
}

// compareNatural compares text with the numbers in it by value.
func compareNatural(a, b string) int {
	x, y := lexName(a), lexName(b)
	return cmp.Or(slices.CompareFunc(x, y, func(p, q nameToken) int {
		if p.kind == numberToken && q.kind == numberToken {
			return cmp.Or(cmp.Compare(p.num, q.num), cmp.Compare(p.text, q.text))
		}
		return cmp.Or(cmp.Compare(p.sep, q.sep), cmp.Compare(p.text, q.text))
	}), cmp.Compare(a, b))
}
