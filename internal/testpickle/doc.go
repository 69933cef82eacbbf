// Package testpickle is a text form for tiny pickles, so that a test case of the
// pickle machine can be read, diffed and broken on purpose.
//
// One opcode stands on a line, under its name in Python's pickletools, with its
// argument; # begins a comment:
//
//	PROTO 4
//	FRAME auto                      # or a number; auto counts up to the next FRAME or the end
//	EMPTY_DICT
//	MEMOIZE
//	MARK
//	SHORT_BINUNICODE "segments"     # strings are quoted as in Go, \xff for any byte
//	BININT1 0
//	LONG1 139617441415168           # as few bytes as the number takes
//	LONG1 hex:ff00                  # or exactly these, lowest first
//	BINFLOAT 1.5                    # or inf, -inf, nan, bits:7ff8000000000001
//	INT 12                          # opcodes that end in a newline take their text as it is
//	GLOBAL "collections" "OrderedDict"
//	RAW ff00                        # bytes outside any opcode
//	STOP
//
// A counted argument can lie about its length, and the rest of the line is what follows:
//
//	BINUNICODE8 len=1152921504606846976 "x"
//
// An offset before the name ("   12: MARK") is ignored, so that the output of
// Disassemble is input for Assemble.
package testpickle
