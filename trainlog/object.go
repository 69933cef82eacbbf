package trainlog

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A member is a number or text of a JSON object, with the names that lead to it
// joined by dots.
type member struct {
	name    string
	text    string // as printed
	isText  bool
	value   float64
	isCount bool // a whole number
}

// Bounds on one line of JSON.
const (
	maxMembers = 4096
	maxDepth   = 8
)

// object reads a line that begins like a JSON object or a printed Python dict. It
// reports false when it is neither.
func (r *reader) object(line string) bool {
	members, rest, err := parseObject(line)
	if err != nil {
		members, rest, err = parseObject(pythonToJSON(line))
	}
	if err != nil {
		if isStatsText(line) {
			r.unreadable(line, "broken JSON")
			return true
		}
		return false
	}
	if text, at, ok := wrappedText(members); ok && !r.hasFigures(members) {
		if r.now.at, r.now.zoned = at, true; text != "" {
			for part := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
				r.unwrapped(strings.TrimLeft(part, " "))
			}
		}
		return true
	}
	r.members(members, rest)
	return true
}

// hasFigures reports whether the members are themselves what was logged.
func (r *reader) hasFigures(list []member) bool {
	figures, stats := r.memberFigures(list)
	return len(figures) > 0 || stats
}

// isStatsText reports whether a broken line was to hold memory_stats().
func isStatsText(line string) bool {
	return strings.Contains(line, "_bytes.all.") || strings.Contains(line, `_bytes": {`)
}

// wrapNames are the members that hold the line itself when a container runtime
// or a logging library writes JSON.
var wrapNames = []string{"log", "message", "msg", "text", "textPayload", "line", "event"}

// wrappedText finds the line within JSON about it.
func wrappedText(members []member) (text string, at float64, ok bool) {
	at = math.NaN()
	for _, m := range members {
		for _, name := range wrapNames {
			if m.name == name && m.isText && !ok {
				text, ok = m.text, true
			}
		}
		if t := memberTime(m); !math.IsNaN(t) {
			at = t
		}
	}
	return text, at, ok
}

// memberTime reads a point in time: a date, or a number of seconds since 1970.
func memberTime(m member) float64 {
	switch strings.TrimLeft(strings.ToLower(m.name), "_@") {
	case "time", "timestamp", "ts", "datetime", "asctime", "date", "created", "wall_time":
	default:
		return math.NaN()
	}
	if m.isText {
		at, _ := parseTime(m.text)
		return at
	}
	return epochTime(m.value)
}

// members reads an object of figures: memory_stats(), or what a training loop logs.
func (r *reader) members(list []member, rest string) {
	here := nowhere()
	retries, ooms := math.NaN(), math.NaN()
	for _, m := range list {
		last := strings.ToLower(m.name[strings.LastIndexAny(m.name, "./")+1:])
		switch {
		case last == "rank" || last == "global_rank" || last == "local_rank" && r.now.Rank == Unknown:
			r.now.Rank = index(m, r.now.Rank)
		case last == "device" || last == "gpu" || last == "gpu_id" || last == "device_id":
			r.now.Device = index(m, r.now.Device)
		case strings.HasSuffix(m.name, retriesKey):
			retries = m.value
		case strings.HasSuffix(m.name, oomsKey):
			ooms = m.value
		case strings.Contains(last, "max_steps"): // "global_step/max_steps": "12/94"
			step, of, _ := strings.Cut(m.text, "/")
			if v, err := strconv.ParseFloat(step, 64); err == nil && isStep(v) {
				here.step, here.sure = v, stepWords["global_step"]
				here.of, _ = strconv.ParseFloat(of, 64)
			}
		case last == "epoch" && !m.isText && isStep(m.value):
			here.epoch = m.value
		case stepWords[last] > here.sure && m.isCount && isStep(m.value) && last != "batch":
			here.step, here.sure = m.value, stepWords[last]
		}
		if t := memberTime(m); !math.IsNaN(t) {
			r.now.at = t
			r.now.zoned = !m.isText || strings.HasSuffix(m.text, "Z")
		}
	}
	if !here.known() && rest != "" {
		here = placeOf(rest, r.scan.words.split(rest, nil))
	}
	figures, stats := r.memberFigures(list)
	r.move(here, len(figures) > 0)
	for i := range figures {
		r.take(&figures[i], here.known())
	}
	if stats {
		r.forms[StatsLines] = true
	} else if len(figures) > 0 {
		r.forms[JSONLines] = true
	}
	if !math.IsNaN(retries) || !math.IsNaN(ooms) {
		r.count(retries, ooms)
	}
}

// index reads a rank or device, from 2, "2" or "cuda:2".
func index(m member, otherwise int) int {
	text := m.text
	if m.isText {
		text = text[strings.LastIndexAny(text, ": ")+1:]
	}
	if n, ok := smallNumber(text); ok {
		return n
	}
	return otherwise
}

// spaces takes the marks out of a name that would end it.
var spaces = strings.NewReplacer(",", " ", "|", " ", ".", " ")

// memberFigures finds the amounts of memory in an object.
func (r *reader) memberFigures(list []member) (figures []figure, stats bool) {
	for _, m := range list {
		if metric, isStats, isCurve := statsKey(m.name); isStats {
			stats = true
			if isCurve && m.isCount {
				f := figure{metric: metric, value: m.value, unit: Unit{Text: "bytes"}, spelling: m.name, device: Unknown}
				f.belongsTo(ownerOf(m.name))
				figures = append(figures, f)
			}
			continue
		}
		if _, _, _, whole, ok := leadingAmount(m.text); m.isText && !(ok && whole) {
			continue
		}
		name := spaces.Replace(m.name) + ": "
		found, _ := r.scan.figures(name + m.text)
		if i := slices.IndexFunc(found, func(f figure) bool { return f.start >= len(name) }); i >= 0 { // not of a name such as "80GB card"
			f := found[i]
			f.spelling = m.name
			f.belongsTo(ownerOf(m.name))
			if f.unit.Text == "bytes" && f.unit.Power == 0 && !m.isCount {
				continue
			}
			figures = append(figures, f)
		}
	}
	markDistinct(figures)
	return figures, stats
}

var errNotObject = errors.New("not an object")

// parseObject reads the object at the start of text, and what follows it.
func parseObject(text string) (list []member, rest string, err error) {
	d := jsontext.NewDecoder(strings.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return nil, "", errNotObject
	}
	if list, err = readObject(d, "", nil, 0); err != nil {
		return nil, "", err
	}
	return list, text[d.InputOffset():], nil
}

func readObject(d *jsontext.Decoder, prefix string, list []member, depth int) ([]member, error) {
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name := key.String()
		if prefix != "" {
			name = prefix + "." + name
		}
		switch k := d.PeekKind(); {
		case k == '{' && depth < maxDepth:
			if list, err = readObject(d, name, list, depth+1); err != nil {
				return nil, err
			}
		case k == '"' || k == '0':
			t, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			if len(list) < maxMembers {
				list = append(list, newMember(name, t, k))
			}
		default:
			if err := d.SkipValue(); err != nil {
				return nil, err
			}
		}
	}
	_, err := d.ReadToken()
	return list, err
}

func newMember(name string, t jsontext.Token, kind jsontext.Kind) member {
	m := member{name: name, text: t.String(), isText: kind == '"'}
	if m.isText {
		return m
	}
	v, err := strconv.ParseFloat(m.text, 64)
	if err != nil {
		v = math.NaN()
	}
	m.value = v
	m.isCount = v >= 0 && v == math.Trunc(v) && !strings.ContainsAny(m.text, ".eE")
	return m
}

// pythonToJSON turns the text of a Python dict into JSON: other quotes, and
// None, True, False and nan.
func pythonToJSON(line string) string {
	var b strings.Builder
	b.Grow(len(line) + 8)
	for i := 0; i < len(line); {
		c := line[i]
		switch {
		case c == '\'' || c == '"':
			i = quote(&b, line, i)
		case c|0x20 >= 'a' && c|0x20 <= 'z' && (i == 0 || !isDigit(line[i-1]) && line[i-1] != '.'):
			end := wordEnd(line, i)
			switch name := line[i:end]; name {
			case "True":
				b.WriteString("true")
			case "False":
				b.WriteString("false")
			case "None", "nan", "inf", "NaN", "Infinity":
				b.WriteString("null")
			default:
				b.WriteString(name)
			}
			i = end
		case c == '-' && strings.HasPrefix(line[i+1:], "inf"), c == '-' && strings.HasPrefix(line[i+1:], "Infinity"):
			i++ // no number either
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// quote copies the Python string at i as a JSON string and returns its end.
func quote(b *strings.Builder, line string, i int) int {
	mark := line[i]
	b.WriteByte('"')
	for i++; i < len(line) && line[i] != mark; i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line):
			i++
			if line[i] != '\'' {
				b.WriteByte('\\')
			}
			b.WriteByte(line[i])
		case c == '"':
			b.WriteString(`\"`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return min(i+1, len(line))
}
