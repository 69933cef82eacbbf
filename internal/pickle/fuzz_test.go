package pickle_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	gopickle "github.com/nlpodyssey/gopickle/pickle"
	"github.com/nlpodyssey/gopickle/types"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/snapview/snapview/internal/pickle"
	"github.com/snapview/snapview/internal/testpickle"
	"github.com/snapview/snapview/internal/value"
)

// seeds adds the table cases to a fuzz target.
func seeds(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range cases(f, file, archive) {
			f.Add(c.pickle)
		}
	}
	f.Add(testpickle.Must(f, smallSnapshot))
}

// Anything decodes without a panic and without much memory, and to the same
// whether it comes in one piece or byte by byte, with its size known or not.
func FuzzDecode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o := decode(bytes.NewReader(data), -1)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20+256*uint64(len(data)) {
			t.Errorf("%d bytes allocated for %d", n, len(data))
		}
		if again := decode(iotest.OneByteReader(bytes.NewReader(data)), -1); again.String() != o.String() {
			t.Errorf("byte by byte it is %v, in one piece %v", again, o)
		}
		sized := decode(bytes.NewReader(data), int64(len(data)))
		if sized.value != o.value || (sized.err == nil) != (o.err == nil) {
			t.Errorf("with its size known it is %v, else %v", sized, o)
		}
		var e *pickle.Error
		if o.err != nil && !errors.As(o.err, &e) {
			t.Errorf("an error without a place: %v", o.err)
		}
		if o.err == nil && o.result.NeedsTree {
			decodeFull(data) // must not panic
		}
	})
}

// What decodes as plain data is for gopickle the same, if it can read it.
func FuzzAgainstGopickle(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		h := &value.Heap{}
		res, err := pickle.Decode(bytes.NewReader(data), h, nil, pickle.Config{Size: -1})
		if err != nil || bytes.IndexByte(data, '\\') >= 0 { // gopickle leaves the escapes of UNICODE as they are
			return
		}
		second, ok := secondOpinion(data)
		if !ok {
			return
		}
		c := comparison{h: h, left: 10_000}
		if err := c.compare(res.Root, second, 0); err != nil {
			t.Error(err)
		}
	})
}

func secondOpinion(data []byte) (tree any, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	u := gopickle.NewUnpickler(bytes.NewReader(data))
	tree, err := u.Load()
	return tree, err == nil
}

type comparison struct {
	h    *value.Heap
	left int // nodes to compare: what holds itself has no end
}

func (c *comparison) compare(v value.Value, x any, depth int) error {
	if c.left--; c.left < 0 || depth > 50 {
		return nil
	}
	switch x := x.(type) {
	case nil, bool, int, int64, *big.Int, float64, string:
		if got, want := c.scalar(v), scalarText(x); got != want {
			return fmt.Errorf("have %s, gopickle has %s", got, want)
		}
		return nil
	case *types.List:
		return c.sequence(v, value.List, *x, depth)
	case *types.Tuple:
		return c.sequence(v, value.Tuple, *x, depth)
	case *types.Dict:
		var items []any
		for _, e := range *x {
			items = append(items, e.Key, e.Value)
		}
		return c.sequence(v, value.Dict, items, depth)
	}
	return nil // bytes and sets: not kept, no order
}

func (c *comparison) sequence(v value.Value, want value.ObjectKind, items []any, depth int) error {
	if k, ok := c.h.Container(v); !ok || k != want {
		return fmt.Errorf("have %s, gopickle has %s", c.h.Describe(v), want)
	}
	have := c.h.Items(v)
	if len(have) != len(items) {
		return fmt.Errorf("have %d items, gopickle has %d", len(have), len(items))
	}
	for i := range have {
		if err := c.compare(have[i], items[i], depth+1); err != nil {
			return fmt.Errorf("[%d] %w", i, err)
		}
	}
	return nil
}

func (c *comparison) scalar(v value.Value) string {
	if _, ok := v.StringID(); ok {
		return strconv.Quote(c.h.Text(v))
	}
	return c.h.Text(v)
}

// scalarText is what scalar would give.
func scalarText(x any) string {
	switch x := x.(type) {
	case nil:
		return "None"
	case float64:
		if math.IsNaN(x) {
			return "NaN"
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	case string:
		return strconv.Quote(x)
	case *big.Int:
		if !x.IsInt64() && !x.IsUint64() {
			return "an integer beyond 64 bits"
		}
	}
	return strings.TrimSpace(fmt.Sprint(x))
}
