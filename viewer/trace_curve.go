package viewer

import (
	"encoding/json"
)

// traceChart is the option of a memory curve over time: that of a snapshot,
// with the bytes of each category in further columns, which the script
// (assets/js/curve.js) turns into layers.
func traceChart(id string, plain []CurvePoint, layers int) (json.RawMessage, error) {
	rows := curveRows(plain, true)
	addCategories(rows, plain, layers)
	return lineChart(id, plain, [2]string{"allocated", "reserved"}, rows)
}

// reduceTrace is reduceCurve for curves with categories.
func reduceTrace(pts []TracePoint, limit int) []TracePoint {
	keep := keepExtremes(len(pts), limit,
		func(i int) int64 { return pts[i].Allocated },
		func(i int) int64 { return pts[i].Reserved })
	out := make([]TracePoint, len(keep))
	for i, k := range keep {
		out[i] = pts[k]
	}
	return out
}

// drawTraceStatic draws the curve for readers without scripts, and for paper.
func drawTraceStatic(plain []CurvePoint, layers []string, peak Point) *staticCurve {
	s := drawStatic(plain, peak)
	if s == nil {
		return nil
	}
	s.First, s.Last = sinceText(plain[0].Time), sinceText(plain[len(plain)-1].Time)
	s.Key = "allocated"
	s.addLayers(plain, layers)
	return s
}

func sumOf(n []int64) (sum int64) {
	for _, v := range n {
		sum += v
	}
	return sum
}
