package value

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &Heap{}
		n, u := rapid.Int64().Draw(t, "n"), rapid.Uint64().Draw(t, "u")
		for _, v := range []Value{h.MakeInt(n), h.MakeBig(big.NewInt(n))} {
			if got, err := h.Int64(v); err != nil || got != n {
				t.Errorf("%d becomes %d, %v", n, got, err)
			}
			if got, err := h.Uint64(v); err != nil || got != uint64(n) {
				t.Errorf("%d becomes the address %d, %v", n, got, err)
			}
		}
		for _, v := range []Value{h.MakeUint(u), h.MakeBig(new(big.Int).SetUint64(u))} {
			if got, err := h.Uint64(v); err != nil || got != u {
				t.Errorf("%d becomes %d, %v", u, got, err)
			}
			if _, err := h.Int64(v); (err == nil) != (u <= math.MaxInt64) {
				t.Errorf("%d as a signed number: %v", u, err)
			}
		}
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64Range(-3, 1<<31).Draw(t, "b")
		items := h.Items(h.NewWith(Tuple, []Value{h.MakeInt(a), h.MakeInt(b)}))
		x, _ := h.Int64(items[0])
		y, _ := h.Int64(items[1])
		if x != a || y != b {
			t.Errorf("(%d, %d) becomes (%d, %d)", a, b, x, y)
		}
	})
}

func TestReplace(t *testing.T) {
	h := &Heap{}
	v := h.NewWith(List, []Value{SmallInt(1)})
	other := h.NewWith(List, []Value{SmallInt(2)})
	h.Replace(v, MakeExt(3, 1<<40))
	if class, id, ok := h.Resolve(v).Ext(); class != 3 || id != 1<<40 || !ok {
		t.Errorf("class %d, id %d", class, id)
	}
	if h.Append(v, []Value{SmallInt(2)}) || h.Items(v) != nil || h.Fresh(v) {
		t.Error("a replaced list still takes or holds items")
	}
	reused := h.NewWith(Dict, []Value{SmallInt(5), SmallInt(6)})
	if h.Filled() != 2 || h.Text(other) != "[2]" || h.Text(reused) != "{5: 6}" {
		t.Errorf("%d filled, %s and %s", h.Filled(), h.Text(other), h.Text(reused))
	}
}

func TestGet(t *testing.T) {
	h := &Heap{}
	str := func(s string) Value { return MakeStr(h.Strings.InternString(s)) }
	d := h.NewWith(Dict, []Value{str("a"), SmallInt(1), SmallInt(5), str("a"), str("a"), SmallInt(2)})
	if v, ok := h.Get(d, "a"); !ok || v != SmallInt(2) {
		t.Errorf("got %s, want the last", h.Text(v))
	}
	if _, ok := h.Get(d, "b"); ok {
		t.Error("a key that no string has is found")
	}
}

// Text of what holds itself, or is shared without end, ends.
func TestTextIsBounded(t *testing.T) {
	h := &Heap{}
	loop := h.New(List)
	h.Append(loop, []Value{loop, loop, loop})
	wide := make([]Value, 1<<20)
	for name, v := range map[string]Value{"loop": loop, "wide": h.NewWith(List, wide)} {
		if text := h.Text(v); len(text) > maxTextBytes+1000 || !strings.Contains(text, "…") {
			t.Errorf("%s: %d bytes", name, len(text))
		}
	}
}

func TestPages(t *testing.T) {
	var p Pages[int]
	for i := range 3 * pageSize {
		if p.Len() != i {
			t.Fatalf("length %d of %d", p.Len(), i)
		}
		p.Append(i)
	}
	*p.At(pageSize) = -1
	for i := range p.Len() {
		if want := i; *p.At(i) != want && i != pageSize || i == pageSize && *p.At(i) != -1 {
			t.Fatalf("[%d] is %d", i, *p.At(i))
		}
	}
}

// A run of records is the list of them, whichever way it came about.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &Heap{}
		v := h.New(List)
		var want []Value
		next := rapid.IntRange(0, 1<<20).Draw(t, "first")
		for range rapid.IntRange(0, 5).Draw(t, "batches") {
			var items []Value
			for range rapid.IntRange(0, 3*leastRun).Draw(t, "records") {
				record := MakeExt(2, next)
				want = append(want, record)
				if rapid.Bool().Draw(t, "replaced") {
					dict := h.NewWith(Dict, []Value{Nil, Nil})
					h.Replace(dict, record)
					record = dict
				}
				items = append(items, record)
				next++
			}
			if rapid.IntRange(0, 3).Draw(t, "gap") == 0 {
				next++
			}
			if !h.Append(v, items) {
				t.Fatal("items are refused")
			}
		}
		if first, n, ok := h.Run(v); ok && (n != len(want) || first != want[0] || want[n-1] != first+Value(n-1)*nextRecord) {
			t.Fatalf("a run of %d records, want %d", n, len(want))
		}
		if h.Len(v) != len(want) {
			t.Fatalf("length %d, want %d", h.Len(v), len(want))
		}
		items := h.Items(v)
		if _, _, ok := h.Run(v); ok || len(items) != len(want) {
			t.Fatalf("%d items, want %d", len(items), len(want))
		}
		for i := range want {
			if got := h.Resolve(items[i]); got != want[i] {
				t.Fatalf("[%d] is %x, want %x", i, got, want[i])
			}
		}
	})
}
