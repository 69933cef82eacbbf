package trainlog

import (
	"bytes"
	"math"
	"strings"
	"time"
)

// dropEscapes removes terminal control sequences (ECMA-48: CSI, and OSC up to
// its end), in place.
func dropEscapes(line []byte) []byte {
	if bytes.IndexByte(line, 0x1b) < 0 {
		return line
	}
	out := line[:0]
	for i := 0; i < len(line); i++ {
		if line[i] != 0x1b {
			out = append(out, line[i])
			continue
		}
		i++
		switch {
		case i >= len(line):
		case line[i] == '[':
			for i++; i < len(line) && (line[i] < 0x40 || line[i] > 0x7e); i++ {
			}
		case line[i] == ']':
			for i++; i < len(line) && line[i] != 0x07 && line[i] != 0x1b; i++ {
			}
		}
	}
	return out
}

// containerText takes off what container runtimes put before a line (CRI:
// "2026-01-02T03:04:05.6Z stdout F text") and returns the time.
func containerText(line string) (text string, at float64) {
	head, rest, ok := strings.Cut(line, " ")
	if !ok || len(head) < len("2006-01-02T15:04:05Z") || head[len(head)-1] != 'Z' {
		return line, math.NaN()
	}
	for _, stream := range []string{"stdout F ", "stderr F ", "stdout P ", "stderr P "} {
		if text, ok := strings.CutPrefix(rest, stream); ok {
			at, _ := parseTime(head)
			return text, at
		}
	}
	return line, math.NaN()
}

// taskNumber takes off the "12: " that srun --label puts before each line.
func taskNumber(line string) (text string, rank int) {
	i := 0
	for i < len(line) && line[i] == ' ' {
		i++
	}
	from := i
	for i < len(line) && isDigit(line[i]) {
		i++
	}
	if !strings.HasPrefix(line[i:], ": ") && line[i:] != ":" {
		return line, Unknown
	}
	n, ok := smallNumber(line[from:i])
	if !ok {
		return line, Unknown
	}
	return line[min(len(line), i+2):], n
}

// rankedLine takes off the "[rank3]:" or "[default3]:" that torchrun and others put
// before each line.
func rankedLine(line string) (text string, ok bool) {
	if !strings.HasPrefix(line, "[rank") && !strings.HasPrefix(line, "[default") {
		return line, false
	}
	head, rest, ok := strings.Cut(line, "]:")
	if !ok || len(head) > len("[default999999") {
		return line, false
	}
	return strings.TrimLeft(rest, " "), true
}

// rankOf returns the rank that a line names: "[rank3]:", "[Rank 3]", "rank=3",
// "[default3]:", "[RANK:3]". A LoRA has a rank too, which is another thing.
func rankOf(line string) int {
	head := line[:min(len(line), 200)]
	if rest, ok := strings.CutPrefix(head, "[default"); ok {
		if n, ok := leadingNumber(rest); ok {
			return n
		}
	}
	for from := 0; ; {
		at := indexFold(head[from:], "rank")
		if at < 0 {
			return Unknown
		}
		at += from
		from = at + len("rank")
		before := strings.ToLower(head[max(0, at-6):at])
		if strings.Contains(before, "lora") || before != "" && isLetter(before[len(before)-1]) && !strings.HasSuffix(before, "local_") {
			continue
		}
		rest := strings.TrimLeft(head[from:], " :=#_")
		if n, ok := leadingNumber(rest); ok {
			return n
		}
	}
}

// processOf returns the process id that a line names, as Ray and Axolotl do.
func processOf(line string) string {
	head := line[:min(len(line), 200)]
	for _, mark := range []string{"pid=", "PID:"} {
		if at := strings.Index(head, mark); at >= 0 {
			rest := head[at+len(mark):]
			end := 0
			for end < len(rest) && end < 10 && isDigit(rest[end]) {
				end++
			}
			if end > 0 {
				return rest[:end]
			}
		}
	}
	return ""
}

func leadingNumber(s string) (n int, ok bool) {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	return smallNumber(s[:end])
}

// indexFold is strings.Index for a lower-case ASCII part, in any case.
func indexFold(s, part string) int {
	for i := 0; i+len(part) <= len(s); i++ {
		if s[i]|0x20 == part[0] && strings.EqualFold(s[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}

// timeOf finds a date with a time of day near the start of a line. zoned says
// that its zone is printed, or that it is UTC.
func timeOf(line string) (at float64, zoned bool) {
	const far = 64
	head := line[:min(len(line), far+40)]
	for i := 0; i+len("2006-01-02T15:04:05") <= len(head) && i < far; i++ {
		if isDigit(head[i]) && (i == 0 || !isDigit(head[i-1])) && (head[i+4] == '-' || head[i+4] == '/') && head[i+7] == head[i+4] {
			if at, zoned := parseTime(head[i:]); !math.IsNaN(at) {
				return at, zoned
			}
		}
	}
	return math.NaN(), false
}

// parseTime reads a date and time at the start of text, such as
// "2026-01-02 03:04:05,678", "2026/01/02 03:04:05.678" or
// "2026-01-02T03:04:05.678+01:00". It is NaN when there is none.
func parseTime(text string) (at float64, zoned bool) {
	const plain = "2006-01-02 15:04:05"
	if len(text) < len(plain) {
		return math.NaN(), false
	}
	head := strings.ReplaceAll(text[:len(plain)], "/", "-")
	t, err := time.Parse(plain, head[:10]+" "+head[11:])
	if err != nil || text[10] != ' ' && text[10] != 'T' {
		return math.NaN(), false
	}
	at = float64(t.Unix())
	rest := text[len(plain):]
	if len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') && isDigit(rest[1]) {
		scale, i := 0.1, 1
		for ; i < len(rest) && isDigit(rest[i]); i++ {
			at += scale * float64(rest[i]-'0')
			scale /= 10
		}
		rest = rest[i:]
	}
	offset, zoned := zoneOf(rest)
	return at - offset, zoned
}

// zoneOf reads "Z" or "+01:00", in seconds.
func zoneOf(text string) (offset float64, ok bool) {
	if strings.HasPrefix(text, "Z") {
		return 0, true
	}
	if len(text) < 5 || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	digits := strings.Replace(text[1:min(len(text), 6)], ":", "", 1)
	if len(digits) > 4 {
		digits = digits[:4]
	}
	n, ok := smallNumber(digits)
	if !ok || len(digits) != 4 {
		return 0, false
	}
	offset = float64(n/100*3600 + n%100*60)
	if text[0] == '-' {
		offset = -offset
	}
	return offset, true
}

// epochTime turns a number into seconds since 1970, if it can be that: seconds,
// milliseconds, microseconds or nanoseconds from 2001 to 2286.
func epochTime(v float64) float64 {
	for range 4 {
		if v >= 1e9 && v < 1e10 {
			return v
		}
		v /= 1000
	}
	return math.NaN()
}
