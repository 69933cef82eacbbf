package allocator

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// Settings are the settings of the caching allocator that decide where memory
// comes from. Start from Default, ParseConf or FromSnapshot: the zero value is
// not usable. Sizes are bytes.
type Settings struct {
	MaxSplitSize        int64               // max_split_size_mb: blocks this large are not split and serve only requests this large; 0 for no limit
	MaxNonSplitRounding int64               // max_non_split_rounding_mb: by how much such a block may exceed the request
	GCThreshold         float64             // garbage_collection_threshold: fraction of the limit above which old cached blocks are returned; 0 for off
	Expandable          bool                // expandable_segments
	Roundup             [roundupSlots]int64 // roundup_power2_divisions by power of two, from 1 MiB up; 0 for plain rounding
	LargeSegment        int64               // large_segment_size_mb: segment for requests below half of it, and page of large expandable segments

	Text string // as given to ParseConf, "" for settings that were not read

	// Other holds the remaining settings in the order given: they do not change
	// where memory comes from, or not in a way that a history can show.
	Other []snapshot.KeyValue

	// Warnings are plain sentences about settings that the model leaves out.
	Warnings []string
}

// Default returns the settings of an allocator that was not configured.
func Default() Settings {
	return Settings{MaxNonSplitRounding: largeSegment, LargeSegment: largeSegment}
}

// FromSnapshot returns the settings a snapshot was recorded under. What
// allocator_settings says as numbers goes before its text. A file without them
// (before PyTorch 2.2) gives the defaults and a warning.
func FromSnapshot(in snapshot.Settings) Settings {
	s, err := ParseConf(in.Conf)
	if err != nil {
		s.Warnings = append(s.Warnings, "the recorded settings do not parse: "+err.Error())
	}
	if !in.Present {
		s.Warnings = append(s.Warnings, "the file does not say how the allocator was configured: the defaults are assumed")
		return s
	}
	s.MaxSplitSize = max(in.MaxSplitSize, 0)
	s.Expandable = in.ExpandableSegments
	if in.GCThreshold >= 0 && in.GCThreshold < 1 {
		s.GCThreshold = in.GCThreshold
	}
	for _, d := range in.RoundupPower2Divisions {
		if slot := bits.Len64(uint64(d.MiB)) - 1; d.MiB > 0 && slot < roundupSlots && isDivision(d.Divisions) {
			s.Roundup[slot] = d.Divisions
		}
	}
	return s
}

// isDivision reports whether d is 0 or a power of two.
func isDivision(d int64) bool { return d >= 0 && d&(d-1) == 0 && d <= mib }

func (s *Settings) maxSplit() int64 {
	if s.MaxSplitSize <= 0 {
		return math.MaxInt64
	}
	return s.MaxSplitSize
}

// Name returns the settings as they were given, or else as String has them.
func (s *Settings) Name() string {
	if s.Text != "" {
		return s.Text
	}
	return s.String()
}

// String returns the settings as a value of PYTORCH_CUDA_ALLOC_CONF, in a fixed
// order and without what is at its default; "" for the defaults.
func (s *Settings) String() string {
	var parts []string
	add := func(differs bool, key string, value any) {
		if differs {
			parts = append(parts, fmt.Sprint(key, ":", value))
		}
	}
	def := Default()
	add(s.Expandable, keyExpandable, "True")
	add(s.MaxSplitSize > 0, keyMaxSplit, s.MaxSplitSize/mib)
	add(s.MaxNonSplitRounding != def.MaxNonSplitRounding, keyNonSplit, s.MaxNonSplitRounding/mib)
	add(s.GCThreshold > 0, keyGC, strconv.FormatFloat(s.GCThreshold, 'g', -1, 64))
	add(s.Roundup != def.Roundup, keyRoundup, s.roundupText())
	add(s.LargeSegment != def.LargeSegment, keyLargeSegment, s.LargeSegment/mib)
	for _, kv := range s.Other {
		add(true, kv.Key, kv.Value)
	}
	return strings.Join(parts, ",")
}

// count is how many settings differ from the defaults.
func (s *Settings) count() int {
	n, def := len(s.Other), Default()
	for _, differs := range []bool{s.Expandable, s.MaxSplitSize > 0, s.GCThreshold > 0, s.Roundup != def.Roundup,
		s.MaxNonSplitRounding != def.MaxNonSplitRounding, s.LargeSegment != def.LargeSegment} {
		if differs {
			n++
		}
	}
	return n
}

// roundupText writes the divisions as one number where they are all alike, else
// as a list. A list's first key also fills the slots below it and ">" fills
// those from the last key on, so runs at both ends take one entry each.
func (s *Settings) roundupText() string {
	first, last := 0, roundupSlots-1
	for first < roundupSlots-1 && s.Roundup[first+1] == s.Roundup[0] {
		first++
	}
	if first == roundupSlots-1 && s.Roundup[0] > 0 {
		return strconv.FormatInt(s.Roundup[0], 10)
	}
	for last > 0 && s.Roundup[last-1] == s.Roundup[roundupSlots-1] {
		last--
	}
	var entries []string
	for i := first; i <= last; i++ {
		entries = append(entries, fmt.Sprintf("%d:%d", int64(1)<<i, s.Roundup[i]))
	}
	entries = append(entries, fmt.Sprintf(">:%d", s.Roundup[roundupSlots-1]))
	return "[" + strings.Join(entries, ",") + "]"
}
