package trainlog

import (
	"math"
	"slices"
	"strings"
)

// failure reads PyTorch's message about an allocation that failed, of any
// version. It reports false for other lines.
func (r *reader) failure(line string) bool {
	const begin = "Tried to allocate "
	at := strings.Index(line, begin)
	if at < 0 || !strings.Contains(line[:at], "out of memory") {
		return false
	}
	message := line[at:]
	r.log.Failed++
	source := r.now.Source
	t := r.steps()
	source.Run = t.run
	f := Failure{Line: r.line, Step: math.NaN(), Source: source,
		Asked: amountAfter(message, begin), Free: math.NaN(), Total: math.NaN(), Allocated: math.NaN(), Reserved: math.NaN()}
	if t.known && t.by == ByStep {
		f.Step = t.step
	}
	if at := strings.Index(message, "GPU "); at >= 0 {
		if n, ok := leadingNumber(message[at+len("GPU "):]); ok {
			f.Device = n
		}
	}
	f.Total = amountBefore(message, " total capacity")
	if math.IsNaN(f.Total) {
		f.Total = amountAfter(message, "total capacity of ")
	}
	f.Free = amountBefore(message, " free")
	if math.IsNaN(f.Free) {
		f.Free = amountBefore(message, " is free")
	}
	f.Allocated = amountBefore(message, " is allocated by PyTorch")
	if math.IsNaN(f.Allocated) {
		f.Allocated = amountBefore(message, " already allocated")
	}
	f.Reserved = amountBefore(message, " reserved in total by PyTorch")
	if cached := amountBefore(message, " is reserved by PyTorch but unallocated"); math.IsNaN(f.Reserved) {
		f.Reserved = f.Allocated + cached
	}
	f.tracker = t
	r.keepFailure(f)
	if !math.IsNaN(f.Total) {
		r.total(f.Source, &figure{value: f.Total, unit: Unit{Text: "bytes"}})
	}
	return true
}

// keepFailure counts a failure and keeps it, in place of the one before if its
// source has many: the first and the last tell most.
func (r *reader) keepFailure(f Failure) {
	i := slices.IndexFunc(r.log.FailedOf, func(c FailedCount) bool { return c.Source == f.Source && c.tracker == f.tracker })
	if i < 0 {
		if len(r.log.FailedOf) >= MaxSeries {
			return
		}
		i = len(r.log.FailedOf)
		r.log.FailedOf = append(r.log.FailedOf, FailedCount{Source: f.Source, tracker: f.tracker})
	}
	f.tracker.used = true
	c := &r.log.FailedOf[i]
	if c.Count++; c.Count > MaxFailures {
		r.log.Failures[c.last] = f
		return
	}
	c.last = len(r.log.Failures)
	r.log.Failures = append(r.log.Failures, f)
}

// amountAfter reads an amount such as "20.00 MiB" behind words; NaN when it is not there.
func amountAfter(text, words string) float64 {
	at := strings.Index(text, words)
	if at < 0 {
		return math.NaN()
	}
	value, _, unit, _, ok := leadingAmount(text[at+len(words):])
	if u, isUnit := parseUnit(unit, false); ok && isUnit {
		if bytes := value * math.Pow(1024, float64(u.Power)); bytes >= 0 && bytes < mostBytes {
			return bytes
		}
	}
	return math.NaN()
}

// amountBefore reads an amount that ends where words begin.
func amountBefore(text, words string) float64 {
	at := strings.Index(text, words)
	if at < 0 {
		return math.NaN()
	}
	fields := strings.Fields(text[max(0, at-40):at])
	if len(fields) < 2 {
		return math.NaN()
	}
	return amountAfter(strings.Join(fields[len(fields)-2:], " "), "")
}
