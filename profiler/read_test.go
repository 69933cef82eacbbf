package profiler

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
)

// Pieces of a small trace, of which the tests make variants.
const (
	head = `{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H200", "totalGlobalMem": 150, "numSms": 132}],
 "with_stack": 1, "profile_memory": 1, "record_shapes": 1, "baseTimeNanoseconds": 1790857026000000000, "traceEvents": [
`
	opAdd    = `{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 9, "ts": 5130298482061.310, "dur": 12.345, "args": {"External id": 3, "Input Dims": [[2, 3], []], "Ev Idx": 0}}`
	opMul    = `{"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 7, "tid": 9, "ts": 5130298482080.001, "dur": 1.002, "args": {"External id": 4, "Ev Idx": 1}}`
	frameOne = `{"ph": "X", "cat": "python_function", "name": "train.py(12): step", "pid": 7, "tid": 9, "ts": 5130298482000.000, "dur": 200.000, "args": {"Python id": 1, "Python parent id": null, "Ev Idx": 2}}`
	kernOne  = `{"ph": "X", "cat": "kernel", "name": "add_kernel", "pid": 0, "tid": 7, "ts": 5130298482090.5, "dur": 3, "args": {"device": 0, "stream": 7, "correlation": 5}}`
	memOne   = `{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 7, "tid": 9, "ts": 5130298482065.000, "args": {"Total Reserved": 2048, "Total Allocated": 512, "Bytes": 512, "Device Id": 0, "Device Type": 1, "Addr": 140237489569792, "Ev Idx": 3}}`
	tail     = `
], "traceName": "t.json"}
`
)

// small is a whole trace of the events above.
func small() string {
	return head + strings.Join([]string{opAdd, opMul, frameOne, kernOne, memOne}, ",\n") + tail
}

// with is a trace of the given events, joined by commas.
func with(events ...string) string { return head + strings.Join(events, ",\n") + tail }

func mustRead(t *testing.T, text string) *Trace {
	t.Helper()
	tr, err := Read(strings.NewReader(text), Options{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestReadSmall(t *testing.T) {
	tr := mustRead(t, small())
	if tr.Partial != nil || tr.Repaired != 0 {
		t.Fatalf("partial %v, repairs %v", tr.Partial, tr.Repairs)
	}
	if len(tr.Host) != 2 || len(tr.Frames) != 1 || len(tr.Device) != 1 || len(tr.Memory) != 1 || tr.Counts.Events != 5 {
		t.Fatalf("%d host events, %d frames, %d device events, %d memory events, %+v", len(tr.Host), len(tr.Frames), len(tr.Device), len(tr.Memory), tr.Counts)
	}
	add := tr.Host[0]
	if add.Start != 5130298482061310 || add.Dur != 12345 || tr.Names[add.Name] != "aten::add" || tr.Names[add.Shapes] != "[[2, 3], []]" || add.External != 3 {
		t.Errorf("add is %+v", add)
	}
	if m := tr.Memory[0]; m.Addr != 140237489569792 || m.Bytes != 512 || m.Allocated != 512 || m.Reserved != 2048 || m.Type != 1 || m.Device != 0 {
		t.Errorf("memory is %+v", m)
	}
	if f := tr.Frames[0]; f.ID != 1 || f.Parent != -1 || f.Module != -1 {
		t.Errorf("frame is %+v", f)
	}
	if k := tr.Device[0]; k.Start != 5130298482090500 || k.Dur != 3000 || k.Correlation != 5 || k.Stream != 7 {
		t.Errorf("kernel is %+v", k)
	}
	m := tr.Meta
	if !m.WithStack || !m.ProfileMemory || !m.RecordShapes || m.WithFlops || m.BaseTime != 1790857026000000000 || m.TraceName != "t.json" ||
		m.SchemaVersion != 1 || len(m.Devices) != 1 || m.Devices[0].SMs != 132 || m.Rank != -1 {
		t.Errorf("meta is %+v", m)
	}
}

// repairsOf lists repairs as "kind @offset -lost"; the offset is that of a
// marker in the text when one is given.
func repairsOf(tr *Trace) []string {
	var out []string
	for _, r := range tr.Repairs {
		out = append(out, fmt.Sprintf("%s @%d -%d", r.Kind, r.Offset, r.Lost))
	}
	return out
}

// repair is what a damaged file should report: the offset is that of the first
// occurrence of a text in it.
type wantRepair struct {
	kind string
	at   string
	lost int
}

// damaged are traces with one kind of damage each.
var damaged = []struct {
	name    string
	text    string
	host    int // operators and annotations kept
	events  int // all events kept
	repairs []wantRepair
	check   func(*Trace) bool
}{
	{name: "control character in a name", host: 2, events: 2,
		text:    with(strings.Replace(opAdd, "aten::add", "a\n\x01b", 1), opMul),
		repairs: []wantRepair{{repairControl, opAdd[:12], 0}},
		check:   func(t *Trace) bool { return t.Names[t.Host[0].Name] == "a\n\x01b" }},
	{name: "bad escape", host: 2, events: 2,
		text:    with(opMul, strings.Replace(opAdd, "aten::add", `C:\path\new`, 1)),
		repairs: []wantRepair{{repairEscape, `{"ph": "X", "cat": "cpu_op", "name": "C:`, 0}},
		check:   func(t *Trace) bool { return t.Names[t.Host[1].Name] == "C:\\path\new" }},
	{name: "half a surrogate pair", host: 1, events: 1,
		text:    with(strings.Replace(opAdd, "aten::add", `\ud800x`, 1)),
		repairs: []wantRepair{{repairEscape, opAdd[:12], 0}},
		check:   func(t *Trace) bool { return t.Names[t.Host[0].Name] == "\uFFFDx" }},
	{name: "a surrogate pair", host: 1, events: 1,
		text:  with(strings.Replace(opAdd, "aten::add", `\ud83d\ude00`, 1)),
		check: func(t *Trace) bool { return t.Names[t.Host[0].Name] == "😀" }},
	{name: "invalid UTF-8", host: 1, events: 1,
		text:    with(strings.Replace(opAdd, "aten::add", "a\xff\xfeb", 1)),
		repairs: []wantRepair{{repairEscape, opAdd[:12], 0}},
		check:   func(t *Trace) bool { return t.Names[t.Host[0].Name] == "a\uFFFDb" }},
	{name: "NaN as time", host: 1, events: 2,
		text:    with(strings.Replace(opAdd, "5130298482061.310", "NaN", 1), opMul),
		repairs: []wantRepair{{repairNumber, opAdd[:12], 1}},
		check:   func(t *Trace) bool { return t.Counts.Malformed == 1 }},
	{name: "Infinity as duration", host: 2, events: 2,
		text:    with(opMul, strings.Replace(opAdd, "12.345", "Infinity", 1)),
		repairs: []wantRepair{{repairNumber, opAdd[:45], 0}},
		check:   func(t *Trace) bool { return t.Host[1].Dur == 0 }},
	{name: "N/A among the args", host: 2, events: 2,
		text:    with(opMul, strings.Replace(opAdd, `"External id": 3`, `"External id": N/A`, 1)),
		repairs: []wantRepair{{repairNumber, "N/A", 0}},
		check:   func(t *Trace) bool { return t.Host[1].External == -1 }},
	{name: "-Infinity in args that are not kept", host: 1, events: 1,
		text:    with(strings.Replace(opAdd, `"External id": 3`, `"x": -Infinity, "External id": 3`, 1)),
		repairs: []wantRepair{{repairNumber, "-Infinity", 0}}},
	{name: "a time far out", host: 2, events: 2,
		text:    with(opMul, strings.Replace(opAdd, "5130298482061.310", "9223372036854775", 1)),
		repairs: []wantRepair{{repairRange, "9223372036854775", 0}},
		check:   func(t *Trace) bool { return t.Host[1].Start == maxTime && t.Host[1].End() > 0 }},
	{name: "no time", host: 1, events: 2,
		text:    with(strings.Replace(opAdd, `"ts": 5130298482061.310, `, "", 1), opMul),
		repairs: []wantRepair{{repairTime, opAdd[:12], 1}}},
	{name: "a negative duration", host: 2, events: 2,
		text:    with(opMul, strings.Replace(opAdd, "12.345", "-5", 1)),
		repairs: []wantRepair{{repairDur, opAdd[:45], 0}},
		check:   func(t *Trace) bool { return t.Host[1].Dur == 0 }},
	{name: "a size far out", host: 1, events: 2,
		text:    with(opAdd, memSized("9223372036854775807", "512", 0)),
		repairs: []wantRepair{{repairSize, memSized("9223372036854775807", "512", 0), 1}},
		check:   func(t *Trace) bool { return len(t.Memory) == 0 && t.Counts.Malformed == 1 }},
	{name: "a negative size far out", host: 1, events: 2,
		text:    with(opAdd, memSized("-9223372036854775808", "512", 0)),
		repairs: []wantRepair{{repairSize, memSized("-9223372036854775808", "512", 0), 1}},
		check:   func(t *Trace) bool { return len(t.Memory) == 0 }},
	{name: "a total far out", host: 1, events: 2,
		text:    with(opAdd, memSized("512", "9223372036854775807", 0)),
		repairs: []wantRepair{{repairSize, memSized("512", "9223372036854775807", 0), 0}},
		check:   func(t *Trace) bool { return t.Memory[0].Allocated == NoTotal && t.Memory[0].Bytes == 512 }},
	{name: "a device number far out", host: 1, events: 2,
		text:    with(opAdd, memSized("512", "512", 65536)),
		repairs: []wantRepair{{repairDevice, memSized("512", "512", 65536), 1}},
		check:   func(t *Trace) bool { return len(t.Memory) == 0 }},
	{name: "unescaped quotes in a name", host: 2, events: 2,
		text:    with(strings.Replace(opAdd, "aten::add", `say "hi" now`, 1), opMul),
		repairs: []wantRepair{{repairQuote, `"hi`, 0}, {repairQuote, `" now`, 0}},
		check:   func(t *Trace) bool { return t.Names[t.Host[0].Name] == `say "hi" now` }},
	{name: "unescaped quotes before commas", host: 2, events: 2,
		text:    with(strings.Replace(opAdd, "aten::add", `f("a", 1)`, 1), opMul),
		repairs: []wantRepair{{repairQuote, `"a"`, 0}, {repairQuote, `", 1`, 0}},
		check:   func(t *Trace) bool { return t.Names[t.Host[0].Name] == `f("a", 1)` }},
	{name: "a dictionary in a name", host: 2, events: 2,
		text: with(strings.Replace(opAdd, "aten::add", `<{"a": "b"}>(3): f`, 1), opMul),
		repairs: []wantRepair{{repairQuote, `"a": "b"}>`, 0}, {repairQuote, `": "b"}>`, 0}, {repairQuote, `"b"}>`, 0},
			{repairQuote, `"}>`, 0}},
		check: func(t *Trace) bool { return t.Names[t.Host[0].Name] == `<{"a": "b"}>(3): f` }},
	{name: "quotes and a newline in args", host: 2, events: 2,
		text:    with(strings.Replace(opAdd, `"External id": 3`, "\"x\": \"a \"b\"\n c\", \"External id\": 3", 1), opMul),
		repairs: []wantRepair{{repairQuote, "\"b\"\n", 0}, {repairQuote, "\"\n c", 0}},
		check:   func(t *Trace) bool { return t.Host[0].External == 3 }},
	{name: "an event without its end", host: 1, events: 1,
		text:    with(opAdd[:80], opMul),
		repairs: []wantRepair{{repairEvent, opAdd[:12], 1}}},
	{name: "the last event is damaged", host: 1, events: 1,
		text:    with(opMul, `{"ph": "X" "cat" !!}`),
		repairs: []wantRepair{{repairEvent, `{"ph": "X" "cat"`, 1}},
		check:   func(t *Trace) bool { return t.Meta.TraceName == "t.json" }},
	{name: "keys in another order, one damaged", host: 2, events: 2,
		text: with(`{"args": {"External id": 1}, "cat" "cpu_op", "ph": "X"}`, `{"args": {"External id": 1}, "cat": "cpu_op", "name": "x", "ph": "X", "ts": 1}`,
			opMul),
		repairs: []wantRepair{{repairEvent, `{"args"`, 1}}},
	{name: "log lines between events", host: 2, events: 2,
		text:    with(opAdd, "[W kernel.cpp:55] Warning: {x} slow\n"+opMul),
		repairs: []wantRepair{{repairBetween, "[W kernel", 0}}},
	{name: "a log line inside of an event", host: 1, events: 1,
		text:    with(strings.Replace(opAdd, `"ts"`, "\nSTAGE:2024 done {ok}\n\"ts\"", 1), opMul),
		repairs: []wantRepair{{repairEvent, opAdd[:12], 1}}},
	{name: "missing comma", host: 2, events: 2,
		text:    with(opAdd + "\n" + opMul),
		repairs: []wantRepair{{repairComma, opMul, 0}}},
	{name: "trailing comma", host: 2, events: 2,
		text:    with(opAdd, opMul+",    "),
		repairs: []wantRepair{{repairExtra, "], \"traceName", 0}}},
	{name: "two commas", host: 2, events: 2,
		text:    with(opAdd+",", opMul),
		repairs: []wantRepair{{repairExtra, ",\n" + opMul, 0}}},
	{name: "trailing comma in an object", host: 2, events: 2,
		text: with(strings.Replace(opAdd, `"Ev Idx": 0}}`, `"Ev Idx": 0, },}`, 1), opMul)},
	{name: "nested garbage", host: 2, events: 2,
		text:    with(opAdd, "[[{]}{{[1, 2, {\"x\": [{}]}\n"+opMul),
		repairs: []wantRepair{{repairBetween, "[[{]", 0}}},
	{name: "two lists of events", host: 2, events: 2,
		text:    head + opAdd + `], "traceEvents": [` + opMul + tail,
		repairs: []wantRepair{{repairTwice, "[" + opMul, 0}}},
	{name: "text behind the end", host: 1, events: 1,
		text:    with(opAdd) + "\x00\x00garbage",
		repairs: []wantRepair{{repairBehind, "\x00", 0}}},
	{name: "header value that is not JSON", host: 1, events: 1,
		text:    strings.Replace(with(opAdd), `"with_stack": 1`, `"job": {a: b}}, "with_stack": 1`, 1),
		repairs: []wantRepair{{repairHeader, `}, "with_stack"`, 0}}},
	{name: "member behind the events that is not JSON", host: 1, events: 1,
		text:    strings.Replace(with(opAdd), `"traceName": "t.json"`, `"traceName": "t.json", "x": ]]}`, 1),
		repairs: []wantRepair{{repairMembers, `]]}`, 0}}},
	{name: "header behind the events", host: 1, events: 1,
		text: `{"traceEvents": [` + opAdd + `], "schemaVersion": 1, "profile_memory": 1, "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}, "baseTimeNanoseconds": 17}`,
		check: func(t *Trace) bool {
			return t.Meta.ProfileMemory && t.Meta.Rank == 3 && t.Meta.World == 8 && t.Meta.BaseTime == 17
		}},
	{name: "a bare list", host: 2, events: 2, text: "[" + opAdd + ", " + opMul + "]"},
	{name: "exported without kineto", host: 0, events: 2,
		text:  `[{"name": "aten::add", "ph": "X", "ts": 10.5, "dur": 2.25, "tid": 1, "pid": "CPU functions", "args": {}}, {"name": "k", "ph": "X", "ts": 1, "dur": 1, "tid": "GPU", "pid": "x", "args": {}}]`,
		check: func(t *Trace) bool { return t.Counts.Other == 2 }},
	{name: "string pids", host: 2, events: 2,
		text:  with(strings.Replace(opAdd, `"pid": 7, "tid": 9`, `"pid": "7", "tid": "9"`, 1), opMul),
		check: func(t *Trace) bool { return t.Host[0].Thread == t.Host[1].Thread && len(t.Threads) == 1 }},
	{name: "ids beyond int64", host: 2, events: 3,
		text: with(strings.Replace(opAdd, `"External id": 3`, `"External id": 18446744073709551615`, 1), opMul,
			strings.Replace(memOne, "140237489569792", "-281474976710656", 1)),
		check: func(t *Trace) bool { return t.Memory[0].Addr == 0xffff000000000000 }},
	{name: "the layout of 2021", host: 2, events: 6,
		text: `{"schemaVersion": 1, "computeProperties": [{"id": 0}], "traceEvents": [
{"ph": "X", "cat": "Operator", "name": "aten::add", "pid": "12", "tid": "34", "ts": 1621401187226013, "dur": 24, "args": {"Device": 12, "External id": 2, "Trace iteration": 0, "Input dims": [[4]], "Fwd thread id": 0, "Sequence number": 5}},
{"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": "12", "tid": "34", "ts": 1621401187226020, "dur": 2, "args": {"cbid": 211, "correlation": 9, "external id": 2}},
{"ph": "X", "cat": "Kernel", "name": "k", "pid": "0", "tid": "stream 7", "ts": 1621401187226030, "dur": 4, "args": {"correlation": 9}},
{"ph": "i", "name": "[memory]", "pid": "12", "tid": "34", "ts": 1621401187226015, "s": "t", "args": {"Device Type": 1, "Device Id": 0, "Bytes": 512}},
{"ph": "s", "id": 9, "pid": 12, "tid": 34, "ts": 1621401187226020, "cat": "async", "name": "launch"},
{"name": "thread_name", "ph": "M", "ts": 0, "pid": 12, "tid": "34", "args": {"name": "thread 34 (python)"}}
]}`,
		check: func(t *Trace) bool {
			m := t.Memory[0]
			return t.Host[0].Start == 1621401187226013000 && t.Host[0].Sequence == 5 && t.Names[t.Host[0].Shapes] == "[[4]]" &&
				t.Device[0].Device == 0 && t.Device[0].Stream == 7 && t.Device[0].Correlation == 9 && m.Bytes == 512 && m.Allocated == NoTotal &&
				t.Counts.Flows == 1 && t.Threads[t.Host[0].Thread].Label == "thread 34 (python)"
		}},
}

// memSized is a memory event.
func memSized(bytes, total string, device int) string {
	return fmt.Sprintf(`{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 7, "tid": 9, "ts": 1.000, "s": "t", `+
		`"args": {"Device Type": 1, "Device Id": %d, "Addr": 1, "Bytes": %s, "Total Allocated": %s, "Total Reserved": 1}}`, device, bytes, total)
}

func TestReadWithoutAListOfEvents(t *testing.T) {
	for value, says := range map[string]string{`"s"`: "a string", "5": "a number", "null": "null", "{}": "an object", "true": "true"} {
		_, err := Read(strings.NewReader(`{"schemaVersion": 1, "traceEvents": `+value+`}`), Options{Name: "x"})
		if err == nil || !strings.Contains(err.Error(), "traceEvents is "+says) {
			t.Errorf("%s: %v", value, err)
		}
	}
	if _, err := Read(strings.NewReader(`{"schemaVersion": 1, "with_stack": 1}`), Options{}); err == nil {
		t.Error("a header alone was read")
	}
	if tr, err := Read(strings.NewReader(`{"schemaVersion": 1, "traceEvents": []}`), Options{}); err != nil || tr.Partial != nil {
		t.Errorf("an empty list: %v", err)
	}
}

// Every device costs a curve and a table: a file with one for each event is damaged.
func TestReadDevicesAreBounded(t *testing.T) {
	var events []string
	for i := range 4 * MaxDevices {
		events = append(events, memSized("512", "512", i))
	}
	tr := mustRead(t, with(events...))
	if n := len(tr.Ledgers()); n != MaxDevices || tr.Counts.Malformed != 3*MaxDevices {
		t.Errorf("%d devices, %d events left out", n, tr.Counts.Malformed)
	}
}

// What follows a complete gzip stream takes nothing away from the trace.
func TestReadBehindGzip(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(small()))
	w.Close()
	for _, c := range []struct {
		name string
		data []byte
	}{{"garbage", append(bytes.Clone(b.Bytes()), "this is no gzip stream at all"...)}, {"little garbage", append(bytes.Clone(b.Bytes()), "abc"...)},
		{"no checksum", b.Bytes()[:b.Len()-6]}} {
		tr, err := Read(bytes.NewReader(c.data), Options{})
		if err != nil || tr.Partial != nil || len(tr.Repairs) != 1 || tr.Repairs[0].Kind != repairPacked {
			t.Errorf("%s: %+v %v", c.name, tr, err)
		}
	}
}

func TestReadDamaged(t *testing.T) {
	for _, c := range damaged {
		t.Run(c.name, func(t *testing.T) {
			tr := mustRead(t, c.text)
			checkDamaged(t, tr, c.text, c.host, c.events, c.repairs)
			if c.check != nil && !c.check(tr) {
				t.Errorf("the trace is not as expected: host %+v names %q memory %+v meta %+v", tr.Host, tr.Names, tr.Memory, tr.Meta)
			}
			for name, r := range map[string]io.Reader{"one byte": iotest.OneByteReader(strings.NewReader(c.text)),
				"half": iotest.HalfReader(strings.NewReader(c.text)), "with the end": iotest.DataErrReader(strings.NewReader(c.text))} {
				again, err := Read(r, Options{Name: "test"})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if got, want := summary(again), summary(tr); got != want {
					t.Errorf("read by %s:\n%s\nwant\n%s", name, got, want)
				}
			}
		})
	}
}

func checkDamaged(t *testing.T, tr *Trace, text string, host, events int, repairs []wantRepair) {
	t.Helper()
	if tr.Partial != nil {
		t.Errorf("partial: %v", tr.Partial)
	}
	if len(tr.Host) != host || tr.Counts.Events != events {
		t.Errorf("%d host events of %d events, want %d of %d", len(tr.Host), tr.Counts.Events, host, events)
	}
	var want []string
	for _, w := range repairs {
		want = append(want, fmt.Sprintf("%s @%d -%d", w.kind, strings.Index(text, w.at), w.lost))
	}
	if got := repairsOf(tr); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("repairs\n%q\nwant\n%q", got, want)
	}
}

// summary tells two readings apart.
func summary(t *Trace) string {
	return fmt.Sprintf("%q\n%v\n%v\n%v\n%v\n%v\n%v\n%v\n%v\n%v", t.Names, t.Threads, t.Host, t.Frames, t.Device, t.Memory, t.Meta, t.Counts, t.Repairs, t.Partial)
}

func TestReadTruncatedAtEveryByte(t *testing.T) {
	text := small()
	starts := []int{strings.Index(text, opAdd), strings.Index(text, opMul), strings.Index(text, frameOne), strings.Index(text, kernOne), strings.Index(text, memOne)}
	lengths := []int{len(opAdd), len(opMul), len(frameOne), len(kernOne), len(memOne)}
	last := strings.LastIndex(text, "}")
	for n := range len(text) {
		whole, cut := 0, false
		for i := range starts {
			if n >= starts[i]+lengths[i] {
				whole++
			} else if n > starts[i] {
				cut = true
			}
		}
		tr, err := Read(strings.NewReader(text[:n]), Options{Name: "cut"})
		if whole == 0 {
			if err == nil {
				t.Fatalf("cut at %d: no error", n)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if tr.Counts.Events != whole {
			t.Fatalf("cut at %d: %d events, want %d", n, tr.Counts.Events, whole)
		}
		if (tr.Partial == nil) != (n > last) {
			t.Fatalf("cut at %d: partial is %v", n, tr.Partial)
		}
		if n <= last && !errors.Is(tr.Partial, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: partial is %v", n, tr.Partial)
		}
		if wants := map[bool]int{true: 1}[cut]; tr.Repaired != wants {
			t.Fatalf("cut at %d: repairs %v", n, tr.Repairs)
		}
	}
}

func TestReadHalfGzip(t *testing.T) {
	var text strings.Builder
	text.WriteString(head)
	for i := range 5000 {
		if i > 0 {
			text.WriteString(",")
		}
		text.WriteString(strings.Replace(opAdd, "12.345", fmt.Sprint(i*7919%100000), 1))
	}
	text.WriteString(tail)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, text.String())
	z.Close()

	whole, err := Read(bytes.NewReader(packed.Bytes()), Options{Name: "t.gz"})
	if err != nil || whole.Partial != nil || len(whole.Host) != 5000 {
		t.Fatalf("whole: %v, %d events", err, len(whole.Host))
	}
	half, err := Read(bytes.NewReader(packed.Bytes()[:packed.Len()/2]), Options{Name: "t.gz"})
	if err != nil {
		t.Fatal(err)
	}
	if half.Partial == nil || len(half.Host) < 1000 || len(half.Host) >= 5000 {
		t.Errorf("half: %d events, partial %v", len(half.Host), half.Partial)
	}
}

func TestReadZstd(t *testing.T) {
	e, _ := zstd.NewWriter(nil)
	tr, err := Read(bytes.NewReader(e.EncodeAll([]byte(small()), nil)), Options{})
	if err != nil || len(tr.Host) != 2 {
		t.Fatalf("%v, %v", tr, err)
	}
}

func TestReadOther(t *testing.T) {
	for _, text := range []string{"[1, 2, 3]", `{"segments": []}`, "hello\n", "\x80\x02}."} {
		if _, err := Read(strings.NewReader(text), Options{Name: "x"}); err == nil {
			t.Errorf("%q was read", text)
		} else if strings.Contains(text, "segments") && !errors.Is(err, ErrNotTrace) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Events that lie across the ends of the reader's buffer.
func TestReadAcrossWindows(t *testing.T) {
	long := strings.Replace(opAdd, "aten::add", strings.Repeat("x", 3*window), 1)
	events := []string{long}
	for i := range 3000 {
		events = append(events, strings.Replace(opMul, "aten::mul", "aten::mul"+strings.Repeat("y", i%997), 1))
	}
	tr := mustRead(t, with(events...))
	if len(tr.Host) != 3001 || tr.Repaired != 0 || tr.Partial != nil || len(tr.Names[tr.Host[0].Name]) != 3*window {
		t.Fatalf("%d events, repairs %v, partial %v", len(tr.Host), tr.Repairs, tr.Partial)
	}
}

func TestReadManyDamagedStaysLinear(t *testing.T) {
	for name, piece := range map[string]string{"open strings": `{"a`, "open objects": `{"ph": {`, "quotes": `"`, "open lists": `[{"ph":[`} {
		text := head + opAdd + "," + strings.Repeat(piece, 300000/len(piece)) + "," + opMul + tail
		tr, err := Read(strings.NewReader(text), Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(tr.Repairs) > MaxRepairs {
			t.Errorf("%s: %d repairs", name, len(tr.Repairs))
		}
	}
}

func TestMicros(t *testing.T) {
	for _, c := range []struct {
		text string
		ns   int64
		ok   bool
	}{
		{"0", 0, true}, {"0.000", 0, true}, {"5130298482061.310", 5130298482061310, true}, {"5130298482061.31", 5130298482061310, true},
		{"1790857026123456.789", 1790857026123456789, true}, {"1790857026123456.7899", 1790857026123456789, true}, {"1", 1000, true},
		{"-1.5", -1500, true}, {"1e3", 1000000, true}, {"1.5e-3", 2, true}, {"", 0, false}, {"-", 0, false}, {".", 0, true}, {"NaN", 0, false},
		{"Infinity", 0, false}, {"1.2.3", 0, false}, {"99999999999999999999", 0, false}, {"9223372036854779", 0, false}, {"N/A", 0, false},
		{"9223372036854775", 9223372036854775000, true}, {"9223372036854775.799", math.MaxInt64 - 8, true}, {"9223372036854775.808", 0, false},
	} {
		ns, ok := micros([]byte(c.text))
		if ok != c.ok || ok && ns != c.ns {
			t.Errorf("%q: %d %v, want %d %v", c.text, ns, ok, c.ns, c.ok)
		}
	}
}

func TestInteger(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int64
		ok   bool
	}{
		{"0", 0, true}, {"-1", -1, true}, {"9223372036854775807", math.MaxInt64, true}, {"18446744073709551615", -1, true},
		{"-9223372036854775808", math.MinInt64, true}, {"18446744073709551616", 0, false}, {"1.9", 1, true}, {"1e2", 100, true}, {"", 0, false},
		{"-", 0, false}, {"x", 0, false}, {"NaN", 0, false},
	} {
		if n, ok := integer([]byte(c.text)); ok != c.ok || ok && n != c.n {
			t.Errorf("%q: %d %v, want %d %v", c.text, n, ok, c.n, c.ok)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(small()))
	for _, c := range damaged {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := Read(bytes.NewReader(b), Options{Name: "fuzz"})
		if (tr == nil) == (err == nil) {
			t.Fatalf("trace %v and error %v", tr, err)
		}
		if tr == nil {
			return
		}
		if len(tr.Host)+len(tr.Frames)+len(tr.Device)+len(tr.Memory) > len(b)/4+1 {
			t.Fatalf("more events than the %d bytes can hold", len(b))
		}
		for _, r := range tr.Repairs {
			if r.Offset < 0 || r.Offset > int64(len(b)) {
				t.Fatalf("repair %+v of %d bytes", r, len(b))
			}
		}
		tr.Doctor()
		tr.Steps()
		tr.KernelStats()
		tr.Kernels(true)
		c := tr.Categorize()
		c.Curve(10)
	})
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	text.WriteString(head)
	for i := range 20000 {
		for _, e := range []string{opAdd, frameOne, kernOne, memOne} {
			text.WriteString(e)
			text.WriteString(",\n")
		}
		fmt.Fprintf(&text, `{"ph": "X", "cat": "cpu_op", "name": "op%d", "pid": 7, "tid": 9, "ts": %d.125, "dur": 1.5, "args": {"External id": %d}},`, i%100, i, i)
	}
	text.WriteString(opMul + tail)
	in := []byte(text.String())
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(in), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
