package trainlog

import "strings"

// statsText reads names and values of memory_stats() out of any other text, such
// as a printed OrderedDict: "('allocated_bytes.all.current', 139024896), …". It
// reports false when there are none.
func (r *reader) statsText(line string) bool {
	if !strings.Contains(line, "_bytes.") && !strings.Contains(line, retriesKey) {
		return false
	}
	var list []member
	stats := false
	for i := 0; i < len(line) && len(list) < maxMembers; {
		if !isLetter(line[i]) {
			i++
			continue
		}
		end := nameEnd(line, i)
		name := line[i:end]
		i = end
		_, isStats, _ := statsKey(name)
		if !isStats && !strings.HasSuffix(name, retriesKey) && !strings.HasSuffix(name, oomsKey) && stepWords[name] == 0 {
			continue
		}
		rest := strings.TrimLeft(line[end:min(len(line), end+40)], "'\":=,() ")
		v, _, _, _, ok := leadingAmount(rest)
		if !ok {
			continue
		}
		stats = stats || stepWords[name] == 0
		list = append(list, member{name: name, value: v, isCount: v >= 0})
	}
	if stats {
		r.members(list, "")
	}
	return stats
}

// nameEnd is where a name of words, points and slashes ends.
func nameEnd(line string, i int) int {
	for i < len(line) && (isLetter(line[i]) || isDigit(line[i]) || line[i] == '.' || line[i] == '/') {
		i++
	}
	return i
}
