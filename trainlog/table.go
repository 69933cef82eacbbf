package trainlog

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A table is rows of values under a header, or rows that nvidia-smi wrote
// without one.
type table struct {
	columns []column
	split   func(line string) []string
	smi     bool // of nvidia-smi or rocm-smi
	byUUID  map[string]int
	last    string // time of the row before
	nth     int    // row within that time
	rows    int
}

// A column is what the values of a column mean.
type column struct {
	role   columnRole
	metric Metric
	unit   Unit // when the header says it
	name   string

	distinct bool // another column is called the same
}

type columnRole uint8

const (
	ignored columnRole = iota
	figureColumn
	totalColumn
	timeColumn
	indexColumn
	uuidColumn
	processColumn
	stepColumn
	epochColumn
	rankColumn
)

// smiColumns are the names of nvidia-smi's properties, from its --help-query-gpu
// and --help-query-compute-apps, and rocm-smi's, in lower case.
var smiColumns = map[string]column{
	"timestamp": {role: timeColumn},
	"index":     {role: indexColumn}, "gpu_index": {role: indexColumn},
	"uuid": {role: uuidColumn}, "gpu_uuid": {role: uuidColumn}, "pci.bus_id": {role: uuidColumn}, "gpu_bus_id": {role: uuidColumn}, "gpu_serial": {role: uuidColumn}, "serial": {role: uuidColumn},
	"pid":         {role: processColumn},
	"memory.used": {role: figureColumn, metric: DeviceUsed}, "memory.free": {role: figureColumn, metric: DeviceFree}, "memory.total": {role: totalColumn},
	"used_memory": {role: figureColumn, metric: ProcessUsed}, "used_gpu_memory": {role: figureColumn, metric: ProcessUsed},
	"memory.reserved": {}, "name": {}, "gpu_name": {}, "process_name": {},
	"vram total used memory (b)": {role: figureColumn, metric: DeviceUsed}, "vram total memory (b)": {role: totalColumn},
}

// tableLine reads a header or a row. It reports false when the line is neither.
func (r *reader) tableLine(line string) bool {
	if t := newTable(line); t != nil {
		r.table = t
		return true
	}
	if r.table != nil && line[0] == '#' {
		return true // the units of dmon
	}
	if r.table == nil {
		if r.table = headless(line); r.table == nil {
			return false
		}
		if note := r.table.guessed(); !slices.Contains(r.log.Notes, note) && len(r.log.Notes) < maxNotes {
			r.log.Notes = append(r.log.Notes, note)
		}
	}
	cells := r.table.split(line)
	if len(cells) == len(r.table.columns) && r.row(cells, line) {
		return true
	}
	if r.table != nil && r.table.smi && len(cells) > 1 && len(cells) != len(r.table.columns) {
		r.unreadable(line, fmt.Sprintf("a row of %d values in a table of %d columns", len(cells), len(r.table.columns)))
		return true
	}
	return false
}

// newTable returns the table that a header begins, nil for any other line.
func newTable(line string) *table {
	if line[0] == '#' {
		return dmonTable(line)
	}
	if hasNumber(line) {
		return nil
	}
	if strings.IndexByte(line, ',') < 0 {
		if c := smiColumn(line); c.role != figureColumn {
			return nil
		}
	}
	cells := commas(line)
	t := &table{split: commas, byUUID: map[string]int{}}
	figures := 0
	for _, cell := range cells {
		c := smiColumn(cell)
		if c.name == "" {
			if c = valueColumn(cell); c.name == "" {
				return nil
			}
		} else if c.role == figureColumn || c.role == totalColumn {
			t.smi = true
		}
		if c.role == figureColumn {
			figures++
		}
		t.columns = append(t.columns, c)
	}
	if figures == 0 {
		return nil
	}
	t.markDistinct()
	return t
}

// markDistinct marks columns that are called the same and are not.
func (t *table) markDistinct() {
	list := make([]figure, len(t.columns))
	for i, c := range t.columns {
		list[i] = figure{metric: c.metric, unit: c.unit, device: Unknown, total: c.role != figureColumn}
		list[i].belongsTo(ownerOf(c.name))
	}
	markDistinct(list)
	for i := range t.columns {
		t.columns[i].distinct = list[i].distinct
	}
}

// hasNumber reports whether a line has a digit that is not part of a name.
func hasNumber(line string) bool {
	for i := range len(line) {
		if isDigit(line[i]) && (i == 0 || !isLetter(line[i-1]) && !isDigit(line[i-1])) {
			return true
		}
	}
	return false
}

func commas(line string) []string {
	if strings.IndexByte(line, '"') >= 0 {
		if cells, err := csv.NewReader(strings.NewReader(line)).Read(); err == nil {
			return trimmed(cells)
		}
	}
	return trimmed(strings.Split(line, ","))
}

func trimmed(cells []string) []string {
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// smiColumn reads a name such as "memory.used [MiB]". Its name is empty when it is
// not one of a GPU tool.
func smiColumn(cell string) column {
	name := strings.ToLower(cell)
	var unit Unit
	if at := strings.Index(name, " ["); at > 0 && strings.HasSuffix(name, "]") {
		unit, _ = parseUnit(cell[at+2:len(cell)-1], false)
		name = name[:at]
	}
	c, ok := smiColumns[name]
	if !ok {
		return column{}
	}
	if strings.HasSuffix(name, "(b)") {
		unit = Unit{Text: "bytes"}
	}
	c.unit, c.name = unit, name
	return c
}

// valueColumn reads a name that a training program gave to a column. Its name is
// empty when there is none.
func valueColumn(cell string) column {
	c := column{name: cell}
	last := strings.ToLower(cell[strings.LastIndexAny(cell, "./")+1:])
	metric, isStats, isCurve := statsKey(cell)
	switch {
	case isCurve:
		c.role, c.metric, c.unit = figureColumn, metric, Unit{Text: "bytes"}
	case isStats:
	case stepWords[last] >= 4:
		c.role = stepColumn
	case last == "epoch":
		c.role = epochColumn
	case last == "rank" || last == "local_rank" || last == "global_rank":
		c.role = rankColumn
	case last == "gpu" || last == "device" || last == "gpu_id" || last == "device_id":
		c.role = indexColumn
	case !math.IsNaN(memberTime(member{name: last, value: 1e9})):
		c.role = timeColumn
	default:
		c.read()
	}
	return c
}

// read takes the metric and unit out of a column's name.
func (c *column) read() {
	var l label
	words := strings.FieldsFunc(c.name, func(r rune) bool { return r < utf8.RuneSelf && !isLetter(byte(r)) && !isDigit(byte(r)) })
	for _, w := range slices.Backward(words) {
		l.read(w)
	}
	l.settle()
	if l.kind < memory || l.foreign {
		return
	}
	c.role, c.metric, c.unit = figureColumn, l.metric, l.unit
	if l.kind == totalSize {
		c.role = totalColumn
	}
}

// row reads the values of a row. It reports false when no value is readable
// where one must be.
func (r *reader) row(cells []string, line string) bool {
	t := r.table
	here := nowhere()
	for i, c := range t.columns {
		r.locate(c, cells[i], &here)
	}
	if t.smi && r.now.Device == Unknown && r.now.Process == "" {
		r.now.Device = t.position(r.now.at)
	}
	found, empty := r.rowFigures(cells)
	if found == nil && !empty {
		if t.rows == 0 && !t.smi {
			r.table = nil // the header was a sentence with commas
			return false
		}
		r.unreadable(line, "no amount of memory in the row")
		return true
	}
	t.rows++
	form := ValueTable
	if t.smi {
		form = DeviceTable
	}
	r.forms[form] = true
	r.move(here, len(found) > 0)
	for i := range found {
		r.take(&found[i], here.known())
	}
	return true
}

// locate reads a cell that says when or where the row is.
func (r *reader) locate(c column, cell string, here *place) {
	v, isNumber := plainNumber(cell)
	switch c.role {
	case timeColumn:
		if r.now.at, r.now.zoned = parseTime(cell); math.IsNaN(r.now.at) && isNumber {
			r.now.at, r.now.zoned = epochTime(v), true
		}
	case indexColumn:
		r.now.Device = index(member{text: strings.TrimPrefix(strings.ToLower(cell), "card")}, r.now.Device)
	case uuidColumn:
		if r.now.Device == Unknown {
			r.now.Device = r.table.ordinal(cell)
		}
	case processColumn:
		r.now.Process = cell
	case rankColumn:
		r.now.Rank = index(member{text: cell}, r.now.Rank)
	case stepColumn:
		if isNumber && isStep(v) {
			here.step, here.sure = v, stepWords["step"]
		}
	case epochColumn:
		if isNumber && isStep(v) {
			here.epoch = v
		}
	}
}

// ordinal numbers GPUs by the order in which their names appear.
func (t *table) ordinal(name string) int {
	n, ok := t.byUUID[name]
	if !ok {
		if n = len(t.byUUID); n < maxDevices {
			t.byUUID[name] = n
		}
	}
	return n
}

// position numbers the GPUs of rows that name none: those of one time are
// of one GPU each.
func (t *table) position(at float64) int {
	if math.IsNaN(at) {
		return Unknown
	}
	now := fmt.Sprint(at)
	if now != t.last {
		t.last, t.nth = now, 0
		return 0
	}
	t.nth++
	return t.nth
}

// rowFigures reads the amounts of memory. Cells may be empty in a row of other
// values; empty says that all were.
func (r *reader) rowFigures(cells []string) (found []figure, empty bool) {
	empty = true
	for i, c := range r.table.columns {
		if c.role != figureColumn && c.role != totalColumn || cells[i] == "" {
			continue
		}
		empty = false
		value, digits, unit, whole, ok := leadingAmount(cells[i])
		if !ok || !whole || math.IsNaN(value) {
			continue
		}
		f := figure{metric: c.metric, total: c.role == totalColumn, value: value, digits: digits,
			unit: c.unit, spelling: c.name, device: Unknown, sampled: r.table.smi, distinct: c.distinct}
		if !r.table.smi {
			f.belongsTo(ownerOf(c.name))
		}
		if u, ok := parseUnit(unit, true); ok && unit != "" {
			f.unit = u
		}
		if f.unit.Text == "" && r.table.smi {
			f.unit = Unit{Text: "MiB", Power: 2, Binary: true} // what nvidia-smi prints without units
		}
		if f.unit.Text == "" {
			if f.digits > 0 || int64(f.value)%blockGrain != 0 {
				continue
			}
			f.unit = Unit{Text: "bytes"}
		}
		if f.total {
			r.total(r.now.Source, &f)
			found = append([]figure{}, found...) // a size alone is a readable row
			continue
		}
		found = append(found, f)
	}
	return found, empty
}
