package pickle

import (
	"strconv"

	"github.com/snapview/snapview/internal/value"
)

// path tells where in the document the machine stands, from what is open on
// the stack: device_traces[0][1234].frames.
func (m *machine) path() string {
	const most = 512
	var p []byte
	for i := 0; i < len(m.stack) && len(p) < most; {
		// The values from i up to the next container that is still open.
		kind, ok := m.h.Container(m.stack[i])
		if !ok || kind == value.Tuple {
			i++
			continue
		}
		next := m.nextOpen(i)
		pending := m.stack[i+1 : min(next+1, len(m.stack))]
		switch kind {
		case value.Dict:
			if key := lastKey(pending); key >= 0 {
				name := clip(m.h.Text(pending[key]))
				if len(p) > 0 {
					name = "." + name
				}
				p = append(p, name...)
			}
		case value.List:
			if len(pending) > 0 {
				at := len(m.h.Items(m.stack[i])) + len(pending) - 1
				p = append(append(append(p, '['), strconv.Itoa(at)...), ']')
			}
		}
		i = next
	}
	return string(p)
}

// lastKey returns the position of the key whose value is being read.
func lastKey(pending []value.Value) int {
	n := len(pending)
	if n == 0 {
		return -1
	}
	return (n - 1) / 2 * 2
}

// nextOpen returns the position of the innermost container that is open inside
// the one at i: the value below the next MARK, or else the last container.
func (m *machine) nextOpen(i int) int {
	open := 0
	for _, height := range m.marks {
		if height-1 > i {
			return height - 1
		}
		open = height
	}
	for j := max(i+1, open); j < len(m.stack); j++ {
		if k, ok := m.h.Container(m.stack[j]); ok && k != value.Tuple && j > i+1 {
			return j
		}
	}
	return len(m.stack)
}

// salvage closes what is open, after an error: lists keep the items they have,
// unfinished dicts are dropped with their key, but for the outermost.
func (m *machine) salvage() value.Value {
	for len(m.marks) > 0 {
		n := len(m.marks)
		at := min(m.marks[n-1], len(m.stack))
		items := m.stack[at:]
		m.marks = m.marks[:n-1]
		if at == 0 {
			m.stack = m.stack[:0]
			continue
		}
		container := m.stack[at-1]
		m.stack = m.stack[:at]
		switch kind, _ := m.h.Container(container); {
		case kind == value.Dict && at > 1:
			m.stack = m.stack[:at-1] // an unfinished record
			if n := len(m.marks); n > 0 && m.marks[n-1] > len(m.stack) {
				m.marks[n-1] = len(m.stack)
			}
		case kind == value.Dict:
			m.h.Append(container, items[:len(items)/2*2])
		case kind == value.List:
			m.h.Append(container, items)
		}
	}
	if len(m.stack) == 0 {
		return value.Nil
	}
	if k, _ := m.h.Container(m.stack[0]); k == value.Dict && len(m.stack) > 1 {
		pending := m.stack[1:]
		m.h.Append(m.stack[0], pending[:len(pending)/2*2])
	}
	return m.stack[0]
}
