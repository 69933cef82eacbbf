package trainlog

import (
	"strings"
)

// ultralyticsColumn is the column of memory_reserved() in the rows that YOLO's
// trainer prints for each epoch.
const ultralyticsColumn = "GPU_mem"

// epochRow reads the header "Epoch GPU_mem box_loss …" and rows such as
// "151/200 10.4G 0.46 …: 37%|███". It reports false for other lines.
func (r *reader) epochRow(line string) bool {
	if strings.HasPrefix(line, "Epoch ") && strings.Contains(line, ultralyticsColumn) {
		for i, name := range strings.Fields(line) {
			if name == ultralyticsColumn {
				r.memoryAt = i
			}
		}
		return true
	}
	if r.memoryAt == 0 || !isDigit(line[0]) {
		return false
	}
	fields := strings.Fields(line[:min(len(line), 200)])
	if len(fields) <= r.memoryAt || !strings.HasSuffix(fields[r.memoryAt], "G") {
		return false
	}
	epoch, _, ok := strings.Cut(fields[0], "/")
	n, isNumber := smallNumber(epoch)
	tokens := tokenize(fields[r.memoryAt], nil)
	if !ok || !isNumber || len(tokens) != 2 || tokens[0].kind != number {
		return false
	}
	here := nowhere()
	here.epoch = float64(n)
	r.move(here, true)
	r.forms[PrintedLines] = true
	r.take(&figure{metric: Reserved, value: tokens[0].value, digits: tokens[0].digits, unit: Unit{Text: "G", Power: 3},
		spelling: ultralyticsColumn, device: Unknown}, true)
	return true
}
