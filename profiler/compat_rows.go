package profiler

import (
	"encoding/json"
	"slices"
	"strings"
)

// compatKey is what torch groups by: FunctionEvent.key, the kind of device,
// is_user_annotation, and the shapes or the stack.
type compatKey struct {
	name       Name
	detail     uint32 // text of the shapes, or stackID
	row        compatRow
	annotation bool
}

// compatRow tells the rows of a name apart.
type compatRow uint8

const (
	rowHost compatRow = iota
	rowDevice
	rowMemory
	rowFailure
)

// table sums the events into rows.
func (c *compat) table() Table {
	g := newGrouping(c)
	for _, k := range c.order {
		g.addHost(k.event)
	}
	for i := c.device; i < len(c.events) && c.events[i].kind == compatDevice; i++ {
		g.addDevice(int32(i))
	}
	slices.SortStableFunc(g.rows, func(a, b groupedRow) int { return a.first.before(b.first) })
	table := Table{By: c.o.By, Rows: make([]Row, len(g.rows))}
	for i := range g.rows {
		table.Rows[i] = g.rows[i].Row
	}
	sortRows(table.Rows)
	return table
}

// grouping collects rows by key.
type grouping struct {
	c      *compat
	rows   []groupedRow
	index  map[compatKey]int32
	rowOf  []int32 // row by event
	shapes shapeTexts
	flops  flopCounter
}

// A groupedRow is a row and its earliest event, which decides its place.
type groupedRow struct {
	Row
	first orderKey
}

func newGrouping(c *compat) *grouping {
	return &grouping{c: c, index: make(map[compatKey]int32), rowOf: make([]int32, len(c.events)),
		shapes: newShapeTexts(c.t.Names), flops: newFlopCounter(c.t)}
}

// row finds or makes the row of an event.
func (g *grouping) row(event int32) *groupedRow {
	c, e := g.c, &g.c.events[event]
	k := compatKey{name: e.name, row: c.rowKind(e), annotation: e.annotation}
	switch c.o.By {
	case ByShape:
		if e.kind == compatOp {
			k.detail = g.shapes.id(c.t.Host[e.source].Shapes)
		}
	case ByStack:
		k.detail = uint32(e.stack)
	}
	i, ok := g.index[k]
	if !ok {
		i = int32(len(g.rows))
		g.index[k] = i
		g.rows = append(g.rows, groupedRow{c.newRow(k, &g.shapes), c.key(event)})
	}
	g.rowOf[event] = i
	r := &g.rows[i]
	if k := c.key(event); k.before(r.first) < 0 {
		r.first = k
	}
	r.Count++
	return r
}

func (c *compat) rowKind(e *compatEvent) compatRow {
	switch e.kind {
	case compatDevice:
		return rowDevice
	case compatMemory:
		if c.t.Memory[e.source].OOM {
			return rowFailure
		}
		return rowMemory
	}
	return rowHost
}

func (c *compat) newRow(k compatKey, shapes *shapeTexts) Row {
	var r Row
	switch k.row {
	case rowMemory:
		r.Name = "[memory]"
	case rowFailure:
		r.Name = "[OutOfMemory]"
	default:
		r.Name = c.names.text(k.name)
	}
	switch {
	case c.o.By == ByShape:
		r.Shapes = shapes.texts[k.detail]
	case c.stacks != nil:
		r.Stack = c.stacks.list[k.detail]
	}
	return r
}

// addHost adds an event of the host: its totals to its row, and off the self
// columns of its parent's. Parents come before their children.
func (g *grouping) addHost(event int32) {
	e := &g.c.events[event]
	if e.folded {
		return
	}
	r := g.row(event)
	r.charge(e, 1)
	r.CPU += e.end - e.start
	r.DeviceTime += e.deviceTime
	r.CPUMemory += e.cpuMemory
	r.DeviceMemory += e.deviceMemory
	r.Kernels += int(e.kernels)
	if e.kind == compatOp {
		r.Flops += g.flops.of(&g.c.t.Host[e.source])
	}
	if e.parent != none {
		g.rows[g.rowOf[e.parent]].charge(e, -1)
	}
}

// charge adds the totals of an event to the self columns, or takes them off.
func (r *Row) charge(e *compatEvent, sign int64) {
	r.SelfCPU += sign * (e.end - e.start)
	r.SelfDevice += sign * e.deviceTime
	r.SelfCPUMemory += sign * e.cpuMemory
	r.SelfDeviceMemory += sign * e.deviceMemory
}

func (g *grouping) addDevice(event int32) {
	e := &g.c.events[event]
	r := g.row(event)
	r.SelfDevice += e.end - e.start
	r.DeviceTime += e.end - e.start
}

// shapeTexts are the input shapes as torch groups by them: a list of lists,
// where a list of tensors is empty.
type shapeTexts struct {
	names []string
	ids   map[Name]uint32
	known map[string]uint32
	texts []string // by id; 0 is for no shapes
}

const noShapes = "[]"

func newShapeTexts(names []string) shapeTexts {
	return shapeTexts{names: names, ids: map[Name]uint32{0: 0}, known: map[string]uint32{noShapes: 0}, texts: []string{noShapes}}
}

func (s *shapeTexts) id(shapes Name) uint32 {
	if id, ok := s.ids[shapes]; ok {
		return id
	}
	text := shapeText(s.names[shapes])
	id, ok := s.known[text]
	if !ok {
		id = uint32(len(s.texts))
		s.known[text] = id
		s.texts = append(s.texts, text)
	}
	s.ids[shapes] = id
	return id
}

func shapeText(dims string) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, shape := range parseShapes(dims) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('[')
		for j, size := range shape {
			if j > 0 {
				b.WriteString(", ")
			}
			b.WriteString(size.String())
		}
		b.WriteByte(']')
	}
	b.WriteByte(']')
	return b.String()
}

// parseShapes reads Input Dims. What is no list of numbers, such as the shapes
// of a list of tensors, is an empty shape.
func parseShapes(dims string) [][]json.Number {
	var raw []json.RawMessage
	if json.Unmarshal([]byte(dims), &raw) != nil {
		return nil
	}
	shapes := make([][]json.Number, len(raw))
	for i := range raw {
		if json.Unmarshal(raw[i], &shapes[i]) != nil {
			shapes[i] = nil
		}
	}
	return shapes
}
