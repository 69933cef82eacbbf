package attribution

import (
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// A scene is a history written down by hand: one device, streams 0 and 1.
type scene struct {
	*snapshot.Snapshot
	dev   *snapshot.Device
	next  uint64
	sizes map[uint64]int64
	birth map[string]uint64
}

const library = "/t/lib/python3.12/site-packages/torch/"

func frame(file, function string, line int32) snapshot.Frame {
	return snapshot.Frame{File: file, Function: function, Line: line}
}

// Places of a program, innermost frame first; main is the outermost frame of
// its main thread.
var (
	main      = frame("/home/me/train.py", "<module>", 1)
	moduleRun = frame(library+"nn/modules/module.py", "_call_impl", 1700)
	linear    = frame(library+"nn/modules/linear.py", "forward", 125)
	convert   = frame(library+"nn/modules/module.py", "convert", 1300)
	applyLow  = frame(library+"nn/modules/module.py", "_apply", 950)
	applyHigh = frame(library+"nn/modules/module.py", "_apply", 980)
	initGroup = frame(library+"optim/adamw.py", "_init_group", 180)
	multi     = frame(library+"optim/adamw.py", "_multi_tensor_adamw", 500)
	stepWrap  = frame(library+"optim/optimizer.py", "wrapper", 480)
	zeroGrad  = frame(library+"optim/optimizer.py", "zero_grad", 950)
	backCall  = frame(library+"_tensor.py", "backward", 620)
	recompute = frame(library+"utils/checkpoint.py", "recompute_fn", 1500)
)

func newScene() *scene {
	d := &snapshot.Device{}
	return &scene{
		Snapshot: &snapshot.Snapshot{Devices: []*snapshot.Device{d}, Streams: []uint64{0, 1}, Pools: []snapshot.PoolID{{}}, Labels: []snapshot.Label{{}}},
		dev:      d, next: 1 << 30, sizes: map[uint64]int64{}, birth: map[string]uint64{},
	}
}

func (s *scene) stack(frames []snapshot.Frame) snapshot.StackID {
	var ids []snapshot.FrameID
	for _, f := range frames {
		ids = append(ids, snapshot.FrameID(len(s.Frames)))
		s.Frames = append(s.Frames, f)
	}
	return s.Stacks.Add(ids)
}

func (s *scene) event(action snapshot.Action, addr uint64, size int64, frames []snapshot.Frame) {
	s.dev.Events = append(s.dev.Events, snapshot.Event{Action: action, Addr: addr, Size: size, Stack: s.stack(frames), Time: int64(1000 + len(s.dev.Events))})
}

// alloc allocates under a name; without frames it is on the autograd thread.
func (s *scene) alloc(name string, size int64, frames ...snapshot.Frame) {
	addr := s.next
	s.next += uint64(size+511) / 512 * 512
	s.sizes[addr], s.birth[name] = size, addr
	s.event(snapshot.Alloc, addr, size, frames)
}

func (s *scene) free(name string, frames ...snapshot.Frame) {
	addr := s.birth[name]
	s.event(snapshot.FreeRequested, addr, s.sizes[addr], frames)
	s.event(snapshot.FreeCompleted, addr, s.sizes[addr], frames)
	delete(s.sizes, addr)
}

// finish adds the segment that holds what is alive, and classifies.
func (s *scene) finish() *Classification {
	for addr := uint64(1 << 30); addr < s.next; {
		size, live := s.sizes[addr]
		step := uint64(512)
		b := snapshot.Block{Addr: addr, Size: 512}
		if live {
			step = uint64(size+511) / 512 * 512
			b = snapshot.Block{Addr: addr, Size: int64(step), Requested: size, State: snapshot.Allocated}
		}
		s.dev.Blocks = append(s.dev.Blocks, b)
		addr += step
	}
	s.dev.Segments = []snapshot.Segment{{Addr: 1 << 30, Total: int64(s.next - 1<<30), NumBlocks: int32(len(s.dev.Blocks))}}
	return Classify(s.Snapshot, s.Timeline(s.dev))
}

// want checks the category of an allocation by name.
func (s *scene) want(t *testing.T, c *Classification, name string, category Category) {
	t.Helper()
	for i, a := range c.Timeline.Allocations {
		if a.Addr == s.birth[name] {
			if got := c.Labels[i]; got.Category != category {
				t.Errorf("%s is called %v (%s), want %v", name, got.Category, got.Evidence, category)
			}
			return
		}
	}
	t.Errorf("%s is not in the timeline", name)
}

const weight, saved = 4000, 9000

// model makes two parameters and a buffer as Module.to does.
func (s *scene) model() {
	s.alloc("weight", weight, convert, applyLow, main)
	s.alloc("bias", weight+512, convert, applyLow, main)
	s.alloc("buffer", 100, convert, applyHigh, main)
}

// step runs a forward, a backward and an AdamW step; the names end in the number.
func (s *scene) step(number string, first bool) {
	s.alloc("batch"+number, 800, main)
	s.alloc("saved"+number, saved, linear, moduleRun, main)
	s.alloc("brief"+number, 700, linear, moduleRun, main)
	s.free("brief"+number, linear, moduleRun, main)
	s.alloc("loss"+number, 4, frame("/home/me/train.py", "loss", 9), main)
	s.alloc("seed"+number, 4, backCall, main)
	s.alloc("scratch"+number, 9000)
	s.alloc("gradW"+number, weight)
	s.free("scratch" + number)
	s.free("saved" + number)
	s.alloc("gradB"+number, weight+512)
	s.free("seed"+number, main)
	if first {
		s.alloc("momentW", weight, initGroup, stepWrap, main)
		s.alloc("momentB", weight+512, initGroup, stepWrap, main)
	}
	s.alloc("foreach"+number, weight, multi, stepWrap, main)
	s.free("foreach"+number, multi, stepWrap, main)
	s.free("gradW"+number, zeroGrad, main)
	s.free("gradB"+number, zeroGrad, main)
	s.free("loss"+number, main)
	s.free("batch"+number, main)
}
