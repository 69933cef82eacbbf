package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// momentHelp lists the forms of --at.
const momentHelp = `--at end      the moment of the snapshot (default)
--at start    before the first event
--at peak     the highest requested bytes of the history
--at oom      the last out-of-memory
--at 1234     after event 1234, counted from 0
--at +1.5     that many seconds after the first event; also +300ms, +2m, +1m30s
--at @1700000000000000
              µs since 1970; the @ may be left out`

// parseMoment checks and completes the argument of --at: seconds may go without
// their unit.
func parseMoment(at string) (string, error) {
	word := strings.ToLower(strings.TrimSpace(at))
	if word == "" {
		return "", usagef("--at: no moment given; use end, start, peak, oom, an event or a time such as +1.5s")
	}
	if seconds, ok := strings.CutPrefix(word, "+"); ok {
		if _, err := strconv.ParseFloat(seconds, 64); err == nil {
			word += "s"
		}
	}
	return word, nil
}

// findMoment finds a moment that parseMoment accepted. Without a history the
// peak is not known, and the end is all there is.
func findMoment(t *snapshot.Timeline, at string) (snapshot.Moment, error) {
	if at == "peak" && t.History == snapshot.HistoryNone {
		at = "end"
	}
	if err := checkInside(t, at); err != nil {
		return snapshot.Moment{}, err
	}
	m, err := t.Moment(at)
	if err != nil {
		return snapshot.Moment{}, usagef("--at %s: %w", at, err)
	}
	return m, nil
}

// checkInside says how long the history is when a time after its start lies
// beyond it, in the unit of the question.
func checkInside(t *snapshot.Timeline, at string) error {
	after, err := time.ParseDuration(at)
	first, last := timeSpan(t)
	if err != nil || first == 0 || after.Microseconds() <= last-first {
		return nil
	}
	unit := strings.TrimLeft(at, "+.0123456789")
	return usagef("--at %s: after the end of the history, which is %s long", at, inUnit(last-first, unit))
}

// inUnit prints µs in a unit of time.ParseDuration, or in the unit that suits
// it when that one is too large or several were mixed.
func inUnit(us int64, unit string) string {
	one, err := time.ParseDuration("1" + unit)
	value := float64(us) * float64(time.Microsecond) / float64(one)
	if err != nil || value < 1 {
		return units.Duration(us)
	}
	return strconv.FormatFloat(value, 'g', 4, 64) + unit
}

// timeSpan is the time of the first event that has one and the latest time in
// µs since 1970, 0 when the file has no times.
func timeSpan(t *snapshot.Timeline) (first, last int64) {
	first = firstTime(t)
	for i := range t.Device.Events {
		last = max(last, t.Device.Events[i].Time)
	}
	return first, last
}

// firstTime is the first half of timeSpan.
func firstTime(t *snapshot.Timeline) int64 {
	for i := range t.Device.Events {
		if us := t.Device.Events[i].Time; us > 0 {
			return us
		}
	}
	return 0
}

// momentText says which moment an answer is about.
func momentText(t *snapshot.Timeline, m snapshot.Moment) string {
	event := eventText(t, m.Event, m.Time)
	switch m.Name {
	case "end":
		if t.OpenEnd {
			return "at the last event read (" + event + ")"
		}
		return "at the end"
	case "start":
		return "at the start"
	case "oom":
		return "at the last out-of-memory (" + event + ")"
	case "peak":
		if t.History == snapshot.HistoryStateOnly {
			return "at the highest point seen (" + event + ")"
		}
		return "at the peak (" + event + ")"
	}
	if m.Event < 0 {
		return event
	}
	return "at " + event
}

// unsoundCaveat is why a history is not to be trusted, "" when it is sound.
func unsoundCaveat(t *snapshot.Timeline) string {
	if t.Unreconciled == 0 && t.UnreconciledReserved == 0 {
		return ""
	}
	what := fmt.Sprintf("device %d: the history contradicts itself or the segments by %s requested and %s reserved; ", t.Device.Index,
		units.Bytes(t.Unreconciled), units.Bytes(t.UnreconciledReserved))
	if t.OpenEnd {
		return what + "take its curve with care"
	}
	return what + "the end is what the blocks say, take what came before with care"
}

// peakCaveat is why the answer to --at peak is not the peak, "" when it is.
func peakCaveat(t *snapshot.Timeline) string {
	switch t.History {
	case snapshot.HistoryNone:
		return fmt.Sprintf("device %d has no history, so its peak is not known; this is the end", t.Device.Index)
	case snapshot.HistoryStateOnly:
		return fmt.Sprintf("device %d: no allocation was recorded as it happened, so its peak is not known; "+
			"this is the highest point seen", t.Device.Index)
	}
	return ""
}
