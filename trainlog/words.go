package trainlog

import (
	"strings"
	"unicode/utf8"
)

// A label is what the words beside a number say about it.
type label struct {
	metric  Metric
	kind    labelKind
	peak    bool // it is a maximum
	unit    Unit // said by the words: memory_gb, allocated (MB)
	hasUnit bool
	foreign bool // it is not about a GPU: host memory, a rate, a size on disk
	delta   bool // it is a change
	total   bool // "total"
	others  bool // "other": not PyTorch's own
	usage   bool // "used", "usage"
	rank    int  // the rank that a word names, plus 1; 0 for none
}

type labelKind uint8

const (
	nothing   labelKind = iota
	onlyPeak            // "max", "peak": of what is told elsewhere
	onlyGPU             // "gpu", "cuda": whose, and not of what
	memory              // "memory", "vram": not of which kind
	totalSize           // "total": the size of the GPU
	exact               // "allocated", "reserved", …
)

// kinds are the words that say what memory a number is about.
var kinds = map[string]struct {
	kind   labelKind
	metric Metric
}{
	"allocated": {exact, Allocated}, "alloc": {exact, Allocated}, "allocd": {exact, Allocated}, "allocation": {exact, Allocated}, "已分配": {exact, Allocated},
	"reserved": {exact, Reserved}, "reserv": {exact, Reserved}, "resv": {exact, Reserved}, "cached": {exact, Reserved}, "cache": {exact, Reserved}, "cach": {exact, Reserved}, "预留": {exact, Reserved}, "保留": {exact, Reserved}, "缓存": {exact, Reserved},
	"active":    {exact, Active},
	"requested": {exact, Requested},
	"free":      {exact, DeviceFree}, "available": {exact, DeviceFree}, "avail": {exact, DeviceFree}, "remaining": {exact, DeviceFree},
	"ma": {exact, Allocated}, "ca": {exact, Reserved}, // DeepSpeed: memory and cache allocated
	"misc":  {exact, Outside}, // Axolotl
	"total": {totalSize, 0}, "capacity": {totalSize, 0}, "limit": {totalSize, 0},
	"memory": {memory, Used}, "mem": {memory, Used}, "vram": {memory, Used}, "gpumem": {memory, Used}, "显存": {memory, Used},
	"used": {memory, Used}, "usage": {memory, Used}, "footprint": {memory, Used}, "consumption": {memory, Used}, "consumed": {memory, Used},
	"gpu": {onlyGPU, Used}, "cuda": {onlyGPU, Used}, "current": {onlyGPU, Used},
}

// peaks are the words for a maximum.
var peaks = map[string]bool{"max": true, "maximum": true, "peak": true, "peaked": true, "highest": true, "maxmem": true, "峰值": true, "最大": true}

// foreign are words for what is no memory of a GPU, or no amount of it in use.
var foreign = map[string]bool{
	"cpu": true, "ram": true, "host": true, "rss": true, "vms": true, "swap": true, "disk": true, "shm": true, "virtual": true, "pinned": true,
	"kv": true, "bandwidth": true, "throughput": true, "file": true, "files": true, "download": true, "downloading": true, "checkpoint": true,
	"dataset": true, "tried": true, "inactive": true, "bucket": true, "theoretical": true, "estimated": true, "required": true, "requirement": true, "params": true, "parameters": true, "threshold": true,
	"saved": true, "savings": true, "freed": true, "utilization": true, "util": true, "count": true, "size": true, "python": true,
	"retries": true, "retires": true, "ooms": true, "calls": true, "segments": true, "blocks": true, "tokens": true, "samples": true, "images": true, "loss": true,
	"percent": true, "fraction": true,
}

// usages are words for what is in use, which no size of a GPU is.
var usages = map[string]bool{"used": true, "usage": true, "consumption": true, "consumed": true, "footprint": true}

var changes = map[string]bool{"delta": true, "diff": true, "difference": true, "change": true, "increase": true, "increased": true, "growth": true, "begin": true}

// read adds a word, which may be an identifier of several.
func (l *label) read(identifier string) {
	for _, part := range parts(identifier) {
		switch {
		case foreign[part]:
			l.foreign = true
		case changes[part]:
			l.delta = true
		case peaks[part]:
			l.peak = true
			l.kind = max(l.kind, onlyPeak)
		default:
			l.readKind(part)
		}
	}
}

func (l *label) readKind(part string) {
	l.total = l.total || part == "total"
	l.others = l.others || part == "other" || part == "others"
	l.usage = l.usage || usages[part]
	if k, ok := kinds[part]; ok {
		// The word nearest to the number is read first and wins among equals.
		if k.kind > l.kind {
			l.kind, l.metric = k.kind, k.metric
		}
		return
	}
	if part[0] >= utf8.RuneSelf { // words of Chinese are not spaced
		for name, k := range kinds {
			if name[0] >= utf8.RuneSelf && k.kind > l.kind && strings.Contains(part, name) {
				l.kind, l.metric = k.kind, k.metric
			}
		}
	}
	if u, ok := unitWords[part]; ok && !l.hasUnit && part != "b" {
		l.unit, l.hasUnit = u.named(part), true
	}
}

// join adds what another word says, which is further from the number.
func (l *label) join(w *label) {
	l.foreign = l.foreign || w.foreign
	l.delta = l.delta || w.delta
	l.peak = l.peak || w.peak
	l.total = l.total || w.total
	l.others = l.others || w.others
	l.usage = l.usage || w.usage
	if l.rank == 0 {
		l.rank = w.rank
	}
	if w.kind > l.kind {
		l.kind, l.metric = w.kind, w.metric
	}
	if w.hasUnit && !l.hasUnit {
		l.unit, l.hasUnit = w.unit, true
	}
}

// settle weighs the words once all are read: a total that is used is not the
// size of a GPU, and what is available in total is.
func (l *label) settle() {
	switch {
	case l.kind == totalSize && l.usage:
		l.kind, l.metric = memory, Used
	case l.kind == exact && l.metric == DeviceFree && l.total:
		l.kind = totalSize
	}
	switch {
	case l.delta:
		l.metric = Change
	case l.others && l.kind == memory:
		l.metric = Outside
	case l.peak:
		l.metric = l.metric.peak()
	}
}

// parts splits an identifier at underscores and where small letters turn into
// capitals, and lowers it: MaxMemAllocated, max_memory_allocated_gb.
func parts(identifier string) []string {
	var list []string
	for segment := range strings.SplitSeq(identifier, "_") {
		if lower := strings.ToLower(segment); unitWords[lower] != (Unit{}) {
			list = append(list, lower) // GiB is one word
			continue
		}
		start := 0
		for i := 1; i <= len(segment); i++ {
			if i == len(segment) || isHump(segment[i-1], segment[i]) {
				list = append(list, strings.ToLower(segment[start:i]))
				start = i
			}
		}
	}
	return list
}

// isHump reports whether a new word begins at b: memAllocated, gpu0.
func isHump(a, b byte) bool {
	lower := a >= 'a' && a <= 'z'
	return lower && b >= 'A' && b <= 'Z' || !isDigit(a) && isDigit(b)
}
