package trainlog

import (
	"math"
	"strings"
	"time"
)

// A gpuTable is where in nvidia-smi's own table the reader is.
type gpuTable struct {
	device int     // of the last row that named one
	at     float64 // of the line above the table
	inside bool
}

// gpuTableLine reads a line of what nvidia-smi prints without options. It reports
// false for any other.
func (r *reader) gpuTableLine(line string) bool {
	g := &r.gpuTable
	if strings.Contains(line, "NVIDIA-SMI") {
		g.inside, g.device = true, Unknown
		return true
	}
	if at, err := time.Parse(time.ANSIC, line); err == nil && isDate([]byte(line)) { // "Sat Aug  1 13:44:11 2026"
		g.at = float64(at.Unix())
		return true
	}
	if r.gpustatLine(line) {
		return true
	}
	if !g.inside || line[0] != '|' && line[0] != '+' {
		return false
	}
	if fields := strings.Fields(strings.Trim(line, "|")); len(fields) > 1 {
		if n, ok := smallNumber(fields[0]); ok {
			g.device = n
			r.processRow(fields)
		}
	}
	if at := strings.Index(line, "MiB /"); at > 0 {
		r.memoryCell(line, at)
	}
	return true
}

// isDate is a quick look at whether a line may be a date as nvidia-smi prints it:
// "Sat Aug  1 13:44:11 2026".
func isDate(line []byte) bool {
	return len(line) == len(time.ANSIC) && line[3] == ' ' && line[13] == ':' && line[16] == ':'
}

// gpustatLine reads "[0] NVIDIA A100 | 45'C,  98 % | 12345 / 40960 MB | …", as
// gpustat prints it; its MB are MiB.
func (r *reader) gpustatLine(line string) bool {
	if line[0] != '[' || !strings.Contains(line, "'C") || !strings.Contains(line, " MB |") {
		return false
	}
	device, ok := leadingNumber(line[1:])
	for _, cell := range strings.Split(line, "|") {
		used, total, isPair := strings.Cut(cell, "/")
		total, isMB := strings.CutSuffix(strings.TrimSpace(total), " MB")
		u, t := number64(used), number64(total)
		if !ok || !isPair || !isMB || math.IsNaN(u+t) {
			continue
		}
		r.gpuTable.device = device
		r.gpuFigure(figure{metric: DeviceUsed, value: u})
		r.gpuFigure(figure{value: t, total: true})
		return true
	}
	return false
}

// memoryCell reads "9211MiB / 81920MiB".
func (r *reader) memoryCell(line string, at int) {
	from := strings.LastIndexAny(line[:at], " |") + 1
	used := number64(line[from:at])
	rest := strings.TrimLeft(line[at+len("MiB /"):], " ")
	totalText, _, _ := strings.Cut(rest, "MiB")
	r.gpuFigure(figure{metric: DeviceUsed, value: used})
	if total := number64(totalText); !math.IsNaN(total) {
		r.gpuFigure(figure{value: total, total: true})
	}
}

// processRow reads "0 N/A N/A 12345 C python 9211MiB".
func (r *reader) processRow(fields []string) {
	value, ok := strings.CutSuffix(fields[len(fields)-1], "MiB")
	if !ok || len(fields) < 5 {
		return
	}
	for _, f := range fields[1 : len(fields)-1] {
		if _, isPID := smallNumber(f); isPID || len(f) == 7 && number64(f) > 0 {
			r.now.Process = f
			r.gpuFigure(figure{metric: ProcessUsed, value: number64(value)})
			r.now.Process = ""
			return
		}
	}
}

func (r *reader) gpuFigure(f figure) {
	f.sampled = true
	f.unit, f.spelling, f.device = Unit{Text: "MiB", Power: 2, Binary: true}, "nvidia-smi", r.gpuTable.device
	if r.gpuTable.at != 0 {
		r.now.at = r.gpuTable.at
	}
	r.forms[DeviceTable] = true
	r.take(&f, false)
}

// dmonTable returns the table that a header of nvidia-smi dmon begins: "# gpu  fb
// bar1", nil for any other line.
func dmonTable(line string) *table {
	t := &table{split: strings.Fields, smi: true}
	for _, name := range strings.Fields(strings.TrimLeft(line, "# ")) {
		c := column{name: name}
		switch name {
		case "gpu":
			c.role = indexColumn
		case "fb":
			c.role, c.metric = figureColumn, DeviceUsed
		}
		t.columns = append(t.columns, c)
	}
	for _, c := range t.columns {
		if c.role == figureColumn {
			return t
		}
	}
	return nil
}
