package viewer

import (
	"fmt"

	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// Trial is the outcome of the same requests under other allocator settings.
type Trial struct {
	Conf         string
	Helps        bool
	Text         string
	PeakReserved int64
	Failed       int
}

func newTrials(remedies []attribution.Remedy) []Trial {
	var out []Trial
	for i := range remedies {
		r := &remedies[i]
		out = append(out, Trial{r.Conf, r.Helps(), r.Text(), r.PeakReserved, r.Failed})
	}
	return out
}

// addTrials replays the requests under other settings, as long as that is quick.
func (f *Fragmentation) addTrials(replay *allocator.Replay) {
	for _, r := range attribution.TrySettings(replay, maxReplayed) {
		f.Trials = append(f.Trials, Trial{Conf: r.Conf, Text: comparedText(r.PeakReserved, replay.PeakReserved), PeakReserved: r.PeakReserved, Failed: r.Failed})
	}
	if len(f.Trials) > 0 {
		f.TrialNote = fmt.Sprintf("The recorded run reserved at most %s. No settings can reserve less than %s, the most that was allocated at a time.",
			units.Bytes(replay.PeakReserved), units.Bytes(replay.PeakAllocated))
	}
}

// comparedText says how a peak differs from the recorded one.
func comparedText(peak, recorded int64) string {
	switch {
	case recorded <= 0 || peak == recorded:
		return "reserves the same"
	case peak < recorded:
		return "reserves " + units.Bytes(recorded-peak) + " (" + units.Percent(recorded-peak, recorded) + ") less"
	}
	return "reserves " + units.Bytes(peak-recorded) + " (" + units.Percent(peak-recorded, recorded) + ") more"
}

// trialView is a row of the what-if table.
type trialView struct {
	Conf, Text, Peak, Exact, Failed string
	Helps                           bool
}

func trialViews(trials []Trial, html *texts) []trialView {
	var out []trialView
	for _, t := range trials {
		out = append(out, trialView{html.value(t.Conf), html.value(t.Text), units.Bytes(t.PeakReserved), units.Exact(t.PeakReserved), units.Count(t.Failed), t.Helps})
	}
	return out
}
