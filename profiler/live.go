package profiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// BeforeTrace names memory whose allocation the trace does not have.
const BeforeTrace = "(before the trace)"

// outsideOperators names memory that no operator allocated.
const outsideOperators = "(outside every operator)"

// Live returns who holds the memory of a device after all events of a time, ns:
// the allocations of c that are there, by line, operator, module, stack or
// category. Of the rows Kept is the bytes and Count the number of allocations;
// they are sorted by Kept, and their sum is what is allocated at that time.
// Memory from before the trace has no line; that it was there is known from its
// free or from the totals.
func (t *Trace) Live(c *Categories, time int64, by By) (Table, error) {
	name, err := t.holders(by)
	if err != nil {
		return Table{}, err
	}
	table := Table{By: by}
	index := make(map[string]int)
	for i := range c.Allocations {
		a := &c.Allocations[i]
		if !a.liveAt(time) {
			continue
		}
		r := Row{Name: BeforeTrace, Function: BeforeTrace}
		if by == ByCategory {
			r = Row{Name: a.Category.String()}
		} else if !a.Older {
			r = name(a)
		}
		key := r.Name
		if r.Backward {
			key += "\x00"
		}
		if by == ByStack {
			key += "\x00" + strings.Join(r.Stack, "\x00")
		}
		at, known := index[key]
		if !known {
			at = len(table.Rows)
			index[key] = at
			table.Rows = append(table.Rows, r)
		}
		table.Rows[at].Kept += a.Bytes
		table.Rows[at].Count++
	}
	slices.SortStableFunc(table.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Kept, a.Kept), strings.Compare(a.Name, b.Name))
	})
	return table, nil
}

// holders returns how an allocation of the trace is named.
func (t *Trace) holders(by By) (func(a *Allocation) Row, error) {
	switch by {
	case ByLine, ByModule, ByStack:
	case ByOp:
		return t.holderOp, nil
	case ByCategory:
		return nil, nil
	default:
		return nil, fmt.Errorf("memory is not held by %s: use line, op, module, stack or category", by)
	}
	d := t.derived()
	x := d.stacks()
	charged := d.chargedStacks()
	return func(a *Allocation) Row {
		if a.Op < 0 {
			return Row{Name: specialNames[rowNoStack], Function: specialNames[rowNoStack]}
		}
		node, backward := charged(a.Op)
		r := Row{Backward: backward, Stack: x.tree.list(node, 0)}
		line, module := x.tree.line(node), x.tree.nodes[node].module
		switch {
		case by == ByModule && module != 0:
			r.Module = x.tree.modulePath(module)
			r.Name = r.Module
		case by == ByModule:
			r.Name = specialNames[rowOutside]
		case line != 0:
			f := &x.tree.texts[x.tree.nodes[line].text]
			r.Name = fmt.Sprintf("%s:%d %s", f.file, f.line, f.function)
			r.File, r.Line, r.Function = f.file, f.line, f.function
		default:
			r.Name = specialNames[d.without(a.Thread)]
			r.Function = r.Name
		}
		return r
	}, nil
}

func (t *Trace) holderOp(a *Allocation) Row {
	for _, host := range [...]int32{a.Op, a.Leaf} {
		if host >= 0 && t.Host[host].Kind == Operator {
			return Row{Name: t.Names[t.Host[host].Name], Stack: t.StackOf(int(host))}
		}
	}
	return Row{Name: outsideOperators, Function: outsideOperators}
}
