package testpickle

// form is the shape of an opcode's argument.
type form uint8

const (
	none    form = iota
	integer      // size bytes, lowest first; signed or not
	float        // 8 bytes, highest first
	line         // text up to a newline
	lines        // two of them
	text         // a length of size bytes, then that many bytes
	long         // the same, holding a two's complement number
)

type opcode struct {
	code   byte
	name   string
	form   form
	size   int // of an integer or a length
	signed bool
}

// opcodes are all of protocols 0 to 5, in the order of Python's pickletools.
var opcodes = []opcode{
	{code: 'I', name: "INT", form: line},
	{code: 'J', name: "BININT", form: integer, size: 4, signed: true},
	{code: 'K', name: "BININT1", form: integer, size: 1},
	{code: 'M', name: "BININT2", form: integer, size: 2},
	{code: 'L', name: "LONG", form: line},
	{code: 0x8a, name: "LONG1", form: long, size: 1},
	{code: 0x8b, name: "LONG4", form: long, size: 4, signed: true},
	{code: 'S', name: "STRING", form: line},
	{code: 'T', name: "BINSTRING", form: text, size: 4, signed: true},
	{code: 'U', name: "SHORT_BINSTRING", form: text, size: 1},
	{code: 'B', name: "BINBYTES", form: text, size: 4},
	{code: 'C', name: "SHORT_BINBYTES", form: text, size: 1},
	{code: 0x8e, name: "BINBYTES8", form: text, size: 8},
	{code: 0x96, name: "BYTEARRAY8", form: text, size: 8},
	{code: 0x97, name: "NEXT_BUFFER"},
	{code: 0x98, name: "READONLY_BUFFER"},
	{code: 'N', name: "NONE"},
	{code: 0x88, name: "NEWTRUE"},
	{code: 0x89, name: "NEWFALSE"},
	{code: 'V', name: "UNICODE", form: line},
	{code: 0x8c, name: "SHORT_BINUNICODE", form: text, size: 1},
	{code: 'X', name: "BINUNICODE", form: text, size: 4},
	{code: 0x8d, name: "BINUNICODE8", form: text, size: 8},
	{code: 'F', name: "FLOAT", form: line},
	{code: 'G', name: "BINFLOAT", form: float, size: 8},
	{code: ']', name: "EMPTY_LIST"},
	{code: 'a', name: "APPEND"},
	{code: 'e', name: "APPENDS"},
	{code: 'l', name: "LIST"},
	{code: ')', name: "EMPTY_TUPLE"},
	{code: 't', name: "TUPLE"},
	{code: 0x85, name: "TUPLE1"},
	{code: 0x86, name: "TUPLE2"},
	{code: 0x87, name: "TUPLE3"},
	{code: '}', name: "EMPTY_DICT"},
	{code: 'd', name: "DICT"},
	{code: 's', name: "SETITEM"},
	{code: 'u', name: "SETITEMS"},
	{code: 0x8f, name: "EMPTY_SET"},
	{code: 0x90, name: "ADDITEMS"},
	{code: 0x91, name: "FROZENSET"},
	{code: '0', name: "POP"},
	{code: '2', name: "DUP"},
	{code: '(', name: "MARK"},
	{code: '1', name: "POP_MARK"},
	{code: 'g', name: "GET", form: line},
	{code: 'h', name: "BINGET", form: integer, size: 1},
	{code: 'j', name: "LONG_BINGET", form: integer, size: 4},
	{code: 'p', name: "PUT", form: line},
	{code: 'q', name: "BINPUT", form: integer, size: 1},
	{code: 'r', name: "LONG_BINPUT", form: integer, size: 4},
	{code: 0x94, name: "MEMOIZE"},
	{code: 0x82, name: "EXT1", form: integer, size: 1},
	{code: 0x83, name: "EXT2", form: integer, size: 2},
	{code: 0x84, name: "EXT4", form: integer, size: 4, signed: true},
	{code: 'c', name: "GLOBAL", form: lines},
	{code: 0x93, name: "STACK_GLOBAL"},
	{code: 'R', name: "REDUCE"},
	{code: 'b', name: "BUILD"},
	{code: 'i', name: "INST", form: lines},
	{code: 'o', name: "OBJ"},
	{code: 0x81, name: "NEWOBJ"},
	{code: 0x92, name: "NEWOBJ_EX"},
	{code: 0x80, name: "PROTO", form: integer, size: 1},
	{code: '.', name: "STOP"},
	{code: 0x95, name: "FRAME", form: integer, size: 8},
	{code: 'P', name: "PERSID", form: line},
	{code: 'Q', name: "BINPERSID"},
}

var (
	byName = map[string]opcode{}
	byCode [256]*opcode
)

func init() {
	for i, op := range opcodes {
		byName[op.name] = op
		byCode[op.code] = &opcodes[i]
	}
}
