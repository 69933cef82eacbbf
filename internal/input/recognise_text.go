package input

import (
	"bytes"
	"regexp"
	"unicode/utf8"
)

// isText reports whether head reads as text: hardly any byte that text does not
// have. Progress bars and colours bring some. So do zero bytes, which a machine
// that lost power leaves in a log, and where a log begins that was cut to nothing
// while a program still wrote it.
func isText(head []byte) bool {
	odd, all := 0, 0
	for i := 0; i < len(head); {
		if head[i] == 0 {
			if i == 0 || head[i-1] != 0 { // many in a row are one hole
				odd++
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && n == 1 && len(head)-i >= utf8.UTFMax || r < ' ' && !bytes.ContainsRune([]byte("\t\n\v\f\r\b\a\x1b"), r) {
			odd++
		}
		i += n
		all += n
	}
	return odd*20 <= all // Latin-1 text has a few bytes that are not UTF-8
}

var (
	htmlStart   = regexp.MustCompile(`(?i)^(<!--.*?-->\s*)*<(!doctype html|html|head|body|title|script)\b`)
	smiHeader   = regexp.MustCompile(`^[^\n]*\b(memory\.(used|free|total|reserved)|utilization\.(gpu|memory)|used_(gpu_)?memory|VRAM Total Used Memory)\b[^\n]*(,|\[MiB\]|\(B\))`)
	smiOther    = regexp.MustCompile(`^(#\s*gpu\b[^\n]*\bfb\b|(.*\n){0,4}.*\bNVIDIA-SMI \d)`) // dmon, and the plain table
	smiRow      = regexp.MustCompile(`^(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d+,|([^,\n]*, )*\d+ MiB(,|\s*\n))`)
	shebang     = regexp.MustCompile(`^(#!.*\bpython|# -\*- coding)`)
	pythonLine  = regexp.MustCompile(`(?m)^(import [\w.]+( as \w+)?\s*$|from [\w.]+ import |(async )?def \w+\(.*|class \w+.*:\s*$|if __name__ == )`)
	memoryWords = regexp.MustCompile(`(?i)((alloc|reserved|memory|(\b|_)mem|vram|\bpeak|\bgb_free|显存)[^\n]{0,60}?\d|^\s*Epoch +GPU_mem)`)
	memoryName  = regexp.MustCompile(`(?i)(alloc|reserved|memory|(\b|_)mem|vram)`)
	logJSON     = regexp.MustCompile(`"(log|message|msg|text|textPayload|log_history)"\s*:`)
	statsKey    = regexp.MustCompile(`"(allocated|reserved|active)_bytes`) // of memory_stats(), at any depth
)

// byText tells kinds of text apart. The order matters: a page may show a log, and
// a program may print one.
func byText(head []byte) Kind {
	text := bytes.TrimLeft(head, "\x00 \t\r\n")
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
	case smiHeader.Match(start), smiRow.Match(start), smiOther.Match(start):
		return SMICSV
	case isPython(start):
		return Python
	case memoryWords.Match(text), isValueTable(start):
		return TrainingLog
	}
	return Text
}

// isValueTable reports whether text is CSV with a column that is named after
// memory, as training loops write it.
func isValueTable(text []byte) bool {
	header, rest, ok := bytes.Cut(text, []byte("\n"))
	row, _, _ := bytes.Cut(rest, []byte("\n"))
	columns := bytes.Count(header, []byte(","))
	return ok && columns > 0 && memoryName.Match(header) && bytes.Count(row, []byte(",")) == columns && bytes.ContainsAny(row, "0123456789")
}

// isLogJSON reports whether JSON is the log of a container or of a training, with
// memory in its text.
func isLogJSON(head []byte) bool { return logJSON.Match(head) && memoryWords.Match(head) }

func isPython(start []byte) bool {
	const enough = 2
	return shebang.Match(start) || len(pythonLine.FindAllIndex(start, enough)) == enough
}
