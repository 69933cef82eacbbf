package trainlog

import (
	"math"
	"strconv"
	"strings"
)

// A summary is the text of torch.cuda.memory_summary() that is being read.
type summary struct {
	device int
	rows   int  // since its title
	seen   bool // a row with a figure
}

// summaryRows are the rows that make curves: current usage and peak.
var summaryRows = map[string]string{
	"Allocated memory": "allocated", "Active memory": "active", "Requested memory": "requested", "GPU reserved memory": "reserved",
}

const (
	summaryTitle  = "memory summary, device ID"
	longSummary   = 60 // lines, at most
	summaryOOMs   = "OOMs:"
	summaryRetry  = "cudaMalloc retries:"
	cellsInRow    = 5 // name, current, peak, allocated in total, freed in total
	summarySource = "memory_summary()"
)

// summaryLine reads a line of a summary; it reports false for any other.
func (r *reader) summaryLine(line string) bool {
	if !strings.HasPrefix(line, "|") {
		return false
	}
	if at := strings.Index(line, summaryTitle); at >= 0 {
		device, _ := leadingNumber(strings.TrimLeft(line[at+len(summaryTitle):], " "))
		r.summary = &summary{device: device}
		r.forms[Summaries] = true
		return true
	}
	s := r.summary
	if s == nil {
		return strings.HasPrefix(line, "|====") || strings.HasPrefix(line, "|----")
	}
	if s.rows++; s.rows > longSummary {
		r.summary = nil
		return false
	}
	if strings.HasPrefix(line, "|====") && s.seen {
		r.summary = nil
		return true
	}
	r.now.Device = s.device
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	r.summaryCounters(cells)
	name, ok := summaryRows[cells[0]]
	if !ok || len(cells) < cellsInRow {
		return true
	}
	s.seen = true
	r.summaryRow(name, cells)
	return true
}

// summaryCounters reads "CUDA OOMs: 0 | cudaMalloc retries: 0".
func (r *reader) summaryCounters(cells []string) {
	retries, ooms := math.NaN(), math.NaN()
	for _, c := range cells {
		if _, n, ok := strings.Cut(c, summaryOOMs); ok {
			ooms = number64(n)
		} else if _, n, ok := strings.Cut(c, summaryRetry); ok {
			retries = number64(n)
		}
	}
	if !math.IsNaN(retries) || !math.IsNaN(ooms) {
		r.count(retries, ooms)
	}
}

func number64(text string) float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// summaryRow takes the current and the peak value of a row. PyTorch prints whole
// units and cuts the rest off.
func (r *reader) summaryRow(name string, cells []string) {
	both := statsMetrics[name]
	for i, metric := range both {
		value, unit, ok := strings.Cut(cells[1+i], " ")
		u, isUnit := parseUnit(strings.TrimSpace(unit), false)
		v := number64(value)
		if !ok || !isUnit || math.IsNaN(v) || metric == numMetrics {
			continue
		}
		scale := math.Pow(1024, float64(u.Power))
		f := figure{metric: metric, value: v * scale, unit: Unit{Text: "bytes"}, spelling: summarySource, device: Unknown}
		if u.Power > 0 {
			f.grain = scale
		}
		r.take(&f, false)
	}
}
