package snapshot

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func read(t testing.TB, data []byte) (*Snapshot, error) {
	t.Helper()
	return Read(bytes.NewReader(data), Options{Name: "test"})
}

func mustDescribe(t testing.TB, data []byte) string {
	t.Helper()
	s, err := read(t, data)
	if err != nil {
		t.Fatal(err)
	}
	return describe(s)
}

// frame is a frame as PyTorch writes it.
func frame(file string, line any, name string) doc {
	return kv("filename", file, "line", line, "name", name)
}

// oneEvent is a snapshot with that event and nothing else.
func oneEvent(e doc) doc { return kv("segments", list{}, "device_traces", list{list{e}}) }

// oneSegment is a snapshot with that segment and nothing else.
func oneSegment(s doc) doc { return kv("segments", list{s}, "device_traces", list{}) }

// alloc is an event without what is optional.
var alloc = kv("action", "alloc", "addr", 4096, "size", 100)

// plain is how describe shows alloc.
const plain = "device 0 ring 0 overflowed false\n alloc 0x1000 100 at 0 stream 0 pool [0 0]"

// Every spelling of every key, in both forms; numbers and names in the text of
// the result are those that describe writes.
func TestDecodeVariants(t *testing.T) {
	block := kv("size", 512, "requested_size", 300, "state", "active_allocated")
	segment := kv("device", 0, "address", 4096, "total_size", 512, "stream", 0, "segment_type", "small")
	segLine := "device 0 ring 0 overflowed false\n segment 0x1000 512 stream 0 pool [0 0] small true expandable false"
	blockLine := "\n  block 0x1000 512 300 active_allocated in 0"
	one := list{frame("a.py", 1, "f")}
	traces := kv("segments", list{}, "device_traces", list{list{alloc}, list{alloc}})
	second := strings.Replace(plain, "device 0", "device 1", 1)
	tests := []struct {
		name string
		doc  any
		want string
	}{
		{"empty", kv("segments", list{}, "device_traces", list{}), ""},
		{"only traces", kv("device_traces", list{list{alloc}}), plain},
		{"only segments", kv("segments", list{segment.with("blocks", list{block})}), segLine + blockLine},
		{"segment list", list{segment.with("blocks", list{block})}, segLine + blockLine},
		{"second device", kv("segments", list{}, "device_traces", list{list{}, list{alloc}}), second},
		{"tuples for lists", kv("segments", tuple{}, "device_traces", tuple{tuple{alloc}}), plain},
		{"unknown keys", oneEvent(alloc.with("mood", "good").with("more", kv("a", list{1}))).with("source_code", kv("a.py", "x")).with("shape_data", list{1}), plain},

		{"all of an event", oneEvent(kv("action", "free_completed", "addr", uint64(1)<<63|4096, "size", 100, "stream", 94000000000000, "time_us", 1700000000000000,
			"compile_context", "N/A", "user_metadata", "", "frames", one, "pool_id", tuple{1, 2})),
			"device 0 ring 0 overflowed false\n free_completed 0x8000000000001000 100 at 1700000000000000 stream 94000000000000 pool [1 2] | a.py:1:f"},
		{"keys permuted", oneEvent(kv("frames", list{kv("line", 3, "name", "f", "filename", "a.py"), kv("name", "g", "filename", "b.py", "line", 4)},
			"size", 100, "pool_id", tuple{0, 0}, "addr", 4096, "action", "alloc")), plain + " | a.py:3:f | b.py:4:g"},
		{"address as a negative number", oneEvent(kv("action", "alloc", "addr", -4096, "size", 1)),
			"device 0 ring 0 overflowed false\n alloc 0xfffffffffffff000 1 at 0 stream 0 pool [0 0]"},
		{"oom", oneEvent(kv("action", "oom", "device_free", 77, "size", int64(1)<<59, "stream", 0)),
			"device 0 ring 0 overflowed false\n oom 0x4d 576460752303423488 at 0 stream 0 pool [0 0]"},
		{"folded free", oneEvent(kv("action", "free", "addr", 4096, "size", 100)), strings.Replace(plain, "alloc 0x", "free_completed 0x", 1)},
		{"unknown action", kv("device_traces", list{list{kv("action", "teleport", "addr", 1, "size", 1), kv("action", "teleport", "addr", 1, "size", 1)}}),
			"device 0 ring 0 overflowed false\n unknown 0x1 1 at 0 stream 0 pool [0 0]\n unknown 0x1 1 at 0 stream 0 pool [0 0]\n" +
				`warning: events of kind "teleport" are not known and are left out of the accounts`},
		{"None counts as missing", oneEvent(kv("action", "alloc", "addr", 4096, "size", 100, "stream", nil, "time_us", nil, "frames", nil, "pool_id", nil, "user_metadata", nil)), plain},
		{"all actions", kv("device_traces", list{list{
			kv("action", "free_requested", "addr", 1, "size", 1), kv("action", "segment_alloc", "addr", 1, "size", 1), kv("action", "segment_free", "addr", 1, "size", 1),
			kv("action", "segment_map", "addr", 1, "size", 1), kv("action", "segment_unmap", "addr", 1, "size", 1), kv("action", "snapshot", "addr", 0, "size", 0),
			kv("action", "annotate", "addr", 0, "size", 0), kv("action", "workspace_snapshot", "addr", 0, "size", 0)}}),
			"device 0 ring 0 overflowed false\n free_requested 0x1 1 at 0 stream 0 pool [0 0]\n segment_alloc 0x1 1 at 0 stream 0 pool [0 0]\n segment_free 0x1 1 at 0 stream 0 pool [0 0]" +
				"\n segment_map 0x1 1 at 0 stream 0 pool [0 0]\n segment_unmap 0x1 1 at 0 stream 0 pool [0 0]\n snapshot 0x0 0 at 0 stream 0 pool [0 0]" +
				"\n annotate 0x0 0 at 0 stream 0 pool [0 0]\n workspace_snapshot 0x0 0 at 0 stream 0 pool [0 0]"},

		{"pool as list", oneEvent(alloc.with("pool_id", list{3, 4})), strings.Replace(plain, "[0 0]", "[3 4]", 1)},
		{"pool of large numbers", oneEvent(alloc.with("pool_id", tuple{int64(1) << 40, -1})), strings.Replace(plain, "[0 0]", "[1099511627776 -1]", 1)},
		{"metadata text", oneEvent(alloc.with("user_metadata", "layers.0")), plain + ` compiled "" metadata "layers.0" category "" forward[]`},
		{"metadata dict", oneEvent(alloc.with("user_metadata", kv("module", "a<b>", "n", 1))), plain + ` compiled "" metadata "{\"module\": \"a<b>\", \"n\": 1}" category "" forward[]`},
		{"compile context", oneEvent(alloc.with("compile_context", "0/1")), plain + ` compiled "0/1" metadata "" category "" forward[]`},
		{"category", oneEvent(alloc.with("category", "GRADIENT")), plain + ` compiled "" metadata "" category "GRADIENT" forward[]`},
		{"forward frames", oneEvent(alloc.with("forward_frames", one)), plain + ` compiled "" metadata "" category "" forward[| a.py:1:f]`},
		{"forward frames as text", oneEvent(alloc.with("forward_frames", list{"  File \"a.py\", line 12, in forward\n    y = x\n", "b.py:3:g", "at::empty(int)", "x:y:z", `File "odd`})),
			plain + ` compiled "" metadata "" category "" forward[| a.py:12:forward | b.py:3:g | :0:at::empty(int) | :0:x:y:z | :0:File "odd]`},

		{"fx frames", oneEvent(alloc.with("frames", list{frame("a.py", 1, "f").with("fx_node_op", "call_function").with("fx_node_name", "add").
			with("fx_node_target", "aten.add").with("fx_original_trace", "trace")})), plain + " | a.py:1:f fx{Op:call_function Name:add Target:aten.add OriginalTrace:trace}"},
		{"line -1 unsigned", oneEvent(alloc.with("frames", list{frame("??", uint64(1)<<63+(1<<63-1), "f"), frame("<eval>", -1, "g")})), plain + " | ??:-1:f | <eval>:-1:g"},
		{"frames with None", oneEvent(alloc.with("frames", list{kv("filename", nil, "line", nil, "name", nil)})), plain + " | :0:"},
		{"frames without keys", oneEvent(alloc.with("frames", list{kv("filename", "a.py"), kv("name", "f", "line", 3), kv()})), plain + " | a.py:0: | :3:f | :0:"},

		{"all of a segment", oneSegment(kv("device", 3, "address", uint64(1)<<63, "total_size", 1024, "allocated_size", 512, "active_size", 512, "requested_size", 300,
			"stream", 7, "segment_type", "large", "segment_pool_id", tuple{0, 5}, "is_expandable", true, "frames", one,
			"blocks", list{kv("address", uint64(1)<<63, "size", 512, "requested_size", 300, "state", "active_allocated", "frames", one),
				kv("address", uint64(1)<<63+512, "size", 512, "requested_size", 99, "state", "inactive", "frames", list{})})),
			"device 3 ring 0 overflowed false\n segment 0x8000000000000000 1024 stream 7 pool [0 5] small false expandable true | a.py:1:f" +
				"\n  block 0x8000000000000000 512 300 active_allocated in 0 | a.py:1:f\n  block 0x8000000000000200 512 0 inactive in 0"},
		{"blocks without address", oneSegment(segment.with("total_size", 1024).with("blocks", list{block, kv("size", 512, "state", "inactive")})),
			strings.Replace(segLine, "512", "1024", 1) + blockLine + "\n  block 0x1200 512 0 inactive in 0"},
		{"both pending spellings", oneSegment(segment.with("total_size", 1024).with("blocks", list{kv("size", 512, "requested_size", 1, "state", "active_pending_free"), kv("size", 512, "requested_size", 2, "state", "active_awaiting_free")})),
			strings.Replace(segLine, "512", "1024", 1) + "\n  block 0x1000 512 1 active_pending_free in 0\n  block 0x1200 512 2 active_pending_free in 0"},
		{"history of 2.0", oneSegment(segment.with("blocks", list{kv("size", 512, "state", "active_allocated", "history", list{kv("addr", 4096, "real_size", 300, "frames", one), kv("real_size", 5)})})),
			segLine + "\n  block 0x1000 512 300 active_allocated in 0 | a.py:1:f"},
		{"history without frames", oneSegment(segment.with("blocks", list{kv("size", 512, "state", "active_allocated", "history", list{kv("real_size", 300)})})), segLine + blockLine},
		{"no history and no request", oneSegment(segment.with("blocks", list{kv("size", 512, "state", "active_allocated")})), segLine + "\n  block 0x1000 512 512 active_allocated in 0"},
		{"labelled block", oneSegment(segment.with("blocks", list{block.with("user_metadata", "m").with("compile_context", "N/A")})),
			segLine + blockLine + ` compiled "" metadata "m" category "" forward[]`},
		{"no total size", oneSegment(kv("address", 4096, "segment_type", "small", "blocks", list{block})), segLine + blockLine},
		{"blocks do not cover", oneSegment(segment.with("total_size", 2048).with("blocks", list{block})),
			strings.Replace(segLine, "512", "2048", 1) + blockLine + "\nwarning: blocks of a segment do not cover it exactly (segment of 2048 bytes at 0x1000): the file may be damaged"},
		{"blocks overlap", oneSegment(segment.with("total_size", 512).with("blocks", list{block.with("address", 4096), kv("address", 4000, "size", 608, "state", "inactive")})),
			segLine + blockLine + "\n  block 0xfa0 608 0 inactive in 0\nwarning: blocks of a segment overlap (at 0xfa0): the file may be damaged, and its sums with it"},

		{"ring as scalar", traces.with("trace_alloc_max_entries", 9).with("trace_alloc_overflowed", true),
			strings.ReplaceAll(plain+"\n"+second, "ring 0 overflowed false", "ring 9 overflowed true")},
		{"ring as list", traces.with("trace_alloc_max_entries", list{0, 9}).with("trace_alloc_overflowed", list{false, true}),
			plain + "\n" + strings.ReplaceAll(second, "ring 0 overflowed false", "ring 9 overflowed true")},
		{"ring as dict", traces.with("trace_alloc_max_entries", kv("1", 9)).with("trace_alloc_overflowed", kv(1, true)),
			plain + "\n" + strings.ReplaceAll(second, "ring 0 overflowed false", "ring 9 overflowed true")},
		{"unbounded ring", traces.with("trace_alloc_max_entries", uint64(1)<<63+(1<<63-1)), plain + "\n" + second},
		{"ring in settings", traces.with("allocator_settings", kv("trace_alloc_max_entries", 9, "trace_alloc_overflowed", false)),
			strings.ReplaceAll(plain+"\n"+second, "ring 0", "ring 9") + "\nsettings {Present:true Conf: MaxSplitSize:-1 GCThreshold:0 ExpandableSegments:false RoundupPower2Divisions:[] " +
				"All:[{Key:trace_alloc_max_entries Value:9} {Key:trace_alloc_overflowed Value:false}]}"},
		{"settings", kv("segments", list{}, "allocator_settings", kv("PYTORCH_CUDA_ALLOC_CONF", "a:b", "max_split_size", 5, "garbage_collection_threshold", 0.8,
			"expandable_segments", true, "roundup_power2_divisions", kv("1", 4, "odd", 1, "2", 0))),
			"settings {Present:true Conf:a:b MaxSplitSize:5 GCThreshold:0.8 ExpandableSegments:true RoundupPower2Divisions:[{MiB:1 Divisions:4} {MiB:2 Divisions:0}] " +
				"All:[{Key:PYTORCH_CUDA_ALLOC_CONF Value:a:b} {Key:max_split_size Value:5} {Key:garbage_collection_threshold Value:0.8} {Key:expandable_segments Value:true} " +
				`{Key:roundup_power2_divisions Value:{"1": 4, "odd": 1, "2": 0}}]}`},
		{"settings of unexpected kinds", kv("segments", list{}, "allocator_settings", kv("max_split_size", "big", "expandable_segments", list{}, "PYTORCH_ALLOC_CONF", nil)),
			"settings {Present:true Conf: MaxSplitSize:-1 GCThreshold:0 ExpandableSegments:false RoundupPower2Divisions:[] " +
				"All:[{Key:max_split_size Value:big} {Key:expandable_segments Value:[]} {Key:PYTORCH_ALLOC_CONF Value:None}]}"},
		{"settings None", kv("segments", list{}, "allocator_settings", nil), ""},

		{"annotations", kv("segments", list{}, "external_annotations", list{
			kv("name", "step", "stage", "START", "device", 1, "time_us", 5), kv("stage", "END", "name", "step"),
			kv("name", "odd", "filename", "a.py", "line", 3, "stage", "START", "x", list{1})}),
			"annotation {Name:step Start:true Device:1 Time:5 Extra:[]}\nannotation {Name:step Start:false Device:-1 Time:0 Extra:[]}" +
				"\nannotation {Name:odd Start:true Device:-1 Time:0 Extra:[{Key:filename Value:a.py} {Key:line Value:3} {Key:x Value:[1]}]}"},
		{"host", kv("segments", list{}, "host_segments", list{segment.with("blocks", list{block})}, "host_traces", list{alloc}),
			strings.Replace(segLine, "device 0", "host", 1) + blockLine + strings.TrimPrefix(plain, "device 0 ring 0 overflowed false")},
		{"host in lists", kv("segments", list{}, "host_segments", list{kv("device", -1, "address", 4096, "total_size", 512, "segment_type", "small", "blocks", list{block})}, "host_traces", list{list{alloc}}),
			strings.Replace(segLine, "device 0", "host", 1) + blockLine + strings.TrimPrefix(plain, "device 0 ring 0 overflowed false")},
		{"host without anything", kv("segments", list{}, "host_segments", list{}, "host_traces", list{list{}}), ""},

		{"invalid UTF-8", oneEvent(alloc.with("frames", list{frame("a\xff.py", 1, "f\xc3")})), plain + " | a\ufffd.py:1:f\ufffd"},
		{"text for the page and the terminal", oneEvent(alloc.with("frames", list{frame("</script>", 1, "\x1b[31m")})), plain + " | </script>:1:\x1b[31m"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want != "" {
				want += "\n"
			}
			if got := mustDescribe(t, toPickle(t, tt.doc)); got != want {
				t.Errorf("pickle:\n%swant:\n%s", got, want)
			}
			if got := mustDescribe(t, toJSON(t, tt.doc)); got != want {
				t.Errorf("JSON:\n%swant:\n%s", got, want)
			}
		})
	}
}

// What only pickles can say.
func TestDecodePickleOnly(t *testing.T) {
	shareFrames := &shared{list{&shared{frame("a.py", 1, "f")}}}
	shareEvent := &shared{alloc.with("frames", shareFrames)}
	numpy := func(n string) opcode {
		return opcode(`GLOBAL numpy._core.multiarray scalar
			GLOBAL numpy dtype
			MARK
			SHORT_BINUNICODE "i8"
			NEWFALSE
			NEWTRUE
			TUPLE
			REDUCE
			MARK
			BININT1 3
			SHORT_BINUNICODE "<"
			TUPLE
			BUILD
			SHORT_BINBYTES "` + n + `"
			TUPLE2
			REDUCE`)
	}
	orderedDict := func(name, items string) opcode {
		return opcode("GLOBAL collections " + name + "\nEMPTY_TUPLE\nREDUCE\nMARK\n" + items + "\nSETITEMS")
	}
	tests := []struct {
		name, want string
		doc        any
	}{
		{"events shared between lists", strings.Repeat(plain+" | a.py:1:f\n", 2)[:len(plain)+12] + strings.Replace(plain+" | a.py:1:f\n", "device 0", "device 1", 1),
			kv("device_traces", list{list{shareEvent}, list{shareEvent}})},
		{"the same event twice", plain + " | a.py:1:f\n" + strings.TrimPrefix(plain, "device 0 ring 0 overflowed false\n") + " | a.py:1:f\n",
			kv("device_traces", list{list{shareEvent, shareEvent}})},
		{"numpy numbers", plain + "\n", oneEvent(kv("action", "alloc", "addr", numpy(`\x00\x10\x00\x00\x00\x00\x00\x00`), "size", numpy(`\x64\x00\x00\x00\x00\x00\x00\x00`)))},
		{"ordered dict as event", plain + "\n", kv("device_traces", list{list{orderedDict("OrderedDict",
			"SHORT_BINUNICODE \"action\"\nSHORT_BINUNICODE \"alloc\"\nSHORT_BINUNICODE \"addr\"\nBININT2 4096\nSHORT_BINUNICODE \"size\"\nBININT1 100")}})},
		{"counter as root", "", orderedDict("Counter", "SHORT_BINUNICODE \"segments\"\nEMPTY_LIST\nSHORT_BINUNICODE \"x\"\nNONE")},
		{"torch.Size in metadata", plain + ` compiled "" metadata "{\"shape\": [3, 4]}" category "" forward[]` + "\n",
			oneEvent(alloc.with("user_metadata", kv("shape", opcode("GLOBAL torch Size\nBININT1 3\nBININT1 4\nTUPLE2\nTUPLE1\nREDUCE"))))},
		{"long integer", strings.Replace(plain, "100 at", "100 at", 1) + "\n", oneEvent(kv("action", "alloc", "addr", opcode("LONG1 hex:0010000000000000000000"), "size", 100))},
		{"bytes as a key", plain + "\n", oneEvent(append(kv(opcode("SHORT_BINBYTES \"x\""), 1), alloc...))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := mustDescribe(t, toPickle(t, tt.doc)); got != tt.want {
				t.Errorf("got:\n%swant:\n%s", got, tt.want)
			}
		})
	}
}

// Damage in what the file says, with the place where.
func TestDecodeErrors(t *testing.T) {
	segment := kv("device", 0, "address", 4096, "total_size", 512)
	block := kv("size", 512, "state", "inactive")
	tests := []struct {
		name, want string
		doc        any
	}{
		{"ints", "it holds a list of 2 items, and [0] (an integer) is no segment with blocks", list{1, 2}},
		{"one segment without blocks", "and [1] (a dict) is no segment with blocks", list{segment.with("blocks", list{}), segment}},
		{"number", "not a memory snapshot", 5},
		{"other dict", `without segments and device_traces (its keys: state_dict \x1b[31m`, kv("state_dict", kv(), "\x1b[31m", 1)},
		{"empty dict", "(it is empty)", kv()},
		{"negative size", "a size of -1 bytes is not possible", oneEvent(kv("action", "alloc", "addr", 1, "size", -1))},
		{"huge size", "a size of 1152921504606846976 bytes is not possible", oneEvent(kv("action", "alloc", "addr", 1, "size", int64(1)<<60))},
		{"huge oom", "a size of 2305843009213693952 bytes is not possible", oneEvent(kv("action", "oom", "size", int64(1)<<61))},
		{"size as text", "size: want an integer, have a string", oneEvent(kv("action", "alloc", "addr", 1, "size", "1"))},
		{"size as float", "size: want an integer, have 1.5", oneEvent(kv("action", "alloc", "addr", 1, "size", 1.5))},
		{"action as number", "action: want a string, have an integer", oneEvent(kv("action", 1, "addr", 1, "size", 1))},
		{"event without action", "device_traces[0][0]: an event has no action", oneEvent(kv("addr", 1, "size", 1))},
		{"event as number", "device_traces[0][1]: want an event, have an integer", kv("device_traces", list{list{alloc, 1}})},
		{"event as frame", "device_traces[0][0]: want an event, have a record", kv("device_traces", list{list{frame("a", 1, "f")}})},
		{"traces as dict", "device_traces: want a list, have a dict", kv("device_traces", kv("a", 1))},
		{"trace as text", "device_traces[1]: want a list, have a string", kv("device_traces", list{list{}, "x"})},
		{"segments as number", "segments: want a list, have an integer", kv("segments", 3)},
		{"segment as number", "segments[0]: want a segment, have an integer", kv("segments", list{3})},
		{"device", "segments[0].device: 70000 is no device index", oneSegment(kv("device", 70000, "blocks", list{}))},
		{"segment stream", "segments[0].stream: want an integer, have a list", oneSegment(kv("stream", list{}, "blocks", list{}))},
		{"blocks", "segments[0].blocks: want a list, have a bool", oneSegment(segment.with("blocks", true))},
		{"block", "segments[0].blocks[1]: want a block, have an integer", oneSegment(segment.with("blocks", list{block, 5}))},
		{"block size", "segments[0].blocks[0].size: a size of -5 bytes is not possible", oneSegment(segment.with("blocks", list{kv("size", -5)}))},
		{"state", `segments[0].blocks[0].state: "asleep" is no block state`, oneSegment(segment.with("blocks", list{kv("size", 1, "state", "asleep")}))},
		{"state as number", "segments[0].blocks[0].state: want a string, have an integer", oneSegment(segment.with("blocks", list{kv("size", 1, "state", 5)}))},
		{"sums", "all segments together hold more than 4503599627370496 bytes", kv("segments", list{
			kv("total_size", int64(1)<<52, "blocks", list{}), kv("total_size", 1, "blocks", list{})})},
		{"pool", "pool_id: want a pair of integers, have a list", oneEvent(alloc.with("pool_id", list{1, 2, 3}))},
		{"pool of text", "pool_id: want an integer, have a string", oneEvent(alloc.with("pool_id", list{"a", 2}))},
		{"frames", "frames: want a list of frames, have a string", oneEvent(alloc.with("frames", "a.py"))},
		{"frame", "frames: [1]: want a frame, have an integer", oneEvent(alloc.with("frames", list{frame("a.py", 1, "f"), 2}))},
		{"frame name", "filename: want a string, have an integer", oneEvent(alloc.with("frames", list{kv("filename", 3, "line", 3, "name", "f")}))},
		{"annotation", "external_annotations[0]: want an annotation, have an integer", kv("segments", list{}, "external_annotations", list{5})},
		{"annotation time", "external_annotations[0].time_us: want an integer, have a string", kv("segments", list{}, "external_annotations", list{kv("name", "x", "time_us", "now")})},
		{"settings", "allocator_settings: want a dict, have a string", kv("segments", list{}, "allocator_settings", "none")},
		{"host", "host_segments[0]: want a segment, have an integer", kv("segments", list{}, "host_segments", list{5})},
		{"host events", "host_traces[0][0]: want an event, have an integer", kv("segments", list{}, "host_traces", list{list{5}})},
	}
	for _, tt := range tests {
		for form, data := range map[string][]byte{"pickle": toPickle(t, tt.doc), "JSON": toJSON(t, tt.doc)} {
			t.Run(tt.name+"/"+form, func(t *testing.T) {
				s, err := read(t, data)
				if err == nil {
					t.Fatalf("read without an error: %s", describe(s))
				}
				if form == "JSON" && errors.Is(err, ErrNotSnapshot) {
					return // the opening of the file sees it first, in its own words
				}
				if !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %q, want %q", err, tt.want)
				}
				if strings.ContainsAny(err.Error(), "\x1b\n") {
					t.Errorf("%q is not one harmless line", err)
				}
			})
		}
	}
}

// A few bytes may refer to the same list or text again and again.
func TestUnfoldingBombs(t *testing.T) {
	many := func(n int, x any) list {
		l := make(list, n)
		for i := range l {
			l[i] = x
		}
		return l
	}
	event := &shared{alloc}
	events := &shared{many(5000, event)}
	block := &shared{kv("size", 0, "state", "inactive")}
	segment := &shared{kv("device", 0, "blocks", many(5000, block))}
	for name, d := range map[string]doc{
		"events": kv("device_traces", many(5000, events)),
		"blocks": kv("segments", many(5000, segment)),
	} {
		_, err := read(t, toPickle(t, d))
		if err == nil || !strings.Contains(err.Error(), "the file refers to the same lists again and again") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Shared text expands to 16 MiB at most.
	text := &shared{list{strings.Repeat("x", 60_000)}}
	var frames list
	for i := range 2000 {
		frames = append(frames, frame("a.py", i, "f").with("fx_node_op", text))
	}
	s, err := read(t, toPickle(t, oneEvent(alloc.with("frames", frames))))
	if err != nil {
		t.Fatal(err)
	}
	var sum int
	for _, f := range s.Frames {
		sum += len(f.FX.Op)
	}
	if sum > maxRendered+1<<17 {
		t.Errorf("text of %d bytes from a small file", sum)
	}
}
