package attribution

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// explainCapture explains the out-of-memory events of a capture.
func explainCapture(t *testing.T, name string, o OOMOptions) *OOMReport {
	t.Helper()
	s, err := snapshot.Open("../testdata/snapshots/" + name + ".pickle.zst")
	if err != nil {
		t.Fatal(err)
	}
	line := s.Timeline(s.Devices[0])
	return ExplainOOM(Classify(s, line), allocator.Exact(s, line), o)
}

// oomMessage is PyTorch's message about the failure of a capture, and the size
// of the device.
func oomMessage(t *testing.T, name string) (message string, device int64) {
	t.Helper()
	path := "../testdata/snapshots/" + name + ".truth.json"
	var r io.Reader
	f, err := os.Open(path)
	if err == nil {
		r = f
	} else if f, err = os.Open(path + ".zst"); err == nil {
		d, err := zstd.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		r = d
	} else {
		t.Fatal(err)
	}
	defer f.Close()
	var truth struct {
		Message string `json:"message"`
		Device  int64  `json:"device_total"`
	}
	if err := json.NewDecoder(r).Decode(&truth); err != nil {
		t.Fatal(err)
	}
	return truth.Message, truth.Device
}

// printed reports whether PyTorch prints n bytes as text, which it does with two
// decimals.
func printed(t *testing.T, n int64, text string) bool {
	t.Helper()
	want, err := units.ParseBytes(text)
	if err != nil {
		t.Fatal(err)
	}
	unit := int64(1) << 20
	if strings.HasSuffix(text, "GiB") {
		unit <<= 10
	}
	return max(n, want)-min(n, want) <= unit/200+1
}

var messageParts = regexp.MustCompile(`Tried to allocate ([\d.]+ \w+)\..* of which ([\d.]+ \w+) is free\..*? ([\d.]+ \w+) allowed; ` +
	`Of the allocated memory ([\d.]+ \w+) is allocated by PyTorch, and ([\d.]+ \w+) is reserved by PyTorch but unallocated`)

// What PyTorch itself said, number by number.
func TestOOMAgreesWithMessage(t *testing.T) {
	for _, name := range []string{"frag/after_oom", "expandable_frag/after_oom", "oom/after", "sim_kvcache/default_lim1", "sim_varlen/default_lim1"} {
		message, _ := oomMessage(t, name)
		parts := messageParts.FindStringSubmatch(message)
		if parts == nil {
			t.Fatalf("%s: the message is %q", name, message)
		}
		r := explainCapture(t, name, OOMOptions{})
		if len(r.Events) != 1 || !r.Check.Exact {
			t.Fatalf("%s: %d events, check %+v", name, len(r.Events), r.Check)
		}
		x := r.Events[0]
		allowed, err := units.ParseBytes(parts[3])
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			what string
			have int64
			want string
		}{{"asked of the device", x.FromDevice, parts[1]}, {"allocated", x.Allocated, parts[4]}, {"free", x.Reserved - x.Allocated, parts[5]}, {"free by blocks", x.Free, parts[5]}} {
			if !printed(t, c.have, c.want) {
				t.Errorf("%s: %s %d, PyTorch says %s", name, c.what, c.have, c.want)
			}
		}
		if x.Limit.How != LimitSet || x.Limit.Low > allowed || x.Limit.High <= allowed {
			t.Errorf("%s: the limit is %+v, PyTorch allowed %s", name, x.Limit, parts[3])
		}
	}
}

func TestOOMVerdicts(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name      string
		limit     int64 // given
		verdict   Verdict
		short     int64
		undecided bool
		help      string // the best setting; "" for none
		where     string // end of the file that asked
		line      int32
	}{
		{"frag/after_oom", 0, Capacity, (1300 - 102) * mib, true, "", "scenarios.py", 113},
		{"frag/after_oom", 2048 * mib, Capacity, 62 * mib, false, "", "scenarios.py", 113},
		{"expandable_frag/after_oom", 0, Capacity, (1300 - 110) * mib, true, "", "scenarios.py", 113},
		{"expandable_frag/after_oom", 2048 * mib, Capacity, 62 * mib, false, "", "scenarios.py", 113},
		{"sim_kvcache/default_lim1", 0, Fragmented, 0, false, "expandable_segments:True", "sim.py", 24},
		{"sim_kvcache/default_lim1", 1024 * mib, Fragmented, 0, false, "expandable_segments:True", "sim.py", 24},
		{"sim_varlen/default_lim1", 0, Capacity, 14723072, true, "", "", 0},
		{"sim_varlen/default_lim1", 1024 * mib, Capacity, 6334464, false, "", "", 0},
		{"oom/observer", 0, Fragmented, 0, false, "expandable_segments:True", "model.py", 16},
		{"oom/after", 3072 * mib, Fragmented, 0, false, "expandable_segments:True", "model.py", 16},
	} {
		r := explainCapture(t, c.name, OOMOptions{Limit: c.limit})
		x := r.Events[0]
		if x.Verdict != c.verdict || x.ShortBy != c.short || x.Undecided() != c.undecided {
			t.Errorf("%s, limit %d: %v, short by %d, undecided %v; want %+v", c.name, c.limit, x.Verdict, x.ShortBy, x.Undecided(), c)
		}
		if !strings.HasSuffix(x.File, c.where) || x.Line != c.line {
			t.Errorf("%s: asked by %s:%d", c.name, x.File, x.Line)
		}
		best := ""
		if len(r.Remedies) > 0 && r.Remedies[0].Helps() {
			best = r.Remedies[0].Conf
		}
		if best != c.help || c.help == "" && r.Untried == "" {
			t.Errorf("%s, limit %d: the best setting is %q (%s), want %q", c.name, c.limit, best, r.Untried, c.help)
		}
		if r.Control != nil && r.Control.Served != 0 {
			t.Errorf("%s: the replay under the recorded settings serves what failed", c.name)
		}
		checkSums(t, c.name, x)
	}
}

// checkSums checks that the parts of an explanation close.
func checkSums(t *testing.T, name string, x *OOM) {
	t.Helper()
	var held, free, pinned, waste, byRow int64
	for _, p := range x.Pools {
		held += p.Reserved
		free += p.Free
	}
	for _, p := range x.Pins {
		pinned += p.Bytes
		if p.Alone > p.Bytes {
			t.Errorf("%s: %+v is alone with more than it has", name, p)
		}
	}
	for _, w := range x.Rounding {
		waste += w.Bytes
	}
	for i := range x.Holders.Rows {
		var parts int64
		for _, p := range x.Parts[i] {
			parts += p.Bytes
		}
		byRow += parts
		if parts != x.Holders.Rows[i].Bytes {
			t.Errorf("%s: the parts of %+v sum to %d", name, x.Holders.Rows[i], parts)
		}
	}
	if held != x.Reserved || free != x.Free || free != x.Reserved-x.Active || pinned != x.Pinned || waste != x.RoundingWaste {
		t.Errorf("%s: pools hold %d and %d free, pins %d, waste %d of %+v", name, held, free, pinned, waste, x.Fragmentation)
	}
	if pinned+x.Releasable > free || byRow != x.Requested || x.Totals.Sum() != x.Requested {
		t.Errorf("%s: rows sum to %d, categories to %d of %d requested", name, byRow, x.Totals.Sum(), x.Requested)
	}
}

func TestOOMOutside(t *testing.T) {
	_, device := oomMessage(t, "frag/after_oom")
	x := explainCapture(t, "frag/after_oom", OOMOptions{Device: device}).Events[0]
	if want := device - x.DeviceFree - x.Reserved; !x.OutsideKnown || x.Outside != want {
		t.Errorf("outside %d, known %v, want %d", x.Outside, x.OutsideKnown, want)
	}
	for _, n := range x.Notes {
		if strings.Contains(n, "size of the device") {
			t.Errorf("the size was given, yet: %s", n)
		}
	}
}

func TestOOMOfQuietHistory(t *testing.T) {
	if r := explainCapture(t, "sim_kvcache/default", OOMOptions{}); len(r.Events) != 0 || r.Untried != "" || len(r.Remedies) != 0 {
		t.Errorf("nothing failed, yet %+v", r)
	}
}

// full is a device that is full: 18 MiB used and 22 free of 40, with 4 left.
func full(asked int64, fails int) (*snapshot.Snapshot, *snapshot.Timeline) {
	const mib = 1 << 20
	s := &snapshot.Snapshot{Frames: []snapshot.Frame{{File: "a.py", Function: "f", Line: 1}, {File: "b.py", Function: "g", Line: 2}},
		Streams: []uint64{0}, Pools: []snapshot.PoolID{{}}, Labels: []snapshot.Label{{}}, Settings: snapshot.Settings{Present: true, MaxSplitSize: -1}}
	keeps, asks := s.Stacks.Add([]snapshot.FrameID{0}), s.Stacks.Add([]snapshot.FrameID{1})
	d := &snapshot.Device{
		Segments: []snapshot.Segment{{Addr: 1 << 30, Total: 20 * mib, NumBlocks: 2}, {Addr: 2 << 30, Total: 20 * mib, FirstBlock: 2, NumBlocks: 2}},
	}
	for i := range 2 {
		base := uint64(i+1) << 30
		d.Blocks = append(d.Blocks, snapshot.Block{Addr: base, Size: 9 * mib, Requested: 9 * mib, Stack: keeps, State: snapshot.Allocated, Segment: int32(i)},
			snapshot.Block{Addr: base + 9*mib, Size: 11 * mib, Segment: int32(i)})
		d.Events = append(d.Events, snapshot.Event{Action: snapshot.SegmentAlloc, Addr: base, Size: 20 * mib, Stack: keeps},
			snapshot.Event{Action: snapshot.Alloc, Addr: base, Size: 9 * mib, Stack: keeps},
			snapshot.Event{Action: snapshot.Alloc, Addr: base + 9*mib, Size: 11 * mib, Stack: keeps})
	}
	for i := range 2 {
		for _, action := range []snapshot.Action{snapshot.FreeRequested, snapshot.FreeCompleted} {
			d.Events = append(d.Events, snapshot.Event{Action: action, Addr: uint64(i+1)<<30 + 9*mib, Size: 11 * mib, Stack: keeps})
		}
	}
	for range fails {
		d.Events = append(d.Events, snapshot.Event{Action: snapshot.OOM, Addr: 4 * mib, Size: asked, Stack: asks})
	}
	s.Devices = []*snapshot.Device{d}
	return s, s.Timeline(d)
}

func TestOOMOfFullDevice(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		asked   int64
		verdict Verdict
		short   int64
	}{{26 * mib, Fragmented, 0}, {27 * mib, Capacity, mib}, {26*mib + 1, Capacity, 512}, {1 << 50, Capacity, 1<<50 - 26*mib}} {
		s, line := full(c.asked, 1)
		r := ExplainOOM(Classify(s, line), allocator.Exact(s, line), OOMOptions{})
		x := r.Events[0]
		if !r.Check.Exact {
			t.Errorf("the replay is not exact: %s", r.Check.Reason)
		}
		if x.Limit.How != LimitDevice || !x.Limit.Known() || x.Limit.Low != 44*mib || x.Undecided() {
			t.Errorf("asked for %d: the limit is %+v", c.asked, x.Limit)
		}
		if x.Verdict != c.verdict || x.ShortBy != c.short || x.LargestUsable != 11*mib || x.File != "b.py" {
			t.Errorf("asked for %d: %v, short by %d, largest %d, by %s", c.asked, x.Verdict, x.ShortBy, x.LargestUsable, x.File)
		}
		if len(x.Pins) != 1 || x.Pins[0].File != "a.py" || x.Pins[0].Bytes != 22*mib || x.Pins[0].Segments != 2 {
			t.Errorf("pins are %+v", x.Pins)
		}
		checkSums(t, "full", x)
	}
}

// A request is not served from the other size class.
func TestOOMOfSmallRequest(t *testing.T) {
	s, line := full(1000, 1)
	s.Devices[0].Events[len(s.Devices[0].Events)-1].Addr = 0
	x := ExplainOOM(Classify(s, line), allocator.Exact(s, line), OOMOptions{}).Events[0]
	if !x.Small || x.LargestUsable != 0 || x.LargestFree != 11<<20 || x.FreeElsewhere != 22<<20 {
		t.Errorf("small %v, usable %d, largest %d, elsewhere %d", x.Small, x.LargestUsable, x.LargestFree, x.FreeElsewhere)
	}
	if x.Rounded != 1024 || x.FromDevice != 2<<20 {
		t.Errorf("rounded %d, from the device %d", x.Rounded, x.FromDevice)
	}
}

func TestOOMsAreBounded(t *testing.T) {
	s, line := full(30<<20, 100)
	r := ExplainOOM(Classify(s, line), allocator.Exact(s, line), OOMOptions{Most: 3})
	if len(r.Events) != 3 || r.Earlier != 97 || r.Events[2].Moment.Event != len(s.Devices[0].Events)-1 {
		t.Errorf("%d events, %d earlier", len(r.Events), r.Earlier)
	}
}

func TestOOMOfImpossibleLimit(t *testing.T) {
	x := explainCapture(t, "frag/after_oom", OOMOptions{Limit: 1}).Events[0]
	if x.Limit.Low != x.Reserved || !strings.Contains(strings.Join(x.Notes, " "), "cannot be right") {
		t.Errorf("limit %+v, notes %q", x.Limit, x.Notes)
	}
}

// Where memory waits for its request, a state of the walk is that of a run of
// its own; elsewhere both agree anyway.
func TestStatesOfWalk(t *testing.T) {
	s, err := snapshot.Open("../testdata/snapshots/frag/after_oom.pickle.zst")
	if err != nil {
		t.Fatal(err)
	}
	line := s.Timeline(s.Devices[0])
	events := []int{-1, 0, 1, 2, 100, 101, 102, 408, 1 << 40}
	r, states, curve := allocator.ExactWith(s, line, events, 50)
	if !r.Check.Exact || len(curve) == 0 || len(curve) > 50 {
		t.Fatalf("check %+v, %d samples", r.Check, len(curve))
	}
	for i, e := range events {
		want := r.At(min(e, len(line.Device.Events)-1))
		if len(states[i].Blocks) != len(want.Blocks) || states[i].Reserved != want.Reserved || states[i].Allocated != want.Allocated {
			t.Errorf("after event %d: %d blocks, want %d", e, len(states[i].Blocks), len(want.Blocks))
		}
	}
}
