package attribution

import (
	"strings"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// A run builds the snapshots of one small training: events go into one history
// and each dump is a copy of what it has become.
type run struct {
	frames []snapshot.Frame
	stacks snapshot.Stacks
	ids    map[string]snapshot.StackID
	events []snapshot.Event
	alive  map[uint64]snapshot.Event
}

func newRun() *run {
	return &run{ids: map[string]snapshot.StackID{}, alive: map[uint64]snapshot.Event{}}
}

// at is a stack of "file:function" frames, innermost first, under <module>.
func (r *run) at(frames ...string) snapshot.StackID {
	key := strings.Join(frames, " ")
	if id, ok := r.ids[key]; ok {
		return id
	}
	var ids []snapshot.FrameID
	for _, f := range append(frames, "/home/me/train.py:<module>") {
		file, function, _ := strings.Cut(f, ":")
		ids = append(ids, snapshot.FrameID(len(r.frames)))
		r.frames = append(r.frames, snapshot.Frame{File: file, Function: function, Line: int32(len(r.frames) + 1)})
	}
	r.ids[key] = r.stacks.Add(ids)
	return r.ids[key]
}

func (r *run) event(a snapshot.Action, addr uint64, size int64, stack snapshot.StackID) {
	r.events = append(r.events, snapshot.Event{Action: a, Addr: addr, Size: size, Stack: stack, Time: 1_700_000_000_000_000 + 7*int64(len(r.events))})
}

func (r *run) alloc(addr uint64, size int64, stack snapshot.StackID) {
	r.event(snapshot.Alloc, addr, size, stack)
	r.alive[addr] = r.events[len(r.events)-1]
}

func (r *run) free(addr uint64, stack snapshot.StackID) {
	size := r.alive[addr].Size
	delete(r.alive, addr)
	r.event(snapshot.FreeRequested, addr, size, stack)
	r.event(snapshot.FreeCompleted, addr, size, stack)
}

// dump is a snapshot that remembers the events from first on.
func (r *run) dump(first int) *snapshot.Snapshot {
	d := &snapshot.Device{Events: append([]snapshot.Event(nil), r.events[first:]...)}
	const base, span = 1 << 20, 1 << 20
	d.Segments = []snapshot.Segment{{Addr: base, Total: span}}
	next := uint64(base)
	gap := func(to uint64) {
		if to > next {
			d.Blocks = append(d.Blocks, snapshot.Block{Addr: next, Size: int64(to - next)})
		}
	}
	for addr := uint64(base); addr < base+span; addr += 512 {
		e, ok := r.alive[addr]
		if !ok {
			continue
		}
		gap(addr)
		d.Blocks = append(d.Blocks, snapshot.Block{Addr: addr, Size: (e.Size + 511) / 512 * 512, Requested: e.Size, Stack: e.Stack, State: snapshot.Allocated})
		next = addr + uint64((e.Size+511)/512*512)
	}
	gap(base + span)
	d.Segments[0].NumBlocks = int32(len(d.Blocks))
	return &snapshot.Snapshot{Devices: []*snapshot.Device{d}, Frames: r.frames, Stacks: r.stacks,
		Streams: []uint64{0}, Pools: []snapshot.PoolID{{}}, Labels: []snapshot.Label{{}}}
}

const torchLib = "/usr/lib/python3/site-packages/torch/"

// trained is a run of one step: a parameter of 1000 B, an activation of 3000 B
// whose address the gradient takes over, and a state of 1000 B.
func trained() (before, forward, backward, step *snapshot.Snapshot) {
	r := newRun()
	build := r.at(torchLib+"nn/modules/module.py:convert", torchLib+"nn/modules/module.py:_apply")
	call := r.at("/home/me/model.py:forward", torchLib+"nn/modules/module.py:_call_impl")
	optim := r.at(torchLib+"optim/adam.py:_init_group", torchLib+"optim/adam.py:step")
	const at = 1 << 20
	r.event(snapshot.SegmentAlloc, at, 1<<20, build)
	r.alloc(at, 1000, build)
	r.alloc(at+0x400, 2000, build)
	before = r.dump(0)
	r.alloc(at+0x2000, 3000, call)
	r.alloc(at+0x4000, 1000, call)
	r.alloc(at+0x5000, 500, call)
	r.free(at+0x5000, call) // frees carry stacks, so one without is the autograd thread's
	forward = r.dump(0)
	r.free(at+0x4000, snapshot.NoStack)
	r.alloc(at+0x4000, 1000, snapshot.NoStack) // a gradient where an activation of the same size was
	r.free(at+0x2000, snapshot.NoStack)
	r.alloc(at+0x6000, 2000, snapshot.NoStack)
	backward = r.dump(0)
	r.alloc(at+0x8000, 1000, optim)
	r.alloc(at+0xa000, 2000, optim)
	step = r.dump(0)
	return before, forward, backward, step
}

func TestThreePhases(t *testing.T) {
	before, forward, backward, step := trained()
	for name, f := range map[string]*snapshot.Snapshot{"from the history": nil, "with the forward": forward} {
		t.Run(name, func(t *testing.T) {
			r, err := ThreePhases(PhaseInput{Before: before, Forward: f, Backward: backward, Step: step})
			if err != nil {
				t.Fatal(err)
			}
			want := Totals{Parameter: 3000, Gradient: 3000, OptimizerState: 3000, Activation: 4000}
			if r.Totals != want {
				t.Errorf("totals %v, want %v", r.Totals, want)
			}
			if r.Total != want.Sum() || !r.Exact {
				t.Errorf("total %d exact %v, want %d exactly", r.Total, r.Exact, want.Sum())
			}
			if r.Peak != (PhasePeak{"step", 9000}) {
				t.Errorf("peak %+v", r.Peak)
			}
			checkPhasesClose(t, &r)
		})
	}
}

// checkPhasesClose tests that a result adds up.
func checkPhasesClose(t *testing.T, r *PhaseResult) {
	t.Helper()
	if r.Totals.Sum() != r.Total {
		t.Errorf("categories sum to %d, total %d", r.Totals.Sum(), r.Total)
	}
	var rows Totals
	for _, x := range r.Rows {
		rows[x.Category] += x.Bytes
	}
	if rows != r.Totals {
		t.Errorf("rows sum to %v, totals %v", rows, r.Totals)
	}
	for _, b := range r.Boundaries {
		if b.Bytes > r.Peak.Bytes {
			t.Errorf("%s holds %d, above the peak of %d", b.Phase, b.Bytes, r.Peak.Bytes)
		}
	}
}

// An address that was freed and handed out again is another allocation.
func TestLinkByBirth(t *testing.T) {
	_, forward, backward, step := trained()
	view := func(s *snapshot.Snapshot) *view { return newView(s, s.Devices[0]) }
	l := newLink(view(forward), view(backward))
	if !l.aligned || l.end != len(forward.Devices[0].Events)-1 {
		t.Fatalf("link %+v", l)
	}
	f, b := view(forward), view(backward)
	for from, to := range newLink(f, b).to {
		x, y := f.timeline.Allocations[from], b.timeline.Allocations[to]
		if x.Born != y.Born || x.Addr != y.Addr {
			t.Errorf("%+v became %+v", x, y)
		}
	}
	// A ring that has lost the first events still shows which birth is which.
	d := *step.Devices[0]
	d.Events = d.Events[3:]
	cut := &snapshot.Snapshot{Devices: []*snapshot.Device{&d}, Frames: step.Frames, Stacks: step.Stacks,
		Streams: step.Streams, Pools: step.Pools, Labels: step.Labels}
	v := newView(cut, &d)
	l = newLink(b, v)
	if !l.aligned || l.end != len(b.timeline.Device.Events)-1-3 {
		t.Errorf("link over a ring: %+v", l)
	}
	if len(l.to) != len(b.alive) {
		t.Errorf("%d of %d followed over a ring", len(l.to), len(b.alive))
	}
}

func TestThreePhasesErrors(t *testing.T) {
	before, _, backward, step := trained()
	other := newRun()
	s := other.at("/home/me/other.py:main")
	other.event(snapshot.SegmentAlloc, 1<<20, 1<<20, s)
	for i := range uint64(9) {
		other.alloc(1<<20+i*1024, 900, s)
	}
	for _, c := range []struct {
		name string
		in   PhaseInput
		want string
	}{
		{"order", PhaseInput{Before: backward, Backward: before, Step: step}, "was taken after"},
		{"another run", PhaseInput{Before: before, Backward: backward, Step: other.dump(0)}, "not of one run"},
		{"missing", PhaseInput{Before: before, Backward: backward}, "no snapshot of step"},
		{"device", PhaseInput{Before: before, Backward: backward, Step: step, Device: 3}, "no device 3"},
	} {
		if _, err := ThreePhases(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// Without any history the address must do, and the result says what it cannot know.
func TestThreePhasesWithoutHistory(t *testing.T) {
	before, _, backward, step := trained()
	for _, s := range []*snapshot.Snapshot{before, backward, step} {
		s.Devices[0].Events = nil
	}
	r, err := ThreePhases(PhaseInput{Before: before, Backward: backward, Step: step})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(r.Notes, "\n")
	if r.Exact || r.Totals[Activation] != 0 || !strings.Contains(notes, "address and size alone") || !strings.Contains(notes, "saved for the backward is not known") {
		t.Errorf("exact %v, totals %v, notes:\n%s", r.Exact, r.Totals, notes)
	}
	if r.Totals[Parameter] != 3000 || r.Totals[OptimizerState] != 3000 {
		t.Errorf("totals %v", r.Totals)
	}
	if r.Total != r.Totals.Sum() {
		t.Errorf("total %d, categories %v", r.Total, r.Totals)
	}
}

// Gradients that an earlier step left and this one replaced count once.
func TestThreePhasesDropsLeftovers(t *testing.T) {
	open := func(name string) *snapshot.Snapshot {
		s, err := snapshot.Open("../testdata/snapshots/gpt_adamw/" + name + ".pickle.zst")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, err := ThreePhases(PhaseInput{Before: open("0_init"), Backward: open("0_backward"), Step: open("0_step")})
	if err != nil {
		t.Fatal(err)
	}
	second, err := ThreePhases(PhaseInput{Before: open("0_step"), Backward: open("1_backward"), Step: open("1_step")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Category{Parameter, Gradient, OptimizerState, Activation} {
		if first.Totals[c] != second.Totals[c] {
			t.Errorf("%s: %d in the first step, %d in the second", c, first.Totals[c], second.Totals[c])
		}
	}
	checkPhasesClose(t, &second)
}
