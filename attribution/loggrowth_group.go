package attribution

import (
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/snapview/snapview/trainlog"
)

// A logGroup are files of one run, or of its ranks.
type logGroup struct {
	logs   []*trainlog.Log
	named  bool // runs are told apart by their files
	device int  // the only GPU of interest; trainlog.Unknown for all
	notes  []string
}

// groupLogs finds out which files are of one run: those of one name but for what
// follows its first point (run1.log, run1.smi.csv); else all, if each tells
// something else and none contradicts another; else each is a run of its own. Tables of GPUs that belong to
// none of several runs are read with each of them.
func groupLogs(logs []*trainlog.Log) []*logGroup {
	groups := byStem(logs)
	if len(groups) > 1 && len(groups) == len(logs) && allDiffer(logs) && !contradict(logs) {
		return []*logGroup{{logs: logs}}
	}
	var out, tables []*logGroup
	for _, g := range groups {
		if !slices.ContainsFunc(g.logs, func(l *trainlog.Log) bool { return !isGPUTable(l) }) {
			tables = append(tables, g)
			continue
		}
		out = append(out, g)
	}
	if len(out) == 0 {
		out, tables = tables, nil
	}
	for _, g := range out {
		for _, t := range tables {
			g.logs = append(g.logs, t.logs...)
		}
		g.named = len(out) > 1
	}
	return out
}

// byStem groups files by folder and name up to the first point.
func byStem(logs []*trainlog.Log) (groups []*logGroup) {
	at := map[string]int{}
	for _, l := range logs {
		name := stem(l.Name)
		i, ok := at[name]
		if !ok || repeats(groups[i].logs, l) {
			i = len(groups)
			at[name] = i
			groups = append(groups, &logGroup{})
		}
		groups[i].logs = append(groups[i].logs, l)
	}
	return groups
}

func stem(path string) string {
	base := filepath.Base(path)
	if i := strings.IndexByte(base, '.'); i > 0 {
		base = base[:i]
	}
	return filepath.Join(filepath.Dir(path), base)
}

// repeats reports whether a log is of the same form as one of a group, and so of
// another run.
func repeats(group []*trainlog.Log, l *trainlog.Log) bool {
	return slices.ContainsFunc(group, func(other *trainlog.Log) bool { return mainForm(other) == mainForm(l) })
}

func allDiffer(logs []*trainlog.Log) bool {
	seen := map[trainlog.Form]bool{}
	for _, l := range logs {
		if seen[mainForm(l)] {
			return false
		}
		seen[mainForm(l)] = true
	}
	return true
}

// mainForm is the form of most values of a log.
func mainForm(l *trainlog.Log) trainlog.Form {
	if len(l.Forms) == 0 {
		return trainlog.PrintedLines
	}
	return l.Forms[0]
}

func isGPUTable(l *trainlog.Log) bool { return mainForm(l) == trainlog.DeviceTable }

// tracks divides the curves of a group among the processes and GPUs that they
// are of.
func (g *logGroup) tracks() []*track {
	var list []*track
	for _, l := range g.logs {
		if isGPUTable(l) {
			continue
		}
		for _, s := range l.Series {
			if g.leavesOut(s.Device) {
				continue
			}
			t := g.trackOf(&list, l, s)
			t.add(l, newLogCurve(s, l.Name))
		}
		if len(l.Series) == 0 {
			g.failedTracks(&list, l)
		}
	}
	for _, l := range g.logs {
		if isGPUTable(l) {
			g.addTable(&list, l)
		}
	}
	for _, t := range list {
		t.takeCapacity()
	}
	return list
}

// leavesOut reports whether a GPU is not the one asked for.
func (g *logGroup) leavesOut(device int) bool {
	return g.device != trainlog.Unknown && device != trainlog.Unknown && device != g.device
}

// trackOf returns the track of a series, a new one if there is none yet.
func (g *logGroup) trackOf(list *[]*track, l *trainlog.Log, s *trainlog.Series) *track {
	source := g.sourceOf(l, s.Source)
	if s.Metric == trainlog.DeviceUsed || s.Metric == trainlog.ProcessUsed { // a table within a log
		source.Process = ""
	}
	same := func(a, b int) bool { return a == b || a == trainlog.Unknown || b == trainlog.Unknown }
	for _, t := range *list {
		if same(t.Rank, source.Rank) && same(t.Device, source.Device) && t.Run == source.Run && (t.Process == source.Process || source.Rank != trainlog.Unknown) {
			if t.Rank == trainlog.Unknown {
				t.Rank = source.Rank
			}
			if t.Device == trainlog.Unknown && g.devices(l) == 1 {
				t.Device = source.Device
			}
			return t
		}
	}
	t := g.newTrack(l, source)
	*list = append(*list, t)
	return t
}

func (g *logGroup) newTrack(l *trainlog.Log, source trainlog.Source) *track {
	t := &track{Source: source, capacity: math.NaN()}
	if g.named {
		t.name = filepath.Base(l.Name)
	}
	return t
}

// sourceOf adds the rank that the name of a file says.
func (g *logGroup) sourceOf(l *trainlog.Log, s trainlog.Source) trainlog.Source {
	if s.Rank == trainlog.Unknown {
		if id := readName(l.Name).id; id.Rank >= 0 {
			s.Rank = id.Rank
		} else if id.Local >= 0 {
			s.Rank = id.Local
		}
	}
	if s.Rank != trainlog.Unknown {
		s.Process = "" // the rank tells it
	}
	return s
}

// devices counts the GPUs that the curves of a log name.
func (g *logGroup) devices(l *trainlog.Log) int {
	seen := map[int]bool{}
	for _, s := range l.Series {
		seen[s.Device] = true
	}
	delete(seen, trainlog.Unknown)
	return len(seen)
}

// failedTracks makes tracks of a log without curves, which says only that
// allocations failed.
func (g *logGroup) failedTracks(list *[]*track, l *trainlog.Log) {
	for _, f := range l.FailedOf {
		source := g.sourceOf(l, f.Source)
		if g.leavesOut(source.Device) || slices.ContainsFunc(*list, func(t *track) bool { return t.includes(source) && slices.Contains(t.logs, l) }) {
			continue
		}
		t := g.newTrack(l, source)
		t.logs = []*trainlog.Log{l}
		*list = append(*list, t)
	}
}

// addTable adds the curves of a table of GPUs to the tracks of these GPUs. A
// single track whose GPU is not known takes those of a single GPU.
func (g *logGroup) addTable(list *[]*track, l *trainlog.Log) {
	if len(*list) == 0 {
		for _, s := range l.Series {
			if g.leavesOut(s.Device) {
				continue
			}
			source := s.Source
			source.Process = ""
			t := g.trackOf(list, l, &trainlog.Series{Metric: s.Metric, Source: source})
			t.add(l, newLogCurve(s, l.Name))
		}
		return
	}
	gpus := g.devices(l)
	joined := false
	for _, t := range *list {
		device, why := t.gpuIn(l, gpus, len(*list), g.device)
		if why != "" {
			t.notes = append(t.notes, why)
		}
		for _, s := range l.Series {
			if device == noGPU || s.Device != device && s.Device != trainlog.Unknown {
				continue
			}
			t.add(l, newLogCurve(s, l.Name))
			joined = true
		}
	}
	if !joined {
		g.notes = append(g.notes, l.Name+" has several GPUs and the logs do not say which is theirs; --device picks one")
	}
}

// noGPU is that a track's GPU is not in a table.
const noGPU = -2

// gpuIn returns the GPU of a table that a track is on, and what that rests on.
func (t *track) gpuIn(l *trainlog.Log, gpus, tracks, asked int) (device int, why string) {
	has := func(device int) bool {
		return slices.ContainsFunc(l.Series, func(s *trainlog.Series) bool { return s.Device == device })
	}
	switch {
	case t.Device != trainlog.Unknown && has(t.Device):
		return t.Device, ""
	case asked != trainlog.Unknown && t.Device == trainlog.Unknown && has(asked):
		return asked, ""
	case gpus <= 1 && tracks == 1:
		if len(l.Series) > 0 {
			return l.Series[0].Device, ""
		}
		return noGPU, ""
	case t.Rank != trainlog.Unknown && has(t.Rank) && gpus > 1:
		return t.Rank, "GPU " + itoa(t.Rank) + " of " + filepath.Base(l.Name) + " is taken for that of rank " + itoa(t.Rank)
	}
	return noGPU, ""
}

func (t *track) add(l *trainlog.Log, c LogCurve) {
	t.curves = append(t.curves, c)
	if !slices.Contains(t.logs, l) {
		t.logs = append(t.logs, l)
	}
}

// takeCapacity finds the size of the GPU.
func (t *track) takeCapacity() {
	for _, l := range t.logs {
		for _, total := range l.Totals {
			if isGPUTable(l) && !slices.ContainsFunc(t.curves, func(c LogCurve) bool { return c.File == l.Name && c.Log.Device == total.Device }) {
				continue
			}
			if !isGPUTable(l) && !t.includes(total.Source) {
				continue
			}
			if math.IsNaN(t.capacity) || t.assumed && !total.Assumed {
				t.capacity, t.assumed = total.Bytes, total.Assumed
			}
		}
	}
}
