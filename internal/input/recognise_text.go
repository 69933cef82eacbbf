package input

import (
	"bytes"
	"regexp"
	"unicode/utf8"
)

// isText reports whether head reads as text: no zero byte, and hardly any byte
// that text does not have. Progress bars and colours bring some.
func isText(head []byte) bool {
	odd := 0
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		switch {
		case r == 0:
			return false
		case r == utf8.RuneError && n == 1 && len(head)-i >= utf8.UTFMax, r < ' ' && !bytes.ContainsRune([]byte("\t\n\v\f\r\b\a\x1b"), r):
			odd++
		}
		i += n
	}
	return odd*20 <= len(head) // Latin-1 text has a few bytes that are not UTF-8
}

var (
	htmlStart   = regexp.MustCompile(`(?i)^(<!--.*?-->\s*)*<(!doctype html|html|head|body|title|script)\b`)
	smiHeader   = regexp.MustCompile(`^[^\n]*\b(memory\.(used|free|total|reserved)|utilization\.(gpu|memory))\b[^\n]*(,|\[MiB\])`)
	smiRow      = regexp.MustCompile(`^(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d+,|([^,\n]*, )*\d+ MiB(,|\s*\n))`)
	shebang     = regexp.MustCompile(`^(#!.*\bpython|# -\*- coding)`)
	pythonLine  = regexp.MustCompile(`(?m)^(import [\w.]+( as \w+)?\s*$|from [\w.]+ import |(async )?def \w+\(.*|class \w+.*:\s*$|if __name__ == )`)
	memoryWords = regexp.MustCompile(`(?i)(alloc|reserved|memory|\bmem|vram|\bpeak)[^\n]{0,60}?\d`)
)

// byText tells kinds of text apart. The order matters: a page may show a log, and
// a program may print one.
func byText(head []byte) Kind {
	text := bytes.TrimLeft(head, " \t\r\n")
	start := text[:min(len(text), 4<<10)]
	switch {
	case bytes.HasPrefix(text, []byte("version https://git-lfs.github.com/spec/")):
		return GitLFS
	case htmlStart.Match(start):
		return HTML
	case bytes.HasPrefix(text, []byte("<?xml")):
		return XML
	case bytes.HasPrefix(text, []byte("|===")) && bytes.Contains(start, []byte("memory summary, device ID")):
		return MemorySummary
	case smiHeader.Match(start), smiRow.Match(start):
		return SMICSV
	case isPython(start):
		return Python
	case memoryWords.Match(text):
		return TrainingLog
	}
	return Text
}

func isPython(start []byte) bool {
	const enough = 2
	return shebang.Match(start) || len(pythonLine.FindAllIndex(start, enough)) == enough
}
