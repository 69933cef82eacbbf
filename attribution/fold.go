package attribution

import (
	"cmp"
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// FoldCategories sums what is live at m by category. A row has the category's
// name as its function, and no file.
func (c *Classification) FoldCategories(m snapshot.Moment) snapshot.Table {
	f := newNameFold(m)
	for i, a := range c.Live(m) {
		f.add(c.Labels[i].Category.String(), a)
	}
	return f.table()
}

// FoldModules sums what is live at m by module, see ModuleOf. A row has the
// module's name as its function, and no file.
func FoldModules(s *snapshot.Snapshot, t *snapshot.Timeline, m snapshot.Moment) snapshot.Table {
	type key struct {
		stack snapshot.StackID
		label snapshot.LabelID
	}
	names := map[key]string{}
	f := newNameFold(m)
	for a := range t.Live(m) {
		k := key{a.Stack, a.Label}
		name, known := names[k]
		if !known {
			name = ModuleOf(s, a)
			names[k] = name
		}
		f.add(name, a)
	}
	return f.table()
}

// nameFold folds by a name.
type nameFold struct {
	out    snapshot.Table
	rows   map[string]int
	stacks []map[snapshot.StackID]int64 // bytes of each row's stacks
}

func newNameFold(m snapshot.Moment) *nameFold {
	return &nameFold{out: snapshot.Table{Moment: m}, rows: map[string]int{}}
}

func (f *nameFold) add(name string, a *snapshot.Allocation) {
	i, known := f.rows[name]
	if !known {
		i = len(f.out.Rows)
		f.rows[name] = i
		f.out.Rows = append(f.out.Rows, snapshot.Row{Function: name})
		f.stacks = append(f.stacks, map[snapshot.StackID]int64{})
	}
	r := &f.out.Rows[i]
	r.Bytes += a.Requested
	r.Count++
	f.out.Total += a.Requested
	f.stacks[i][a.Stack] += a.Requested
}

// table sorts the rows, and picks each row's heaviest stack.
func (f *nameFold) table() snapshot.Table {
	for i := range f.out.Rows {
		r := &f.out.Rows[i]
		most := int64(-1)
		for id, bytes := range f.stacks[i] {
			if bytes > most || bytes == most && id < r.Stack {
				r.Stack, most = id, bytes
			}
		}
	}
	slices.SortFunc(f.out.Rows, func(a, b snapshot.Row) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Function, b.Function))
	})
	return f.out
}
