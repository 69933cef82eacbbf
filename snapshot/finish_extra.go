package snapshot

import (
	"fmt"
	"strconv"

	"github.com/snapview/snapview/internal/value"
)

// annotations reads external_annotations: the ends of record_function marks.
func (b *builder) annotations(root value.Value, lenient bool) error {
	list, _ := b.h.Get(root, "external_annotations")
	items := b.h.Items(list)
	if err := b.count(len(items)); err != nil {
		return fmt.Errorf("external_annotations: %w", err)
	}
	for i, item := range items {
		a, err := b.annotation(item)
		if err != nil {
			if lenient {
				continue
			}
			return fmt.Errorf("external_annotations[%d]%w", i, err)
		}
		b.snap.Annotations = append(b.snap.Annotations, a)
	}
	return nil
}

func (b *builder) annotation(v value.Value) (Annotation, error) {
	a := Annotation{Device: -1}
	if k, ok := b.h.Container(v); !ok || k != value.Dict {
		return a, fmt.Errorf(": want an annotation, have %s", b.h.Describe(b.h.Resolve(v)))
	}
	items, err := b.items(v)
	if err != nil {
		return a, fmt.Errorf(": %w", err)
	}
	for i := 0; i+1 < len(items); i += 2 {
		id, known := items[i].StringID()
		var err error
		switch v := items[i+1]; {
		case known && id == keyName:
			a.Name = b.text(v)
		case known && id == keyStage:
			a.Start = v == value.MakeStr(wordStart)
		case known && id == keyTime:
			a.Time, err = b.h.Int64(v)
		case known && id == keyDevice:
			var n int64
			n, err = b.h.Int64(v)
			a.Device = int(n)
		default:
			a.Extra = append(a.Extra, KeyValue{b.text(items[i]), b.text(v)})
		}
		if err != nil {
			return a, fmt.Errorf(".%s: %w", b.h.Strings.Text(id), err)
		}
	}
	return a, nil
}

// settings reads allocator_settings. Keys come and go between versions; a
// setting of an unexpected kind is kept as text and not taken for a value.
func (b *builder) settings(root value.Value) error {
	v, ok := b.h.Get(root, "allocator_settings")
	if !ok || v == value.Nil {
		return nil
	}
	if k, ok := b.h.Container(v); !ok || k != value.Dict {
		return fmt.Errorf("allocator_settings: want a dict, have %s", b.h.Describe(v))
	}
	s := Settings{Present: true, MaxSplitSize: -1}
	for items, i := b.h.Items(v), 0; i+1 < len(items); i += 2 {
		key, val := b.text(items[i]), items[i+1]
		s.All = append(s.All, KeyValue{key, b.text(val)})
		switch key {
		case "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF":
			if text := b.text(val); text != "" && val != value.Nil {
				s.Conf = text
			}
		case "max_split_size":
			if n, err := b.h.Int64(val); err == nil && n >= 0 {
				s.MaxSplitSize = n
			}
		case "garbage_collection_threshold":
			if f, err := b.h.Float64(val); err == nil {
				s.GCThreshold = f
			}
		case "expandable_segments":
			if on, err := b.h.Bool(val); err == nil {
				s.ExpandableSegments = on
			}
		case "roundup_power2_divisions":
			s.RoundupPower2Divisions = b.divisions(val)
		}
	}
	b.snap.Settings = s
	return nil
}

func (b *builder) divisions(v value.Value) []RoundupDivision {
	var out []RoundupDivision
	for items, i := b.h.Items(v), 0; i+1 < len(items); i += 2 {
		mib, ok := b.number(items[i])
		if !ok {
			continue
		}
		if n, err := b.h.Int64(items[i+1]); err == nil {
			out = append(out, RoundupDivision{MiB: mib, Divisions: n})
		}
	}
	return out
}

// ring reads trace_alloc_max_entries and trace_alloc_overflowed, which are
// found at the root or in the settings, as one value or one per device (list
// by index, or dict).
func (b *builder) ring(set deviceSet, root value.Value) {
	settings, _ := b.h.Get(root, "allocator_settings")
	for _, place := range []value.Value{root, settings} {
		if v, ok := b.h.Get(place, "trace_alloc_max_entries"); ok {
			entry := b.perDevice(v)
			for _, d := range set {
				if n, err := b.h.Int64(entry(d.Index)); err == nil && n > 0 {
					d.RingSize = n
				}
			}
		}
		if v, ok := b.h.Get(place, "trace_alloc_overflowed"); ok {
			entry := b.perDevice(v)
			for _, d := range set {
				if on, err := b.h.Bool(entry(d.Index)); err == nil {
					d.Overflowed = d.Overflowed || on
				}
			}
		}
	}
}

// perDevice returns what picks a device's entry from a value that may be given
// per device.
func (b *builder) perDevice(v value.Value) func(device int) value.Value {
	kind, ok := b.h.Container(v)
	if !ok {
		return func(int) value.Value { return v }
	}
	items := b.h.Items(v)
	if kind != value.Dict {
		return func(device int) value.Value {
			if device < 0 || device >= len(items) {
				return value.Nil
			}
			return items[device]
		}
	}
	entries := make(map[int64]value.Value, len(items)/2)
	for i := 0; i+1 < len(items); i += 2 {
		if device, ok := b.number(items[i]); ok {
			entries[device] = items[i+1]
		}
	}
	return func(device int) value.Value { return entries[int64(device)] }
}

// number returns a key that is an integer, or text of one as in JSON.
func (b *builder) number(key value.Value) (int64, bool) {
	const longest = len("-9223372036854775808")
	if id, ok := key.StringID(); ok {
		text := b.h.Strings.Text(id)
		if len(text) > longest {
			return 0, false
		}
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
	n, err := b.h.Int64(key)
	return n, err == nil
}

// host reads the pinned host allocator, when it was recorded.
func (b *builder) host(root value.Value, lenient bool) error {
	segments, hasSegments := b.h.Get(root, "host_segments")
	traces, hasTraces := b.h.Get(root, "host_traces")
	if !hasSegments && !hasTraces {
		return nil
	}
	host := &Device{Index: -1}
	set := deviceSet{-1: host, 0: host}
	if err := b.segments(set, segments, "host_segments", lenient); err != nil {
		return err
	}
	items, err := b.list(traces, lenient)
	if err != nil {
		return fmt.Errorf("host_traces%w", err)
	}
	if len(items) > 0 && !b.isEvent(items[0]) { // one list per device, of which the host is one
		if err := b.traces(set, traces, "host_traces", lenient); err != nil {
			return err
		}
		if len(set) > 2 {
			b.warn("host memory of more than one device is recorded; only that of device 0 is shown")
		}
	} else if events, err := b.history(traces, lenient); err != nil {
		return fmt.Errorf("host_traces%w", err)
	} else {
		host.Events = events
	}
	if len(host.Segments)+len(host.Events) > 0 {
		b.snap.Host = host
	}
	return nil
}

func (b *builder) isEvent(v value.Value) bool {
	r := b.h.Resolve(v)
	if _, ok := r.IsExt(classEvent); ok {
		return true
	}
	k, ok := b.h.Container(r)
	return ok && k == value.Dict
}
