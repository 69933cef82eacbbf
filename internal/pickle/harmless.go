package pickle

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/nlpodyssey/gopickle/types"
)

// harmlessTypes are the globals that stand for plain data, by module and name.
// What they make is rebuilt here; the Python types are never involved.
var harmlessTypes = map[string]func(c *copies, args []any) (any, error){
	"collections.OrderedDict":               newMapping,
	"collections.defaultdict":               newMapping,
	"collections.Counter":                   newMapping,
	"builtins.dict":                         newMapping,
	"__builtin__.dict":                      newMapping,
	"argparse.Namespace":                    newMapping,
	"types.SimpleNamespace":                 newMapping,
	"easydict.EasyDict":                     newMapping,
	"addict.addict.Dict":                    newMapping,
	"munch.Munch":                           newMapping,
	"box.box.Box":                           newMapping,
	"ml_collections.config_dict.ConfigDict": newMapping,
	"builtins.list":                         newList,
	"builtins.tuple":                        newSequence,
	"builtins.set":                          newSequence,
	"builtins.frozenset":                    newSequence,
	"__builtin__.list":                      newList,
	"__builtin__.set":                       newSequence,
	"collections.deque":                     newList,
	"torch.Size":                            newSequence,
	"builtins.int":                          first,
	"builtins.float":                        first,
	"builtins.str":                          first,
	"builtins.bool":                         first,
	"__builtin__.int":                       first,
	"__builtin__.float":                     first,
	"_codecs.encode":                        first, // how protocol 2 writes bytes
	"numpy.dtype":                           newDtype,
	"numpy.core.multiarray.scalar":          numpyScalar,
	"numpy._core.multiarray.scalar":         numpyScalar,
}

// Harmless reports whether a global is one of the types that DecodeFull rebuilds.
func Harmless(module, name string) bool {
	_, ok := harmlessTypes[module+"."+name]
	return ok
}

// copies keeps the items that calls copy in proportion to the bytes read: a few
// bytes may call list() on the same long list again and again.
type copies struct {
	r     io.Reader
	read  int64
	items int64
}

func (c *copies) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.read += int64(n)
	return n, err
}

// take is asked before n items are copied. What a program builds from is
// written once and used once, at a byte an item or more.
func (c *copies) take(n int) error {
	c.items += int64(n)
	if most := freeLoad + c.read; c.items > most {
		return fmt.Errorf("the same containers are copied again and again: more than %d items", most)
	}
	return nil
}

// findClass is the allow-list for gopickle.
func (c *copies) findClass(module, name string) (any, error) {
	if f, ok := harmlessTypes[module+"."+name]; ok {
		return &harmless{c, f}, nil
	}
	return nil, &GlobalError{Module: module, Name: name}
}

// harmless stands for an allowed type or function inside gopickle.
type harmless struct {
	copies *copies
	build  func(c *copies, args []any) (any, error)
}

func (h *harmless) Call(args ...any) (any, error)  { return h.build(h.copies, args) }
func (h *harmless) PyNew(args ...any) (any, error) { return h.build(h.copies, args) }

// mapping is a dict or a relative of it. State set on it besides its items is
// dropped, but for the attributes of namespaces, which are their content.
type mapping struct {
	types.Dict
	copies *copies
}

func newMapping(c *copies, args []any) (any, error) {
	m := &mapping{copies: c}
	if len(args) == 1 {
		return m, m.PySetState(args[0])
	}
	return m, nil
}

// newList makes what further items can be appended to.
func newList(c *copies, args []any) (any, error) {
	var items []any
	if len(args) > 0 {
		switch x := args[0].(type) {
		case *types.List:
			items = *x
		case *types.Tuple:
			items = *x
		}
	}
	if err := c.take(len(items)); err != nil {
		return nil, err
	}
	return types.NewListFromSlice(slices.Clone(items)), nil
}

// PySetState takes the attributes of an object that has no items of its own.
func (m *mapping) PySetState(state any) error {
	d, ok := state.(*types.Dict)
	if !ok || len(m.Dict) > 0 {
		return nil
	}
	if err := m.copies.take(len(*d)); err != nil {
		return err
	}
	m.Dict = slices.Clone(*d)
	return nil
}

func newSequence(_ *copies, args []any) (any, error) {
	if len(args) > 0 {
		switch x := args[0].(type) {
		case *types.List, *types.Tuple, *types.Set:
			return x, nil
		}
	}
	return types.NewList(), nil
}

func first(_ *copies, args []any) (any, error) {
	if len(args) == 0 {
		return nil, nil
	}
	return args[0], nil
}

// dtype is a numpy.dtype: a code such as "i8" and, set by its state, the byte order.
type dtype struct {
	code  string
	order binary.ByteOrder
}

func newDtype(_ *copies, args []any) (any, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("a numpy dtype without a code")
	}
	code, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("a numpy dtype without a code")
	}
	return &dtype{code: strings.TrimLeft(code, "<>=|"), order: binary.LittleEndian}, nil
}

// PySetState reads the byte order: (version, order, …).
func (d *dtype) PySetState(state any) error {
	if t, ok := state.(*types.Tuple); ok && t.Len() > 1 && t.Get(1) == ">" {
		d.order = binary.BigEndian
	}
	return nil
}

// numpyScalar rebuilds a number from its dtype and bytes.
func numpyScalar(_ *copies, args []any) (any, error) {
	if len(args) < 2 {
		return nil, fmt.Errorf("a numpy scalar without a value")
	}
	d, ok := args[0].(*dtype)
	if !ok {
		return nil, fmt.Errorf("a numpy scalar without a dtype")
	}
	var b []byte
	switch x := args[1].(type) {
	case []byte:
		b = x
	case string: // Latin-1 text of the bytes
		for _, r := range x {
			if b = append(b, byte(r)); len(b) > 8 {
				break // longer than any number
			}
		}
	}
	return d.number(b)
}

func (d *dtype) number(b []byte) (any, error) {
	if len(d.code) != 2 || int(d.code[1]-'0') != len(b) {
		return nil, fmt.Errorf("a numpy scalar of type %s is not supported", clip(d.code))
	}
	var bits uint64
	for i := range b {
		at := i
		if d.order == binary.LittleEndian {
			at = len(b) - 1 - i
		}
		bits = bits<<8 | uint64(b[at])
	}
	shift := 64 - 8*len(b)
	switch d.code {
	case "b1":
		return bits != 0, nil
	case "i1", "i2", "i4", "i8":
		return int64(bits<<shift) >> shift, nil
	case "u1", "u2", "u4", "u8":
		return bits, nil
	case "f4":
		return float64(math.Float32frombits(uint32(bits))), nil
	case "f8":
		return math.Float64frombits(bits), nil
	}
	return nil, fmt.Errorf("a numpy scalar of type %s is not supported", clip(d.code))
}
