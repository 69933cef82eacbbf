package budget

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/snapshot"
)

// A Baseline is what captures needed once: what later ones are compared with.
type Baseline struct {
	File string // where it comes from, for messages
	Runs []BaselineRun
}

// A BaselineRun is one capture of a baseline.
type BaselineRun struct {
	Name    string // the end of the capture's path, as long as needed to tell it from others
	Kind    string // as of Capture
	Devices []BaselineDevice
}

// A BaselineDevice holds the numbers of one device. A number that was not known
// is not there.
type BaselineDevice struct {
	ID       string
	History  string // "" where there is no such thing
	Settings string // the allocator's, as given; "" for none
	Numbers  map[string]int64
	Totals   map[string]attribution.Totals // by moment
	Moment   string                        // of the places
	Places   []attribution.Place           // most bytes first; library files without the folder that packages are in
	Rest     BaselineRest
}

// BaselineRest is what the places of a baseline leave out.
type BaselineRest struct {
	Bytes   int64
	Lines   int
	Largest int64 // bytes of the largest of them
}

// Limits on how many places a baseline keeps: a file that people review holds
// what they would look at.
const (
	maxBaselinePlaces   = 100
	leastBaselineShare  = 1000 // a place below one in so many is left out
	leastBaselinePlaces = 20   // kept however small
)

// NewBaseline notes down what captures need, all places of them.
func NewBaseline(file string, captures ...*Capture) *Baseline {
	b := &Baseline{File: file}
	names := make([]string, len(captures))
	for i, c := range captures {
		names[i] = c.File
	}
	names = runNames(names)
	for i, c := range captures {
		b.Runs = append(b.Runs, newBaselineRun(names[i], c))
	}
	slices.SortStableFunc(b.Runs, func(x, y BaselineRun) int { return cmp.Compare(x.Name, y.Name) })
	return b
}

func newBaselineRun(name string, c *Capture) BaselineRun {
	run := BaselineRun{Name: name, Kind: c.Kind}
	for _, d := range c.Devices {
		run.Devices = append(run.Devices, newBaselineDevice(d))
	}
	return run
}

func newBaselineDevice(d *CaptureDevice) BaselineDevice {
	out := BaselineDevice{ID: d.ID, Settings: d.source.settings(), Numbers: map[string]int64{}, Totals: map[string]attribution.Totals{}}
	out.History, _, _ = d.source.word("history")
	for _, s := range gateStats {
		if !s.inBaseline() {
			continue
		}
		if n, ok := d.source.number(s.name); ok && n.Missing == "" {
			out.Numbers[s.name] = n.Value
		}
	}
	for _, at := range [...]string{atPeak, atEnd} {
		if totals, missing := d.source.totals(at); missing == "" {
			out.Totals[at] = totals
		}
	}
	out.Moment = atPeak
	places, missing := d.source.places(atPeak)
	if missing != "" {
		out.Moment = atEnd
		places, _ = d.source.places(atEnd)
	}
	out.Places = sortedPlaces(places)
	return out
}

// joinPlaces makes one of the places of one name.
func joinPlaces(places []attribution.Place) []attribution.Place {
	var out []attribution.Place
	index := map[GatePlace]int{}
	for _, p := range places {
		key := GatePlace{File: p.File, Function: p.Function, Line: p.Line}
		i, ok := index[key]
		if !ok {
			index[key] = len(out)
			out = append(out, p)
			continue
		}
		out[i].Count += p.Count
		for c := range p.Totals {
			out[i].Totals[c] += p.Totals[c]
		}
	}
	return out
}

func sortedPlaces(places []attribution.Place) []attribution.Place {
	places = slices.Clone(places)
	slices.SortFunc(places, func(a, b attribution.Place) int {
		return cmp.Or(cmp.Compare(b.Totals.Sum(), a.Totals.Sum()), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Function, b.Function))
	})
	return places
}

// Shorten leaves of each device the places that hold most, and of their paths
// what does not depend on where the program was checked out, so that the
// baseline is a file to review.
func (b *Baseline) Shorten() {
	for i := range b.Runs {
		for j := range b.Runs[i].Devices {
			d := &b.Runs[i].Devices[j]
			d.leaveOutSmall()
			shortenPaths(d.Places)
		}
	}
}

func (d *BaselineDevice) leaveOutSmall() {
	total := int64(0)
	for _, p := range d.Places {
		total += p.Totals.Sum()
	}
	keep := len(d.Places)
	for keep > leastBaselinePlaces && (keep > maxBaselinePlaces || d.Places[keep-1].Totals.Sum() < total/leastBaselineShare) {
		keep--
	}
	for _, p := range d.Places[keep:] {
		d.Rest.Bytes += p.Totals.Sum()
		d.Rest.Lines++
		d.Rest.Largest = max(d.Rest.Largest, p.Totals.Sum())
	}
	d.Places = d.Places[:keep]
}

// shortenPaths takes off the folder that the program's own files share, and the
// one that packages are installed in.
func shortenPaths(places []attribution.Place) {
	root := ""
	first := true
	for _, p := range places {
		if !ownFile(p.File) {
			continue
		}
		folder := path.Dir(slashed(p.File)) + "/"
		if first {
			root, first = folder, false
		}
		for !strings.HasPrefix(folder, root) {
			root = root[:strings.LastIndexByte(strings.TrimSuffix(root, "/"), '/')+1]
		}
	}
	if root == "./" || root == "/" {
		root = "" // the root of a disk says nothing about the program
	}
	for i := range places {
		file := slashed(places[i].File)
		if ownFile(file) {
			places[i].File = strings.TrimPrefix(file, root)
			continue
		}
		for _, folder := range [...]string{"/site-packages/", "/dist-packages/"} {
			if _, inside, ok := strings.Cut(file, folder); ok {
				places[i].File = inside
			}
		}
	}
}

// ownFile reports whether a file is the program's own Python code.
func ownFile(file string) bool {
	f := snapshot.Frame{File: file}
	return strings.HasSuffix(file, ".py") && f.IsPython() && !f.IsLibrary()
}

// runNames are the shortest ends of paths that tell them apart, without the
// suffix of a compression.
func runNames(files []string) []string {
	names := make([]string, len(files))
	for i, file := range files {
		elements := strings.Split(plainName(file), "/")
		for n := 1; n <= len(elements); n++ {
			names[i] = strings.Join(elements[len(elements)-n:], "/")
			if !slices.ContainsFunc(files, func(other string) bool {
				return other != file && strings.HasSuffix("/"+plainName(other), "/"+names[i])
			}) {
				break
			}
		}
	}
	return names
}

// plainName is a path in the form of run names.
func plainName(file string) string {
	name := strings.TrimPrefix(path.Clean(slashed(file)), "/")
	for _, suffix := range [...]string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// run finds the run to compare a capture with: the one whose name the capture's
// path ends in, or the only one when there is one capture.
func (b *Baseline) run(file, kind string, alone bool) (*BaselineRun, error) {
	var best *BaselineRun
	for i := range b.Runs {
		r := &b.Runs[i]
		if strings.HasSuffix("/"+plainName(file), "/"+r.Name) && (best == nil || len(r.Name) > len(best.Name)) {
			best = r
		}
	}
	if best == nil && alone && len(b.Runs) == 1 {
		best = &b.Runs[0]
	}
	if best == nil {
		return nil, fmt.Errorf("the baseline %s has no run of this name; --update adds it", b.File)
	}
	if best.Kind != kind {
		return nil, fmt.Errorf("the baseline's run %s is of a %s, and this is a %s", best.Name, best.Kind, kind)
	}
	return best, nil
}

// device finds the device to compare with: that of the same index, or the only
// one where both have one.
func (r *BaselineRun) device(id string, alone bool) (*BaselineDevice, error) {
	for i := range r.Devices {
		if r.Devices[i].ID == id {
			return &r.Devices[i], nil
		}
	}
	if alone && len(r.Devices) == 1 {
		return &r.Devices[0], nil
	}
	return nil, fmt.Errorf("the baseline's run %s has no device %s; --update adds it", r.Name, id)
}

// knows reports whether the device has what a gate on growth compares with.
func (d *BaselineDevice) knows(g *Gate) bool {
	switch g.Kind {
	case OnStat:
		_, ok := d.Numbers[g.Subject]
		return ok
	case OnCategory:
		_, ok := d.Totals[g.At]
		return ok
	}
	return d.Moment == g.At
}
