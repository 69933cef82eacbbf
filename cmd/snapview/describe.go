package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// partialText says why a snapshot is not whole, "" when it is.
func partialText(s *snapshot.Snapshot) string {
	if s.Partial == nil {
		return ""
	}
	return strings.Join(strings.Fields(s.Partial.Error()), " ")
}

// partialLine heads the text output of a snapshot that is not whole.
func (u *ui) partialLine(s *snapshot.Snapshot) string {
	if s.Partial == nil {
		return ""
	}
	return u.style(alarm, "PARTIAL") + " " + units.Safe(partialText(s)) + "\n"
}

// formatText names the encoding: "pickle protocol 4, zstd".
func formatText(s snapshot.Source) string {
	return strings.Join(append([]string{s.Format}, s.Compression...), ", ")
}

// sourceLine says what a file is.
func sourceLine(s *snapshot.Snapshot) string {
	kind := "memory snapshot"
	if s.Source.SegmentsOnly {
		kind = "segment list"
	}
	return fmt.Sprintf("%s: %s (%s)", units.Safe(displayName(s.Source.Name)), kind, units.Safe(formatText(s.Source)))
}

// eventText names a moment of the history: "event 2,040, +5.76 s".
func eventText(t *snapshot.Timeline, event int, time int64) string {
	if event < 0 {
		return "before the first event"
	}
	return "event " + units.Count(event) + sinceStart(t, time)
}

// sinceStart is ", +1.5 s" after the first event, "" when times are missing.
func sinceStart(t *snapshot.Timeline, time int64) string {
	first := firstTime(t)
	if first == 0 || time < first {
		return ""
	}
	return ", +" + units.Duration(time-first)
}

// historyText says what the answers about the past rest on.
func historyText(t *snapshot.Timeline) string {
	if len(t.Device.Events) == 0 {
		return t.History.String()
	}
	text := t.History.String() + ", " + plural(len(t.Device.Events), "event")
	if !hasHistory(t) {
		return text + " but no allocation"
	}
	if first, last := timeSpan(t); first > 0 && last > first {
		text += " over " + units.Duration(last-first)
	}
	return text
}

// settingsText is how the allocator was configured, in one line: the
// configuration given, or the settings that differ from PyTorch's defaults.
func settingsText(s *snapshot.Snapshot) string {
	switch {
	case s.Settings.Present:
		return setText(s.Settings)
	case s.Partial != nil:
		return "not reached"
	}
	return "not in the file"
}

// setText lists the settings in the form of PYTORCH_CUDA_ALLOC_CONF.
func setText(s snapshot.Settings) string {
	if s.Conf != "" {
		return units.Safe(s.Conf)
	}
	var set []string
	if s.ExpandableSegments {
		set = append(set, "expandable_segments:True")
	}
	if s.MaxSplitSize >= 0 {
		set = append(set, "max_split_size_mb:"+strconv.FormatInt(s.MaxSplitSize>>20, 10))
	}
	if s.GCThreshold > 0 {
		set = append(set, "garbage_collection_threshold:"+strconv.FormatFloat(s.GCThreshold, 'g', -1, 64))
	}
	if len(set) == 0 {
		return "PyTorch's defaults"
	}
	return strings.Join(set, ",")
}

// settingsJSON is allocator_settings as the file has them, in its order; null
// when the file is older than the key.
func settingsJSON(s snapshot.Settings) json.RawMessage {
	if !s.Present {
		return json.RawMessage("null")
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, kv := range s.All {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quoteJSON(kv.Key))
		b.WriteByte(':')
		b.Write(settingJSON(kv))
	}
	b.WriteByte('}')
	return json.RawMessage(b.String())
}

// settingJSON turns a value, which is text as Python prints it, back into the
// number, bool, object or string it was.
func settingJSON(kv snapshot.KeyValue) []byte {
	switch {
	case kv.Key == "PYTORCH_CUDA_ALLOC_CONF":
	case kv.Value == "True":
		return []byte("true")
	case kv.Value == "False":
		return []byte("false")
	case kv.Value == "None":
		return []byte("null")
	case json.Valid([]byte(kv.Value)):
		return []byte(kv.Value)
	}
	return quoteJSON(kv.Value)
}

func quoteJSON(s string) []byte {
	quoted, _ := json.Marshal(s) // a string cannot fail
	return quoted
}
