package main

import (
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

const ellipsis = "…"

// unknownFile is what PyTorch records for C++ frames without debug information.
const unknownFile = "??"

// location renders "file:line function" in at most width columns. The path
// gives way first, from the left, then the end of the function's name: the
// file's own name and the line are what the reader searches for.
func location(file string, line int32, function string, width int) string {
	file, function = units.Safe(file), units.Safe(function)
	if file == "" || file == unknownFile {
		if function == "" {
			function = snapshot.NativeCode
		}
		return cutRight(function, width)
	}
	tail := ""
	if line > 0 {
		tail = ":" + strconv.Itoa(int(line))
	}
	if function != "" {
		least := min(units.Width(file), units.Width(ellipsis+"/"+lastElement(file))) + units.Width(tail) + 1
		tail += " " + cutRight(function, max(width-least, width/3))
	}
	return cutRight(shortenPath(file, width-units.Width(tail))+tail, width)
}

// shortenPath drops leading folders until path fits in width columns.
func shortenPath(path string, width int) string {
	if units.Width(path) <= width {
		return path
	}
	short := ellipsis + "/" + lastElement(path)
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		longer := ellipsis + path[i:]
		if units.Width(longer) > width {
			break
		}
		short = longer
	}
	if units.Width(short) > width {
		return cutLeft(lastElement(path), width)
	}
	return short
}

func lastElement(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// cutRight shortens s to width columns at its end.
func cutRight(s string, width int) string {
	if units.Width(s) <= width {
		return s
	}
	used := 0
	for i, r := range s {
		used += units.Width(string(r))
		if used > width-1 {
			return s[:i] + ellipsis
		}
	}
	return s
}

// cutLeft shortens s to width columns at its start.
func cutLeft(s string, width int) string {
	runes := []rune(s)
	used, from := 0, len(runes)
	for from > 0 && used+units.Width(string(runes[from-1])) <= width-1 {
		from--
		used += units.Width(string(runes[from]))
	}
	if from == 0 {
		return s
	}
	return ellipsis + string(runes[from:])
}
