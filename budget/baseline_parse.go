package budget

import (
	"strconv"

	"github.com/snapview/snapview/attribution"
)

// ParseBaseline reads what Baseline.Write wrote; name is for messages.
func ParseBaseline(name string, data []byte) (*Baseline, error) {
	root, err := parseFile(name, data)
	if err != nil {
		return nil, err
	}
	f, err := root.fields("a baseline")
	if err != nil {
		return nil, err
	}
	version := ""
	read(f, "version", &version, knownVersion(baselineVersion))
	b := &Baseline{File: name}
	read(f, "runs", &b.Runs, each(parseRun))
	if err := f.done(); err != nil {
		return nil, err
	}
	if version == "" {
		return nil, root.errorf("no version: this is not a baseline that snapview wrote")
	}
	return b, nil
}

// each reads a list with a reader of its items.
func each[T any](item func(node) (T, error)) func(node) ([]T, error) {
	return func(n node) ([]T, error) {
		nodes, err := n.list()
		if err != nil {
			return nil, err
		}
		out := make([]T, len(nodes))
		for i := range nodes {
			if out[i], err = item(nodes[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

func parseRun(n node) (r BaselineRun, err error) {
	f, err := n.fields("a run")
	if err != nil {
		return r, err
	}
	read(f, "file", &r.Name, filled)
	read(f, "kind", &r.Kind, oneOf("snapshot", "trace", "memory_timeline"))
	read(f, "devices", &r.Devices, each(parseBaselineDevice))
	if err := f.done(); err != nil {
		return r, err
	}
	if r.Name == "" || r.Kind == "" {
		return r, n.errorf("a run needs a file and a kind")
	}
	return r, nil
}

func parseBaselineDevice(n node) (d BaselineDevice, err error) {
	f, err := n.fields("a device")
	if err != nil {
		return d, err
	}
	d.Moment = atPeak
	read(f, "device", &d.ID, filled)
	read(f, "history", &d.History, filled)
	read(f, "settings", &d.Settings, filled)
	read(f, "stats", &d.Numbers, parseNumbers)
	read(f, "categories", &d.Totals, parseMoments)
	read(f, "moment", &d.Moment, oneOf(atPeak, atEnd))
	read(f, "lines", &d.Places, parsePlaces)
	read(f, "not_listed", &d.Rest, parseRest)
	if err := f.done(); err != nil {
		return d, err
	}
	if d.ID == "" {
		return d, n.errorf("a device needs its index")
	}
	return d, nil
}

// maxBaselineBytes bounds a number, so that no sum of a file overflows.
const maxBaselineBytes = 1 << 56

// whole reads a number that is not negative.
func whole(n node) (int64, error) {
	text, err := n.text()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 || v > maxBaselineBytes {
		return 0, n.errorf("%s is not a number of bytes or a count", n.kind())
	}
	return v, nil
}

func parseNumbers(n node) (map[string]int64, error) {
	f, err := n.fields("stats")
	if err != nil {
		return nil, err
	}
	numbers := map[string]int64{}
	for _, s := range gateStats {
		if !s.inBaseline() {
			continue
		}
		v := int64(-1)
		if read(f, s.name, &v, whole); v >= 0 {
			numbers[s.name] = v
		}
	}
	return numbers, f.done()
}

func parseMoments(n node) (map[string]attribution.Totals, error) {
	f, err := n.fields("categories")
	if err != nil {
		return nil, err
	}
	moments := map[string]attribution.Totals{}
	for _, at := range [...]string{atPeak, atEnd} {
		if _, ok := f.values[at]; ok {
			var totals attribution.Totals
			read(f, at, &totals, parseTotals)
			moments[at] = totals
		} else {
			f.take(at)
		}
	}
	return moments, f.done()
}

func parseTotals(n node) (t attribution.Totals, err error) {
	f, err := n.fields("categories")
	if err != nil {
		return t, err
	}
	for _, c := range attribution.Categories() {
		read(f, c.String(), &t[c], whole)
	}
	return t, f.done()
}

// maxBaselineLines bounds a list of lines. The program writes far fewer.
const maxBaselineLines = 100_000

// parsePlaces reads lines, of which one that holds several categories has
// several.
func parsePlaces(n node) ([]attribution.Place, error) {
	lines, err := each(parsePlace)(n)
	if err != nil {
		return nil, err
	}
	if len(lines) > maxBaselineLines {
		return nil, n.errorf("%d lines are more than the limit of %d", len(lines), maxBaselineLines)
	}
	return joinPlaces(lines), nil
}

func parsePlace(n node) (p attribution.Place, err error) {
	f, err := n.fields("a line")
	if err != nil {
		return p, err
	}
	category := attribution.Unknown
	bytes, line := int64(0), int64(0)
	read(f, "file", &p.File, node.text)
	read(f, "line", &line, whole)
	read(f, "function", &p.Function, node.text)
	read(f, "category", &category, func(n node) (attribution.Category, error) {
		text, err := n.text()
		if err != nil {
			return 0, err
		}
		if _, err := known(n, text, "category", categoryNames()); err != nil {
			return 0, err
		}
		return attribution.ParseCategory(text)
	})
	read(f, "bytes", &bytes, whole)
	if line > 1<<31-1 {
		f.fail(n.errorf("line: %d is too large", line))
	}
	p.Line, p.Totals[category] = int32(line), bytes
	return p, f.done()
}

func parseRest(n node) (r BaselineRest, err error) {
	f, err := n.fields("not_listed")
	if err != nil {
		return r, err
	}
	lines := int64(0)
	read(f, "lines", &lines, whole)
	read(f, "bytes", &r.Bytes, whole)
	read(f, "largest", &r.Largest, whole)
	r.Lines = int(lines)
	if err := f.done(); err != nil {
		return r, err
	}
	if r.Largest > r.Bytes {
		return r, n.errorf("largest is %d, more than all bytes, which are %d", r.Largest, r.Bytes)
	}
	return r, nil
}
