package viewer

import (
	"errors"
	"strings"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// cutOff is the handmade snapshot broken off after a number of events.
func cutOff(events int) *snapshot.Snapshot {
	s := handmade()
	s.Partial = errors.New("the file ends at byte 77")
	s.Settings, s.Annotations = snapshot.Settings{}, nil
	s.Devices[0].Events = s.Devices[0].Events[:events]
	return s
}

func TestHistoryWithoutItsEnd(t *testing.T) {
	html, _ := parts(t, render(t, NewSnapshot(cutOff(6), Options{})))
	for _, want := range []string{
		"The file breaks off within its history: memory peaked at 20.0 MiB or more, and at the last event read 20.0 MiB or more was requested.",
		"<dt>Peak, at least</dt>", "<dt>Last event read</dt>", "requested, at least", "when dumped",
		"At the last event read <span>20.0 MiB</span>", "highest read 20.0 MiB", "At the highest point read",
		"Segments when dumped", "State when dumped", "its newest events are missing",
		"Not reached: the file breaks off",
		"at least 20.0 MiB of that requested by live tensors",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, wrong := range []string{"at the end", "At the end", "ended at", "pushed out of the ring", "working backwards", "does not hold the allocator", "<dt>End</dt>", "Zero means"} {
		if strings.Contains(html, wrong) {
			t.Errorf("the page says %q", wrong)
		}
	}
}

// The dump itself proves a peak that the events read do not reach.
func TestPeakIsNoLessThanTheDump(t *testing.T) {
	in := NewSnapshot(cutOff(1), Options{})
	html, _ := parts(t, render(t, in))
	if !strings.Contains(html, "memory peaked at 8.00 MiB or more, which was requested when the snapshot was taken") {
		t.Errorf("the verdict is %q", in.Devices[0].Verdict.Text)
	}
	if n := headline(&in.Devices[0])[0]; n.Raw != 8<<20 || n.Sub != "requested, when dumped" {
		t.Errorf("the card is %+v", n)
	}
}

func TestFileCutOffBeforeItsHistory(t *testing.T) {
	html, _ := parts(t, render(t, NewSnapshot(cutOff(0), Options{})))
	if !strings.Contains(html, "breaks off before its history") || !strings.Contains(html, "history not reached") {
		t.Error("the page should say that the history was not reached")
	}
	if strings.Contains(html, "No history was recorded") || strings.Contains(html, "no history recorded") || strings.Contains(html, "t the end") || strings.Contains(html, "<dt>End</dt>") || strings.Contains(html, "Only the state was recorded") {
		t.Error("the page claims that no history was recorded")
	}
}

func TestOutOfMemoryMoment(t *testing.T) {
	in := NewSnapshot(handmade(), Options{})
	d := in.Devices[0]
	want := Failure{Event: 4, Of: 1, Asked: 30 << 20, Reserved: 20 << 20, Requested: 20 << 20, DeviceFree: 1 << 20}
	if d.Failure == nil || *d.Failure != want {
		t.Fatalf("the failure is %+v", d.Failure)
	}
	if m := d.Moments[2]; m.Name != "oom" || m.Point.Event != 4 || m.Total != 20<<20 || m.Flame == nil {
		t.Errorf("the moment is %+v", m)
	}
	html, data := parts(t, render(t, in))
	if !strings.Contains(html, "At the out-of-memory <span>20.0 MiB</span>") || !strings.Contains(data, `"oom":{"frame"`) {
		t.Error("the page lacks the tab or the flame graph")
	}
	html, _ = parts(t, render(t, fakeSnapshot()))
	if !strings.Contains(html, "Memory ran out 2 times in this history; this is the last one.") {
		t.Error("several out-of-memory events should be mentioned at the tab")
	}
}

func TestIdleDevicesTakeALine(t *testing.T) {
	html, _ := parts(t, render(t, fakeSnapshot()))
	if !strings.Contains(html, "Device 2 held no memory, and no event was recorded on it.") || strings.Contains(html, `id="d2"`) {
		t.Error("an idle device should take one line and no tab")
	}
	if !strings.Contains(html, "<li>2 of 3 devices in use</li>") {
		t.Error("the header should say how many devices are in use")
	}
	s := fakeSnapshot()
	s.Devices = append(s.Devices[:1:1], s.Devices[2])
	if html, _ = parts(t, render(t, s)); !strings.Contains(html, "<li>history: truncated, 10 events</li>") || strings.Contains(html, `class="wrap devices"`) {
		t.Error("with one device in use the header should tell its events and there is nothing to switch")
	}
	s.Devices = s.Devices[1:]
	if html, _ = parts(t, render(t, s)); strings.Contains(html, "holds no device") || !strings.Contains(html, "Device 2 held no memory") {
		t.Error("a file with an idle device only should say just that")
	}
}

// Blocks in the map are called what the table calls them.
func TestUnnamedBlocks(t *testing.T) {
	for _, c := range []struct {
		stacks, older bool
		want          string
	}{{true, false, "(autograd thread)"}, {true, true, "(before the history)"}, {false, false, "(no stack)"}} {
		s := handmade()
		d := s.Devices[0]
		d.Blocks[0].Stack = snapshot.NoStack
		d.Events[1].Stack = snapshot.NoStack
		if c.older {
			d.Events = d.Events[2:]
		}
		if !c.stacks {
			d.Events[2].Stack = snapshot.NoStack
		}
		in := NewSnapshot(s, Options{})
		end := in.Devices[0].Moments[1]
		if got := in.Devices[0].Segments[0].Blocks[0].Unnamed; got != c.want || end.Rows[0].Function != c.want {
			t.Errorf("%+v: the block is %q, the row %q", c, got, end.Rows[0].Function)
		}
	}
}

func TestNativeFramesHaveALabel(t *testing.T) {
	for _, name := range []string{"", "??"} {
		if f := newFrame("??", name, 0); f != (Frame{Function: "(native code)", Kind: NativeFrame}) {
			t.Errorf("a frame %q without debug information is %+v", name, f)
		}
	}
}
