package allocator

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// Keys of PYTORCH_CUDA_ALLOC_CONF that the model follows.
const (
	keyExpandable   = "expandable_segments"
	keyMaxSplit     = "max_split_size_mb"
	keyNonSplit     = "max_non_split_rounding_mb"
	keyGC           = "garbage_collection_threshold"
	keyRoundup      = "roundup_power2_divisions"
	keyLargeSegment = "large_segment_size_mb"
)

// harmless are known keys that do not change where device memory comes from.
var harmless = map[string]bool{
	"release_lock_on_cudamalloc": true, "release_lock_on_hipmalloc": true,
	"pinned_use_cuda_host_register": true, "pinned_use_hip_host_register": true,
	"pinned_num_register_threads": true, "pinned_use_background_threads": true,
	"pinned_reserve_segment_size_mb": true, "pinned_max_cached_size_mb": true,
	"graph_capture_record_stream_reuse": true, "throw_on_cudamalloc_oom": true,
}

// ParseConf reads a value of PYTORCH_CUDA_ALLOC_CONF (or PYTORCH_ALLOC_CONF):
// "key:value" pairs joined by commas, blanks ignored, as AllocatorConfig::parseArgs
// reads them. A key that is not known is kept in Other and noted in Warnings.
func ParseConf(conf string) (Settings, error) {
	conf = confValue(conf)
	p := confParser{words: confWords(conf), out: Default()}
	for len(p.words) > 0 {
		if err := p.pair(); err != nil {
			return Default(), fmt.Errorf("allocator settings %q: %w", conf, err)
		}
	}
	p.out.Text = strings.TrimSpace(conf)
	return p.out, nil
}

// confValue takes the value out of a line for a shell, export NAME="value".
func confValue(conf string) string {
	conf = strings.TrimSpace(conf)
	conf = strings.TrimSpace(strings.TrimPrefix(unquote(conf), "export "))
	for _, name := range []string{"PYTORCH_CUDA_ALLOC_CONF=", "PYTORCH_ALLOC_CONF="} {
		conf = strings.TrimPrefix(conf, name)
	}
	return unquote(conf)
}

// unquote drops a pair of quotes around s.
func unquote(s string) string {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}

// confWords splits at commas, colons and brackets, which are words themselves
// (AllocatorConfig::lexArgs).
func confWords(conf string) []string {
	conf = strings.ReplaceAll(conf, " ", "")
	var words []string
	for conf != "" {
		n := strings.IndexAny(conf, ",:[]")
		switch n {
		case 0:
			n = 1
		case -1:
			n = len(conf)
		}
		words = append(words, conf[:n])
		conf = conf[n:]
	}
	return words
}

type confParser struct {
	words []string
	out   Settings
}

// peek returns the next word, "" at the end.
func (p *confParser) peek() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0]
}

func (p *confParser) take() string {
	w := p.peek()
	if w != "" {
		p.words = p.words[1:]
	}
	return w
}

func (p *confParser) expect(want, after string) error {
	if got := p.take(); got != want {
		return fmt.Errorf("expected %q after %q, found %s; settings look like key:value,key:value", want, after, found(got))
	}
	return nil
}

func found(word string) string {
	if word == "" {
		return "the end"
	}
	return strconv.Quote(word)
}

// pair reads one setting and the comma behind it.
func (p *confParser) pair() error {
	key := p.take()
	if strings.ContainsAny(key, ",:[]") {
		return fmt.Errorf("expected a setting, found %q; settings look like key:value,key:value", key)
	}
	if err := p.expect(":", key); err != nil {
		return err
	}
	if err := p.value(key); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if p.peek() == "" {
		return nil
	}
	return p.expect(",", key)
}

func (p *confParser) value(key string) (err error) {
	switch key {
	case keyExpandable:
		p.out.Expandable, err = p.truth()
	case keyMaxSplit:
		p.out.MaxSplitSize, err = p.megabytes(largeSegment / mib)
	case keyNonSplit:
		p.out.MaxNonSplitRounding, err = p.megabytes(largeSegment / mib)
	case keyLargeSegment:
		p.out.LargeSegment, err = p.megabytes(largeSegment / mib)
	case keyGC:
		p.out.GCThreshold, err = p.fraction()
	case keyRoundup:
		err = p.roundup()
	case "backend":
		err = p.backend()
	default:
		err = p.other(key)
	}
	return err
}

func (p *confParser) truth() (bool, error) {
	switch w := p.take(); w {
	case "True":
		return true, nil
	case "False":
		return false, nil
	default:
		return false, fmt.Errorf("expected True or False, found %s", found(w))
	}
}

// megabytes reads a number of MiB, at least low, as bytes.
func (p *confParser) megabytes(low int64) (int64, error) {
	n, err := p.number()
	if err == nil && n < low {
		return 0, fmt.Errorf("%d is too small; at least %d is needed", n, low)
	}
	return min(n, sizeLimit/mib) * mib, err
}

func (p *confParser) number() (int64, error) {
	w := p.take()
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("expected a whole number, found %s", found(w))
	}
	return n, nil
}

func (p *confParser) fraction() (float64, error) {
	w := p.take()
	f, err := strconv.ParseFloat(w, 64)
	if err != nil || !(f > 0 && f < 1) {
		return 0, fmt.Errorf("expected a number between 0 and 1, found %s", found(w))
	}
	return f, nil
}

// roundup reads one number for all sizes, or a list as
// AllocatorConfig::parseRoundUpPower2Divisions does.
func (p *confParser) roundup() error {
	if p.peek() == "[" {
		p.take()
		return p.roundupList()
	}
	d, err := p.number()
	if err != nil {
		return err
	}
	if d == 0 || !isDivision(d) {
		return fmt.Errorf("%d divisions: the number must be a power of two", d)
	}
	fill(p.out.Roundup[:], d)
	return nil
}

// roundupList reads "size:divisions" entries up to "]". The size is in MiB; the
// first entry also holds for all smaller sizes, and ">" for the size of the
// entry before it and all larger ones.
func (p *confParser) roundupList() error {
	slots, last, first := p.out.Roundup[:], 0, true
	for p.peek() != "]" {
		size := p.take()
		if err := p.expect(":", size); err != nil {
			return err
		}
		d, err := p.number()
		if err != nil {
			return err
		}
		if !isDivision(d) {
			return fmt.Errorf("%d divisions: the number must be a power of two, or 0 for none", d)
		}
		if size == ">" {
			fill(slots[last:], d)
		} else {
			if last, err = listSlot(size); err != nil {
				return err
			}
			if first {
				fill(slots[:last], d)
				first = false
			}
			slots[last] = d
		}
		if p.peek() != "]" {
			if err := p.expect(",", strconv.FormatInt(d, 10)); err != nil {
				return err
			}
		}
	}
	p.take()
	return nil
}

func listSlot(size string) (int, error) {
	n, err := strconv.ParseUint(size, 10, 63)
	if err != nil || n == 0 || n&(n-1) != 0 {
		return 0, fmt.Errorf("expected a power of two in MiB or \">\", found %s", found(size))
	}
	return min(bits.Len64(n)-1, roundupSlots-1), nil
}

func fill(slots []int64, d int64) {
	for i := range slots {
		slots[i] = d
	}
}

// backend accepts the allocator that the model is of.
func (p *confParser) backend() error {
	switch w := p.take(); w {
	case "native":
	case "cudaMallocAsync", "hipMallocAsync":
		p.out.Warnings = append(p.out.Warnings, "backend "+w+" does not use the caching allocator that is modelled here")
		p.out.Other = append(p.out.Other, snapshot.KeyValue{Key: "backend", Value: w})
	default:
		return fmt.Errorf("expected native or cudaMallocAsync, found %s", found(w))
	}
	return nil
}

// other keeps the value of a key that the model does not follow, a list included.
func (p *confParser) other(key string) error {
	value, depth := "", 0
	for w := p.peek(); w != "" && (depth > 0 || w != ","); w = p.peek() {
		switch w {
		case "[":
			depth++
		case "]":
			depth--
		}
		value += p.take()
	}
	if value == "" {
		return fmt.Errorf("expected a value, found %s", found(p.peek()))
	}
	p.out.Other = append(p.out.Other, snapshot.KeyValue{Key: key, Value: value})
	if !harmless[key] {
		p.out.Warnings = append(p.out.Warnings, fmt.Sprintf("the setting %q is not known here and has no effect on the replay", key))
	}
	return nil
}
