package trainlog

import "strings"

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
	if len(fields) <= r.memoryAt {
		return false
	}
	epoch, _, ok := strings.Cut(fields[0], "/")
	n, isNumber := smallNumber(epoch)
	value, digits, unit, whole, isAmount := leadingAmount(fields[r.memoryAt])
	if !ok || !isNumber || !isAmount || !whole || unit != "G" {
		return false
	}
	here := nowhere()
	here.epoch = float64(n)
	r.move(here, true)
	r.forms[PrintedLines] = true
	r.take(&figure{metric: Reserved, value: value, digits: digits, unit: Unit{Text: unit, Power: 3},
		spelling: ultralyticsColumn, device: Unknown}, true)
	return true
}
