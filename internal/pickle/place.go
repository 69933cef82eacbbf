package pickle

import (
	"strconv"

	"github.com/snapview/snapview/internal/value"
)

// openContainers returns the stack positions of the containers that are being
// filled, outermost first.
func (m *machine) openContainers() []int {
	var open []int
	for i := 0; i < len(m.stack); {
		if !m.isContainer(i) {
			i++
			continue
		}
		open = append(open, i)
		i = m.nextOpen(i)
	}
	return open
}

// pending returns the values that wait to go into container k of the open
// ones, the next open container included.
func (m *machine) pending(open []int, k int) []value.Value {
	end := len(m.stack)
	if k+1 < len(open) {
		end = open[k+1] + 1
	}
	return m.stack[open[k]+1 : end]
}

// path tells where in the document the machine stands, from what is open on
// the stack: device_traces[0][1234].frames.
func (m *machine) path() string {
	var p []byte
	open := m.openContainers()
	for k, i := range open {
		pending := m.pending(open, k)
		if len(pending) == 0 || len(p) > maxPath {
			break
		}
		if kind, _ := m.h.Container(m.stack[i]); kind != value.Dict {
			at := m.h.Len(m.stack[i]) + len(pending) - 1
			p = append(append(append(p, '['), strconv.Itoa(at)...), ']')
			continue
		}
		if m.wholeDict() && k == len(open)-1 {
			break // the error is about the dict and says which key
		}
		if len(p) > 0 {
			p = append(p, '.')
		}
		p = append(p, clip(m.h.Text(pending[lastKey(pending)]))...)
	}
	return string(p)
}

// wholeDict reports whether the failed opcode fills a dict.
func (m *machine) wholeDict() bool {
	return m.op == opSetItems || m.op == opSetItem || m.op == opDict
}

// lastKey returns the position of the key whose value is being read.
func lastKey(pending []value.Value) int { return (len(pending) - 1) / 2 * 2 }

// nextOpen returns the position of the container that is open inside the one at
// i, or the height of the stack. Writers put a MARK above a container that takes
// several items, but none above one that takes a single item.
func (m *machine) nextOpen(i int) int {
	limit, marked := len(m.stack), false
	for _, height := range m.marks {
		if height-1 == i {
			marked = true
		} else if height-1 > i {
			limit = height - 1
			break
		}
	}
	if kind, _ := m.h.Container(m.stack[i]); kind == value.List {
		if !marked && i+1 < limit && m.isContainer(i+1) {
			return i + 1
		}
		return limit
	}
	for v := i + 2; v < limit; v += 2 { // v is the position of a value
		_, keyFollows := m.stack[min(v+1, len(m.stack)-1)].StringID()
		if m.isContainer(v) && v+1 < len(m.stack) && (!marked || !keyFollows) {
			return v
		}
	}
	return limit
}

func (m *machine) isContainer(i int) bool {
	k, ok := m.h.Container(m.stack[i])
	return ok && k != value.Tuple
}

// salvage closes what is open, after an error: lists keep the items they have,
// unfinished dicts are dropped with their key, but for the outermost. A dict
// that was just begun counts as unfinished: its items may have followed.
func (m *machine) salvage() value.Value {
	open := m.openContainers()
	if len(open) == 0 {
		return value.Nil
	}
	last := len(m.stack) - 1
	kind, _ := m.h.Container(m.stack[last])
	// dropped tells whether the value inside the current container is.
	dropped := last != open[len(open)-1] && kind == value.Dict && m.h.Fresh(m.stack[last])
	for k := len(open) - 1; k >= 0; k-- {
		container, items := m.stack[open[k]], m.pending(open, k)
		if dropped {
			items = items[:len(items)-1]
		}
		kind, _ := m.h.Container(container)
		dropped = kind == value.Dict && k > 0
		switch {
		case dropped:
		case kind == value.Dict:
			m.h.Append(container, items[:len(items)/2*2])
		default:
			m.h.Append(container, items)
		}
	}
	return m.stack[open[0]]
}
