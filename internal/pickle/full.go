package pickle

import (
	"bufio"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	gopickle "github.com/nlpodyssey/gopickle/pickle"
	"github.com/nlpodyssey/gopickle/types"

	"github.com/snapview/snapview/internal/value"
)

// DecodeFull reads a pickle that needs more than plain data (OrderedDict, numpy
// scalars, torch.Size, …) with gopickle, and offers its dicts to the shaper as
// Decode does. Call it only for input that Decode has checked to the end: gopickle
// panics on malformed input and allocates what a length claims. Only the types of
// Harmless exist for it; it calls no code of the file either.
func DecodeFull(r io.Reader, h *value.Heap, s value.Shaper) (root value.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the pickle cannot be read: %s", clip(fmt.Sprint(p)))
		}
	}()
	c := &copies{r: r}
	u := gopickle.NewUnpickler(bufio.NewReader(c))
	u.FindClass = c.findClass
	tree, err := u.Load()
	if err != nil {
		return value.Nil, fmt.Errorf("the pickle cannot be read: %s", clip(err.Error()))
	}
	b := bridge{h: h, shaper: s, seen: make(map[uintptr]value.Value)}
	root, failure := b.convert(tree, 0)
	if failure != nil {
		return value.Nil, failure
	}
	return root, nil
}

// A placeError says where in a document a value cannot be used. There is no
// offset: the tree has lost it.
type placeError struct {
	path string
	err  error
}

func (e *placeError) Error() string {
	path := strings.TrimPrefix(e.path, ".")
	if len(path) > maxPath {
		path = strings.ToValidUTF8(path[:maxPath], "") + "…"
	}
	return fmt.Sprintf("%v, in %s", e.err, path)
}
func (e *placeError) Unwrap() error { return e.err }

// in puts the place that holds it before the path of an error.
func (e *placeError) in(place string) *placeError {
	e.path = place + e.path
	return e
}

// bridge turns gopickle's tree into Values, keeping what is shared shared.
type bridge struct {
	h        *value.Heap
	shaper   value.Shaper
	seen     map[uintptr]value.Value
	rendered int // bytes of text made to sort sets by
}

func (b *bridge) convert(x any, depth int) (value.Value, *placeError) {
	if depth > MaxNesting {
		return value.Nil, &placeError{err: fmt.Errorf("containers nest deeper than the limit of %d, or hold themselves", MaxNesting)}
	}
	switch x := x.(type) {
	case nil:
		return value.Nil, nil
	case bool:
		return value.MakeBool(x), nil
	case int:
		return b.h.MakeInt(int64(x)), nil
	case int64:
		return b.h.MakeInt(x), nil
	case uint64:
		return b.h.MakeUint(x), nil
	case *big.Int:
		return b.h.MakeBig(x), nil
	case float64:
		return b.h.MakeFloat(x), nil
	case string:
		return value.MakeStr(b.h.Strings.InternString(x)), nil
	case []byte, *types.ByteArray, *types.GenericClass, *harmless:
		return b.h.New(value.Opaque), nil
	}
	return b.container(x, depth)
}

// container converts what may be shared; the result is kept by identity.
func (b *bridge) container(x any, depth int) (value.Value, *placeError) {
	var identity uintptr
	if v := reflect.ValueOf(x); v.Kind() == reflect.Pointer {
		identity = v.Pointer()
		if v, ok := b.seen[identity]; ok {
			return v, nil
		}
	}
	v, err := b.newContainer(x, depth)
	if err == nil && identity != 0 {
		b.seen[identity] = v
	}
	return v, err
}

func (b *bridge) newContainer(x any, depth int) (value.Value, *placeError) {
	switch x := x.(type) {
	case *types.List:
		return b.sequence(value.List, *x, depth)
	case *types.Tuple:
		return b.sequence(value.Tuple, *x, depth)
	case *types.Set:
		items := make([]any, 0, x.Len())
		for k := range *x {
			items = append(items, k)
		}
		return b.sequence(value.Set, items, depth)
	case *mapping:
		return b.dict(x.Dict, depth)
	case *types.Dict:
		return b.dict(*x, depth)
	case *types.OrderedDict:
		var entries []types.DictEntry
		for e := x.List.Front(); e != nil; e = e.Next() {
			entry := e.Value.(*types.OrderedDictEntry)
			entries = append(entries, types.DictEntry{Key: entry.Key, Value: entry.Value})
		}
		return b.dict(entries, depth)
	}
	return b.h.New(value.Opaque), nil
}

func (b *bridge) sequence(kind value.ObjectKind, items []any, depth int) (value.Value, *placeError) {
	values := make([]value.Value, 0, len(items))
	for i, item := range items {
		v, err := b.convert(item, depth+1)
		if err != nil {
			return value.Nil, err.in("[" + strconv.Itoa(i) + "]")
		}
		values = append(values, v)
	}
	if kind == value.Set { // Go's order of a set differs from run to run
		b.sort(values)
	}
	return b.h.NewWith(kind, values), nil
}

// maxSorted bounds the text that containers in sets are sorted by, in bytes. No
// snapshot has any: beyond it they keep the order they come in.
const maxSorted = 1 << 20

// sort orders values by their text.
func (b *bridge) sort(values []value.Value) {
	texts := make(map[value.Value]string, len(values))
	for _, v := range values {
		if _, ok := b.h.Container(v); ok && b.rendered > maxSorted {
			continue
		}
		texts[v] = b.h.Text(v)
		if _, ok := v.StringID(); !ok {
			b.rendered += len(texts[v])
		}
	}
	slices.SortStableFunc(values, func(x, y value.Value) int { return strings.Compare(texts[x], texts[y]) })
}

func (b *bridge) dict(entries []types.DictEntry, depth int) (value.Value, *placeError) {
	items := make([]value.Value, 0, 2*len(entries))
	for _, e := range entries {
		k, err := b.convert(e.Key, depth+1)
		if err != nil {
			return value.Nil, err
		}
		v, err := b.convert(e.Value, depth+1)
		if err != nil {
			return value.Nil, err.in("." + clip(b.h.Text(k)))
		}
		items = append(items, k, v)
	}
	if b.shaper != nil && len(items) > 2 {
		record, ok, err := b.shaper.Dict(items)
		if err != nil {
			return value.Nil, &placeError{err: err}
		}
		if ok {
			return record, nil
		}
	}
	return b.h.NewWith(value.Dict, items), nil
}
