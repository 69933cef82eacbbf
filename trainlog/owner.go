package trainlog

import "strings"

// ownerWords are the words of names that a rank or a GPU follows.
var ownerWords = map[string]bool{"rank": true, "gpu": false, "cuda": false, "device": false}

// ownerOf returns the rank and the GPU that a name tells, such as "gpu0_mem_gb",
// "rank_1/allocated" or "system.gpu.0.memory"; Unknown where it tells none.
func ownerOf(name string) (rank, device int) {
	rank, device = Unknown, Unknown
	for i := 0; i < len(name); {
		if !isASCIILetter(name[i]) {
			i++
			continue
		}
		from := i
		for i < len(name) && isASCIILetter(name[i]) {
			i++
		}
		isRank, ok := ownerWords[strings.ToLower(name[from:i])]
		if !ok || isRank && strings.HasSuffix(strings.ToLower(name[:from]), "lora_") {
			continue
		}
		n, ok := ownNumber(strings.TrimLeft(name[i:], "_.:/#[ "))
		switch {
		case !ok:
		case isRank:
			rank = n
		default:
			device = n
		}
	}
	return rank, device
}

// ownNumber reads a number that is no amount.
func ownNumber(text string) (n int, ok bool) {
	end := 0
	for end < len(text) && isDigit(text[end]) {
		end++
	}
	if end < len(text) && isASCIILetter(text[end]) || end+1 < len(text) && text[end] == '.' && isDigit(text[end+1]) {
		return 0, false
	}
	return smallNumber(text[:end])
}

func isASCIILetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// markDistinct marks the figures of one line that are called the same and are not:
// each has a curve of its own, by the words beside it.
func markDistinct(list []figure) {
	const most = 64 // of more, any may be
	for i := range list {
		f := &list[i]
		if i >= most {
			f.distinct = true
			continue
		}
		for j := range list[:i] {
			if o := &list[j]; f.isLike(o) {
				f.distinct, o.distinct = true, true
			}
		}
	}
}

// belongsTo gives a figure the rank and the GPU that its name tells.
func (f *figure) belongsTo(rank, device int) {
	f.rank = rank + 1
	if device != Unknown {
		f.device = device
	}
}

func (f *figure) isLike(o *figure) bool {
	return f.metric == o.metric && f.total == o.total && f.unit == o.unit && f.device == o.device && f.rank == o.rank
}

// withoutNumbers makes the words beside a figure the same on all lines.
func withoutNumbers(spelling string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '#'
		}
		return r
	}, spelling)
}
