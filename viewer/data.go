package viewer

import (
	"encoding/json"
	"strconv"
)

// Limits on what the page holds. They are shared by all devices of a report,
// so that MaxBytes holds for any number of them.
const (
	maxDevices    = 16    // devices drawn in full
	maxPoints     = 4000  // points of memory curves
	maxLayered    = 1600  // likewise, when each has a number per category
	maxBlocks     = 8000  // blocks of segment maps
	maxFlameNodes = 6000  // nodes of flame graphs
	maxRows       = 400   // rows of tables
	maxMoments    = 3     // tables and flame graphs of a device
	maxStackNodes = 40000 // nodes of the tree that holds all stacks

	textBudget = 800 << 10 // bytes of names, once for the HTML and once for the data
)

// share is a device's part of a limit.
func share(limit, devices, least int) int { return max(least, limit/max(1, devices)) }

// pageData is what the scripts draw. Names are stored once, in Strings; frames
// refer to strings, stacks to frames. Long lists are columns.
type pageData struct {
	Strings []string      `json:"strings"`
	Frames  [][4]int32    `json:"frames"` // function, file, line, kind
	Stacks  stackTree     `json:"stacks"`
	Devices []*deviceData `json:"devices"`

	Categories []string `json:"categories,omitempty"` // names of mapGroup.Category

	Flames map[string]flame `json:"flames,omitempty"` // of the whole file, by name

	Ranks *ranksData `json:"ranks,omitempty"`
}

// stackTree holds every stack as a path to the root: node i is frame Frame[i]
// called from node Parent[i]. Node 0 is the root and stands for "no stack".
type stackTree struct {
	Parent []int32 `json:"parent"`
	Frame  []int32 `json:"frame"`
}

type deviceData struct {
	ID     string           `json:"id"`
	Axis   string           `json:"axis,omitempty"`   // "time" when the curve knows no events
	Chart  json.RawMessage  `json:"chart,omitempty"`  // echarts option; absent without a history
	Layers []layerData      `json:"layers,omitempty"` // categories: columns 4 and on of the chart's rows
	Peak   *pointData       `json:"peak,omitempty"`
	Marks  []markData       `json:"marks,omitempty"`
	Flames map[string]flame `json:"flames"` // by moment
	Map    *mapData         `json:"map,omitempty"`
	Maps   []*mapData       `json:"maps,omitempty"`   // of past moments
	Growth *growthData      `json:"growth,omitempty"` // what Chart shows are curves over steps
}

// layerData is a category of the curve; Colour is a variable of the style sheet.
type layerData struct {
	Name   string `json:"name"`
	Colour string `json:"colour"`
}

type pointData struct {
	Event int    `json:"event"`
	Time  int64  `json:"time"`
	Bytes int64  `json:"bytes"`
	Label string `json:"label"`
}

type markData struct {
	Kind  MarkKind `json:"kind"`
	Label string   `json:"label"`
	Event int      `json:"event"`
	End   int      `json:"end,omitempty"`
	Time  int64    `json:"time"`
	Till  int64    `json:"till,omitempty"`
}

// flame is a tree in preorder: Children[i] says how many of the following
// subtrees belong to node i.
type flame struct {
	Unit     string  `json:"unit,omitempty"` // "ns"; bytes otherwise
	Noun     string  `json:"noun,omitempty"` // what is counted; blocks otherwise
	Frame    []int32 `json:"frame"`
	Bytes    []int64 `json:"bytes"`
	Count    []int   `json:"count"`
	Children []int   `json:"children"`
}

type mapData struct {
	Name   string     `json:"name,omitempty"` // of the moment; "" for that of the dump
	Groups []mapGroup `json:"groups"`
}

type mapGroup struct {
	Label    string       `json:"label"`
	Mark     bool         `json:"mark,omitempty"` // a private pool or expandable
	Segments []mapSegData `json:"segments"`
	// Blocks of all segments, in order.
	Size      []int64 `json:"size"`
	Requested []int64 `json:"requested"`
	State     []int   `json:"state"`
	Category  []int   `json:"category,omitempty"` // colour, -1 for none; absent when nothing is classified
	Count     []int   `json:"count"`
	Line      []int32 `json:"line"`  // frame, -1 for none
	Stack     []int32 `json:"stack"` // node, 0 for none
}

type mapSegData struct {
	Addr   string `json:"addr"` // hexadecimal: JSON numbers end at 2^53
	Bytes  int64  `json:"bytes"`
	Count  int    `json:"count"`
	Blocks int    `json:"blocks"`
}

// builder interns what several parts of the page refer to.
type builder struct {
	texts   texts
	stacks  Stacks
	data    pageData
	strings map[string]int32
	frames  map[[4]int32]int32
	edges   map[[2]int32]int32
	nodes   map[uint32]int32
	lines   map[uint32]int32
	dropped int // stacks left out because the tree is full
}

func newBuilder(stacks Stacks) *builder {
	b := &builder{
		texts: texts{left: textBudget}, stacks: stacks,
		strings: map[string]int32{}, frames: map[[4]int32]int32{},
		edges: map[[2]int32]int32{}, nodes: map[uint32]int32{}, lines: map[uint32]int32{},
	}
	b.data.Stacks = stackTree{Parent: []int32{0}, Frame: []int32{-1}}
	return b
}

func (b *builder) str(s string) int32 {
	if i, ok := b.strings[s]; ok {
		return i
	}
	i := int32(len(b.data.Strings))
	b.data.Strings = append(b.data.Strings, b.texts.name(s))
	b.strings[s] = i
	return i
}

func (b *builder) frame(f Frame) int32 {
	k := [4]int32{b.str(f.Function), b.str(f.File), f.Line, int32(f.Kind)}
	if i, ok := b.frames[k]; ok {
		return i
	}
	i := int32(len(b.data.Frames))
	b.data.Frames = append(b.data.Frames, k)
	b.frames[k] = i
	return i
}

// use makes stack ids those of another file.
func (b *builder) use(stacks Stacks) {
	b.stacks = stacks
	clear(b.nodes)
	clear(b.lines)
}

// stack returns the node of a stack, 0 when there is none or no room.
func (b *builder) stack(id uint32) int32 {
	if b.stacks == nil {
		return 0
	}
	if n, ok := b.nodes[id]; ok {
		return n
	}
	frames := b.stacks.Stack(id)
	node := int32(0)
	if len(b.data.Stacks.Parent)+len(frames) > maxStackNodes {
		b.dropped++
		frames = nil
	}
	for i := len(frames) - 1; i >= 0; i-- {
		node = b.child(node, b.frame(frames[i]))
	}
	b.nodes[id] = node
	return node
}

func (b *builder) child(parent, frame int32) int32 {
	k := [2]int32{parent, frame}
	if n, ok := b.edges[k]; ok {
		return n
	}
	n := int32(len(b.data.Stacks.Parent))
	b.data.Stacks.Parent = append(b.data.Stacks.Parent, parent)
	b.data.Stacks.Frame = append(b.data.Stacks.Frame, frame)
	b.edges[k] = n
	return n
}

// line returns the frame that stands for a stack, -1 when there is none.
func (b *builder) line(id uint32) int32 {
	if b.stacks == nil {
		return -1
	}
	if n, ok := b.lines[id]; ok {
		return n
	}
	n := b.frame(b.stacks.Line(id))
	b.lines[id] = n
	return n
}

func (b *builder) flame(root *Flame) flame {
	var f flame
	var add func(n *Flame)
	add = func(n *Flame) {
		f.Frame = append(f.Frame, b.frame(n.Frame))
		f.Bytes = append(f.Bytes, n.Bytes)
		f.Count = append(f.Count, n.Count)
		f.Children = append(f.Children, len(n.Children))
		for _, c := range n.Children {
			add(c)
		}
	}
	add(root)
	return f
}

func (b *builder) segmentMap(groups []segGroup) *mapData {
	if len(groups) == 0 {
		return nil
	}
	m := &mapData{}
	classified := anyCategory(groups)
	if classified && b.data.Categories == nil {
		for _, c := range layerOrder {
			b.data.Categories = append(b.data.Categories, categoryText(c.String()))
		}
	}
	for _, g := range groups {
		d := mapGroup{Label: b.texts.name(g.label()), Mark: g.Pool != "" || g.Expandable}
		for _, s := range g.Segments {
			d.Segments = append(d.Segments, mapSegData{
				Addr: "0x" + strconv.FormatUint(s.Addr, 16), Bytes: s.Bytes, Count: s.Count, Blocks: len(s.Blocks),
			})
			for _, bl := range s.Blocks {
				d.Size = append(d.Size, bl.Size)
				d.Requested = append(d.Requested, bl.Requested)
				d.State = append(d.State, int(bl.State))
				d.Count = append(d.Count, bl.Count)
				if classified {
					d.Category = append(d.Category, categoryIndex(bl.Category))
				}
				line, stack := int32(-1), int32(0)
				if bl.State < InactiveSplit {
					line, stack = b.line(bl.Stack), b.stack(bl.Stack)
					if bl.Unnamed != "" {
						line = b.frame(Frame{Function: bl.Unnamed, Kind: SpecialFrame})
					}
				}
				d.Line = append(d.Line, line)
				d.Stack = append(d.Stack, stack)
			}
		}
		m.Groups = append(m.Groups, d)
	}
	return m
}

// anyCategory reports whether a block says what it is for.
func anyCategory(groups []segGroup) bool {
	for _, g := range groups {
		for _, s := range g.Segments {
			for i := range s.Blocks {
				if s.Blocks[i].Category != "" {
					return true
				}
			}
		}
	}
	return false
}

// label names a group for people.
func (g *segGroup) label() string {
	s := "default pool"
	if g.Pool != "" {
		s = "private pool " + g.Pool
	}
	if g.Others > 0 {
		s += " and " + plural(g.Others, "smaller group")
	}
	switch {
	case g.Expandable && g.Small:
		s += ", small blocks, expandable"
	case g.Expandable:
		s += ", large blocks, expandable"
	case g.Small:
		s += ", small blocks"
	default:
		s += ", large blocks"
	}
	if g.Stream != "" {
		s += ", stream " + g.Stream
	}
	return s
}
