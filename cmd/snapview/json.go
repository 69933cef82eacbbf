package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// writeJSON writes v as indented JSON with a final newline. Bytes and times
// are integers; text that is not UTF-8 has U+FFFD in place of the bad bytes.
func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(inertWriter{w})
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// An inertWriter escapes what a terminal could act on and encoding/json leaves
// alone: DEL, the C1 controls and the marks that reorder text. In JSON these
// occur only inside strings, so escaping them keeps the value. Every write
// must hold whole runes, as a json.Encoder's do.
type inertWriter struct{ w io.Writer }

func (w inertWriter) Write(p []byte) (int, error) {
	_, err := w.w.Write(escapeActive(p))
	return len(p), err
}

func escapeActive(p []byte) []byte {
	var out bytes.Buffer
	copied := 0
	for i := 0; i < len(p); {
		if p[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(p[i:])
		if active(r) {
			out.Write(p[copied:i])
			fmt.Fprintf(&out, `\u%04x`, r)
			copied = i + size
		}
		i += size
	}
	if copied == 0 {
		return p
	}
	out.Write(p[copied:])
	return out.Bytes()
}

// active reports whether a terminal may act on r: DEL and C1, and the Unicode
// directional formatting characters (UAX #9).
func active(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r >= 0x200e && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
