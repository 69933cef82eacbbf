package profiler

// rawEvent is one entry of traceEvents as it is read, before its kind is known.
type rawEvent struct {
	name, pid, tid []byte
	phase          byte
	category       category
	hasTime        bool
	badTime        bool // ts is there and no number
	badDur         bool // dur is there and no number
	time, dur      int64
	id             int64
	args           rawArgs
}

// rawArgs are the args that any kind of event is asked for.
type rawArgs struct {
	shapes, concrete, stack, label []byte
	external, sequence             int64
	correlation, device, stream    int64
	fwdThread, index               int64
	pythonID, pythonParent, module int64
	deviceType, deviceID           int64
	addr, bytes                    int64
	allocated, reserved            int64
	hasBytes                       bool
	unfinished                     bool
}

// absent is what args hold that an event does not have.
const absent = -1

var noArgs = rawArgs{external: absent, sequence: NoSequence, correlation: absent, device: absent, stream: absent,
	index: absent, pythonID: absent, pythonParent: absent, module: absent, deviceID: absent,
	allocated: NoTotal, reserved: NoTotal}

// category is the kind of an event by its cat, as far as it matters.
type category uint8

const (
	catOther category = iota
	catOperator
	catAnnotation
	catRuntime
	catOverhead
	catFrame
	catKernel
	catMemcpy
	catMemset
	catDeviceAnnotation
	catCollective
	catInstant
	catFwdBwd
	catLaunch // ac2g and its older names
)

// categoryOf maps the cat of every version: today's names, those of 2021 and
// those of other devices.
func categoryOf(cat []byte) category {
	switch string(cat) {
	case "cpu_op", "Operator", "hpu_op":
		return catOperator
	case "user_annotation":
		return catAnnotation
	case "cuda_runtime", "cuda_driver", "Runtime", "xpu_runtime", "xpu_driver", "mtia_runtime", "glow_runtime",
		"privateuse1_runtime", "privateuse1_driver":
		return catRuntime
	case "overhead":
		return catOverhead
	case "python_function":
		return catFrame
	case "kernel", "Kernel":
		return catKernel
	case "gpu_memcpy", "Memcpy":
		return catMemcpy
	case "gpu_memset", "Memset":
		return catMemset
	case "gpu_user_annotation":
		return catDeviceAnnotation
	case "collective_comm", "mtia_ccp_events":
		return catCollective
	case "cpu_instant_event":
		return catInstant
	case "fwdbwd":
		return catFwdBwd
	case "ac2g", "async_cpu_to_gpu", "async_gpu", "async":
		return catLaunch
	}
	return catOther
}

// event reads one object of traceEvents into e. It returns false when the
// object is damaged or reaches beyond the buffer (short).
func (s *scanner) event(e *rawEvent) bool {
	*e = rawEvent{args: noArgs}
	if !s.next('{') {
		return false
	}
	if s.next('}') {
		return true
	}
	for {
		key, ok := s.key()
		if !ok || !s.field(e, key) {
			return false
		}
		if more, ok := s.anotherMember(); !more {
			return ok
		}
	}
}

// anotherMember consumes what follows a member of an object: a comma before the
// next one, or the end, before which a comma may stand. ok is false when neither
// comes.
func (s *scanner) anotherMember() (more, ok bool) {
	switch s.peek() {
	case ',':
		s.pos++
		if s.peek() != '}' {
			return true, true
		}
	case '}':
	default:
		return false, false
	}
	s.pos++
	return false, true
}

func (s *scanner) field(e *rawEvent, key []byte) bool {
	switch string(key) {
	case "args":
		if s.peek() == '{' {
			return s.argsOf(&e.args)
		}
		return s.skip()
	case "ph", "cat", "name", "pid", "tid", "ts", "dur", "id":
	default:
		return s.pass()
	}
	s.quiet = string(key) == "ts" || string(key) == "dur" // the builder says what is lost by these
	v, ok := s.token()
	s.quiet = false
	if !ok {
		return s.skipIfContainer()
	}
	switch string(key) {
	case "ph":
		if len(v) == 1 {
			e.phase = v[0]
		}
	case "cat":
		e.category = categoryOf(v)
	case "name":
		e.name = v
	case "pid":
		e.pid = v
	case "tid":
		e.tid = v
	case "ts":
		e.time, e.hasTime = s.time(v)
		e.badTime = !e.hasTime
	case "dur":
		var ok bool
		e.dur, ok = s.time(v)
		e.badDur = !ok
	case "id":
		e.id, _ = integer(v)
	}
	return true
}

// skipIfContainer passes over an object or list where a plain value belongs.
func (s *scanner) skipIfContainer() bool {
	if c := s.peek(); c == '{' || c == '[' {
		return s.skip()
	}
	return false
}

func (s *scanner) argsOf(a *rawArgs) bool {
	s.pos++
	if s.next('}') {
		return true
	}
	for {
		key, ok := s.key()
		if !ok || !s.arg(a, key) {
			return false
		}
		if more, ok := s.anotherMember(); !more {
			return ok
		}
	}
}

func (s *scanner) arg(a *rawArgs, key []byte) bool {
	switch string(key) {
	case "External id", "external id":
		return s.number(&a.external)
	case "Sequence number":
		return s.number(&a.sequence)
	case "Fwd thread id":
		return s.number(&a.fwdThread)
	case "Ev Idx", "Profiler Event Index":
		return s.number(&a.index)
	case "correlation":
		return s.number(&a.correlation)
	case "device":
		return s.number(&a.device)
	case "stream":
		return s.number(&a.stream)
	case "Python id":
		return s.number(&a.pythonID)
	case "Python parent id":
		return s.number(&a.pythonParent)
	case "Python module id":
		return s.number(&a.module)
	case "Device Type":
		return s.number(&a.deviceType)
	case "Device Id":
		return s.number(&a.deviceID)
	case "Addr":
		return s.number(&a.addr)
	case "Bytes":
		a.hasBytes = true
		return s.number(&a.bytes)
	case "bytes":
		return s.number(&a.bytes)
	case "Total Allocated":
		return s.number(&a.allocated)
	case "Total Reserved":
		return s.number(&a.reserved)
	case "Input Dims", "Input dims":
		return s.text(&a.shapes)
	case "Concrete Inputs":
		return s.text(&a.concrete)
	case "Call stack":
		return s.quoted(&a.stack)
	case "name", "labels":
		return s.quoted(&a.label)
	case "finished":
		v, ok := s.token()
		a.unfinished = string(v) == "false"
		return ok || s.skipIfContainer()
	}
	return s.pass()
}

// pass passes over the value of a member.
func (s *scanner) pass() bool {
	if s.strict && s.peek() == '"' {
		_, ok := s.member()
		return ok
	}
	return s.skip()
}

// number reads an integer in or out of quotes; anything else leaves n alone.
func (s *scanner) number(n *int64) bool {
	v, ok := s.token()
	if !ok {
		return s.skipIfContainer()
	}
	if x, ok := integer(v); ok {
		*n = x
	}
	return true
}

// text reads the JSON text of a value.
func (s *scanner) text(b *[]byte) (ok bool) {
	*b, ok = s.raw()
	return ok
}

// quoted reads a string; anything else is passed over.
func (s *scanner) quoted(b *[]byte) (ok bool) {
	if s.peek() != '"' {
		return s.skip()
	}
	*b, ok = s.member()
	return ok
}
