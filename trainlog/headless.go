package trainlog

import (
	"fmt"
	"strings"
)

// headless returns a table for a row that nvidia-smi wrote without a header, nil
// for any other line. Which of the amounts is which is told by their sizes: the
// largest is the GPU's, and the one beside it what is used.
func headless(line string) *table {
	if !isDigit(line[0]) && !strings.HasPrefix(line, "GPU-") && !strings.HasPrefix(line, "NVIDIA") && !strings.HasPrefix(line, "Tesla") {
		return nil
	}
	if !strings.Contains(line, "MiB") && !(len(line) > 10 && line[4] == '/') {
		return nil
	}
	cells := commas(line)
	t := &table{split: commas, smi: true, byUUID: map[string]int{}}
	stamped := false
	var amounts []int
	var sizes []float64
	for i, cell := range cells {
		c := column{name: fmt.Sprintf("column %d", i+1)}
		v, digits, unit, whole, ok := leadingAmount(cell)
		isCount := ok && whole && unit == "" && digits == 0
		switch {
		case i == 0 && isStamp(cell):
			c.role, stamped = timeColumn, true
		case strings.HasPrefix(cell, "GPU-"), strings.Count(cell, ":") == 2 && strings.Contains(cell, "."):
			c.role = uuidColumn
		case ok && whole && unit == "MiB":
			amounts, sizes = append(amounts, i), append(sizes, v)
		case isCount && len(amounts) == 0 && (i == 0 || i == 1 && stamped) && v < 64:
			c.role = indexColumn
		case isCount && stamped:
			amounts, sizes = append(amounts, i), append(sizes, v)
		}
		t.columns = append(t.columns, c)
	}
	if len(amounts) == 0 || len(cells) == 1 && !strings.HasSuffix(cells[0], "MiB") {
		return nil
	}
	if !strings.Contains(line, "MiB") && !stamped {
		return nil
	}
	t.assign(amounts, sizes)
	return t
}

// isStamp reports whether a cell is a time as nvidia-smi prints it:
// "2026/01/02 03:04:05.678".
func isStamp(cell string) bool {
	return len(cell) >= len("2006/01/02 15:04:05") && len(cell) <= len("2006/01/02 15:04:05.000") && cell[4] == '/' && cell[7] == '/' && cell[10] == ' '
}

// assign finds the column of the GPU's size and that of what is used.
func (t *table) assign(amounts []int, sizes []float64) {
	used, total := 0, -1
	if len(amounts) > 1 {
		total = 0
		for k := range sizes {
			if sizes[k] > sizes[total] {
				total = k
			}
		}
		t.columns[amounts[total]].role = totalColumn
		if used = total - 1; used < 0 {
			used = len(amounts) - 1
			if used > 2 {
				used = 2 // memory.total, memory.free, memory.used, and other numbers
			}
		}
	}
	c := &t.columns[amounts[used]]
	c.role, c.metric = figureColumn, DeviceUsed
}

// guessed says what was taken for what.
func (t *table) guessed() string {
	used, total := "", ""
	for _, c := range t.columns {
		switch c.role {
		case figureColumn:
			used = c.name
		case totalColumn:
			total = " and " + c.name + " for memory.total"
		}
	}
	return "the nvidia-smi rows have no header: " + used + " is taken for memory.used" + total + "; leave noheader out of --format"
}
