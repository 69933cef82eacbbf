package profiler

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/snapview/snapview/internal/value"
)

// A builder sorts raw events into the columns of a Trace.
type builder struct {
	t          *Trace
	names      value.Strings
	threads    map[string]ThreadID // by pid, a zero byte and tid
	key        []byte
	last       ThreadID // of the event before, which is mostly the same
	lastPID    string
	lastTID    string
	devices    map[[2]int64]bool // type and number of those with memory
	lastDevice [2]int64          // of the event before
	flops      map[Name]bool     // operators whose flops need Concrete Inputs
}

func newBuilder() *builder {
	b := &builder{t: &Trace{}, threads: make(map[string]ThreadID), devices: make(map[[2]int64]bool), flops: make(map[Name]bool)}
	b.t.Meta.Rank = -1
	b.names.InternString("")
	return b
}

func (b *builder) repair(kind string, offset int64, lost int) {
	b.t.Repaired++
	if len(b.t.Repairs) < MaxRepairs {
		b.t.Repairs = append(b.t.Repairs, Repair{Kind: kind, Offset: offset, Lost: lost})
	}
}

// name interns the text of a string; its damage is noted where it first occurs.
func (b *builder) name(raw []byte, offset int64) Name {
	if len(raw) == 0 {
		return 0
	}
	known := b.names.Len()
	id := b.names.Intern(raw)
	if int(id) < known {
		return Name(id)
	}
	b.inspect(raw, offset)
	return Name(id)
}

// inspect notes damage inside a string.
func (b *builder) inspect(raw []byte, offset int64) {
	plain := true
	for _, c := range raw {
		if c < ' ' {
			b.repair(repairControl, offset, 0)
			break
		}
		plain = plain && c != '\\' && c < utf8.RuneSelf
	}
	if !plain {
		if _, damaged := unescape(raw); damaged {
			b.repair(repairEscape, offset, 0)
		}
	}
}

// thread interns a pair of pid and tid.
func (b *builder) thread(e *rawEvent) ThreadID {
	if len(b.t.Threads) > 0 && string(e.tid) == b.lastTID && string(e.pid) == b.lastPID {
		return b.last
	}
	b.key = append(append(append(b.key[:0], e.pid...), 0), e.tid...)
	id, ok := b.threads[string(b.key)]
	if !ok {
		if len(b.t.Threads) == MaxThreads {
			return b.last
		}
		id = ThreadID(len(b.t.Threads))
		b.t.Threads = append(b.t.Threads, Thread{PID: string(e.pid), TID: string(e.tid)})
		b.threads[string(b.key)] = id
	}
	b.last, b.lastPID, b.lastTID = id, b.t.Threads[id].PID, b.t.Threads[id].TID
	return id
}

// add files one event. Its slices are valid until the next one is read.
func (b *builder) add(e *rawEvent, offset int64) {
	b.t.Counts.Events++
	switch {
	case e.badDur:
		b.repair(repairNumber, offset, 0)
	case e.dur < 0 && e.phase == 'X':
		b.repair(repairDur, offset, 0)
	}
	switch e.phase {
	case 'X':
		b.span(e, offset)
	case 'i', 'I', 'R':
		b.instant(e, offset)
	case 's', 'f':
		b.arrow(e)
	case 'M':
		b.metadata(e, offset)
	default:
		b.t.Counts.Other++
	}
}

func (b *builder) span(e *rawEvent, offset int64) {
	if !e.hasTime {
		b.timeless(e, offset)
		return
	}
	switch e.category {
	case catOperator, catAnnotation, catRuntime, catOverhead:
		b.host(e, offset)
	case catFrame:
		b.t.Frames = append(b.t.Frames, Frame{Start: e.time, Dur: max(0, e.dur), ID: int32(e.args.pythonID),
			Parent: int32(e.args.pythonParent), Module: int32(e.args.module), Name: b.name(e.name, offset),
			Thread: b.thread(e), Index: int32(e.args.index)})
	case catKernel, catMemcpy, catMemset, catDeviceAnnotation, catCollective:
		b.device(e, offset)
	default:
		b.t.Counts.Other++
	}
}

func (b *builder) host(e *rawEvent, offset int64) {
	a := &e.args
	h := HostEvent{Start: e.time, Dur: max(0, e.dur), Sequence: a.sequence, External: a.external, Correlation: a.correlation,
		Name: b.name(e.name, offset), Shapes: b.name(a.shapes, offset), Stack: b.name(a.stack, offset), Thread: b.thread(e),
		FwdThread: uint32(a.fwdThread), Index: int32(a.index), Unfinished: a.unfinished,
		Kind: HostKind(e.category - catOperator)}
	if len(a.concrete) > 0 && h.Kind == Operator && b.needsConcrete(h.Name) {
		h.Concrete = b.name(a.concrete, offset)
	}
	b.t.Host = append(b.t.Host, h)
}

// needsConcrete reports whether the flops of an operator depend on arguments
// that are no tensors: those of convolutions do.
func (b *builder) needsConcrete(n Name) bool {
	need, known := b.flops[n]
	if !known {
		need = strings.HasPrefix(b.names.Text(uint32(n)), "aten::conv")
		b.flops[n] = need
	}
	return need
}

func (b *builder) device(e *rawEvent, offset int64) {
	a := &e.args
	d := DeviceEvent{Start: e.time, Dur: max(0, e.dur), Correlation: a.correlation, External: a.external, Bytes: a.bytes,
		Name: b.name(e.name, offset), Thread: b.thread(e), Device: int32(a.device), Stream: int32(a.stream),
		Kind: DeviceKind(e.category - catKernel)}
	if !isSize(d.Bytes) {
		b.repair(repairSize, offset, 0)
		d.Bytes = 0
	}
	if a.device == absent {
		n, ok := integer(e.pid)
		if !ok {
			n = absent
		}
		d.Device = int32(n)
	}
	if a.stream == absent {
		n, ok := integer(bytes.TrimPrefix(e.tid, []byte("stream "))) // of 2021
		if !ok {
			n = absent
		}
		d.Stream = int32(n)
	}
	b.t.Device = append(b.t.Device, d)
}

// instant files memory events, which had no cat in 2021, and marks.
func (b *builder) instant(e *rawEvent, offset int64) {
	name := string(e.name)
	if name != "[memory]" && name != "[OutOfMemory]" {
		if e.hasTime {
			b.t.Marks = append(b.t.Marks, Mark{Time: e.time, Name: b.name(e.name, offset), Thread: b.thread(e)})
		}
		return
	}
	if !e.hasTime {
		b.timeless(e, offset)
		return
	}
	a := &e.args
	if !isSize(a.bytes) {
		b.malformed(repairSize, offset)
		return
	}
	if !b.isDevice(a.deviceType, a.deviceID) {
		b.malformed(repairDevice, offset)
		return
	}
	if !isSize(a.allocated) || !isSize(a.reserved) {
		b.repair(repairSize, offset, 0)
		a.allocated, a.reserved = total(a.allocated), total(a.reserved)
	}
	b.t.Memory = append(b.t.Memory, MemoryEvent{Time: e.time, Addr: uint64(a.addr), Bytes: a.bytes, Allocated: a.allocated,
		Reserved: a.reserved, Stack: b.name(a.stack, offset), Thread: b.thread(e), Index: int32(a.index),
		Device: int16(a.deviceID), Type: DeviceType(a.deviceType), OOM: name == "[OutOfMemory]"})
}

// maxSize bounds sizes, in bytes, so that the sum of those of a file is a number.
const maxSize = 1 << 52

func isSize(n int64) bool { return -maxSize <= n && n <= maxSize }

// total leaves a total out that is none.
func total(n int64) int64 {
	if isSize(n) {
		return n
	}
	return NoTotal
}

// MaxDevices is the highest number of devices with memory in a file. PyTorch
// numbers those of a type with 8 bits, and a process sees few.
const MaxDevices = 256

// isDevice reports whether a device is within the range, and takes it in.
func (b *builder) isDevice(kind, id int64) bool {
	k := [2]int64{kind, id}
	if len(b.devices) > 0 && k == b.lastDevice {
		return true
	}
	if int64(int8(kind)) != kind || int64(int16(id)) != id || !b.devices[k] && len(b.devices) == MaxDevices {
		return false
	}
	b.devices[k], b.lastDevice = true, k
	return true
}

// malformed drops an event.
func (b *builder) malformed(kind string, offset int64) {
	b.t.Counts.Malformed++
	b.repair(kind, offset, 1)
}

// timeless drops an event without a time, or with one that is no number.
func (b *builder) timeless(e *rawEvent, offset int64) {
	if e.badTime {
		b.malformed(repairNumber, offset)
	} else {
		b.malformed(repairTime, offset)
	}
}

func (b *builder) arrow(e *rawEvent) {
	switch {
	case e.category == catLaunch:
		b.t.Counts.Flows++
	case e.category == catFwdBwd && e.hasTime:
		b.t.Arrows = append(b.t.Arrows, Arrow{ID: e.id, Time: e.time, Thread: b.thread(e), Start: e.phase == 's'})
	default:
		b.t.Counts.Other++
	}
}

func (b *builder) metadata(e *rawEvent, offset int64) {
	b.inspect(e.args.label, offset)
	text, _ := unescape(e.args.label)
	switch string(e.name) {
	case "thread_name":
		b.t.Threads[b.thread(e)].Label = string(text)
	case "process_name":
		b.t.Threads[b.thread(e)].Process = string(text)
	}
}

// header takes a member of the root object.
func (b *builder) header(key string, value []byte) {
	m := &b.t.Meta
	n, isNumber := integer(value)
	switch key {
	case "schemaVersion":
		m.SchemaVersion = int(n)
	case "baseTimeNanoseconds":
		m.BaseTime = n
	case "profile_memory":
		m.ProfileMemory = n != 0
	case "with_stack":
		m.WithStack = n != 0
	case "with_modules":
		m.WithModules = n != 0
	case "with_flops":
		m.WithFlops = n != 0
	case "record_shapes":
		m.RecordShapes = n != 0
	case "traceName":
		m.TraceName = bareText(value)
	case "deviceProperties":
		m.Devices = deviceProperties(value)
	case "distributedInfo":
		b.distributed(value)
	default:
		const most = 4096
		if isNumber || len(value) < most && len(value) > 0 && value[0] == '"' {
			m.All = append(m.All, KeyValue{key, bareText(value)})
		}
	}
}

func bareText(v []byte) string {
	if len(v) >= 2 && v[0] == '"' {
		text, _ := unescape(v[1 : len(v)-1])
		return string(text)
	}
	return string(v)
}

func deviceProperties(v []byte) []DeviceProperties {
	var in []struct {
		ID             int
		Name           string
		TotalGlobalMem int64
		NumSms         int
	}
	if json.Unmarshal(v, &in) != nil {
		return nil
	}
	out := make([]DeviceProperties, len(in))
	for i, d := range in {
		out[i] = DeviceProperties{ID: d.ID, Name: d.Name, TotalMemory: d.TotalGlobalMem, SMs: d.NumSms}
	}
	return out
}

func (b *builder) distributed(v []byte) {
	var in struct {
		Rank      json.Number
		WorldSize json.Number `json:"world_size"`
	}
	if json.Unmarshal(v, &in) != nil {
		return
	}
	if n, err := strconv.Atoi(in.Rank.String()); err == nil {
		b.t.Meta.Rank = n
	}
	if n, err := strconv.Atoi(in.WorldSize.String()); err == nil {
		b.t.Meta.World = n
	}
}

// finish turns interned bytes into text, once each.
func (b *builder) finish() *Trace {
	t := b.t
	t.Names = make([]string, b.names.Len())
	for i := range t.Names {
		raw := []byte(b.names.Text(uint32(i)))
		text, _ := unescape(raw)
		t.Names[i] = string(text)
	}
	return t
}
