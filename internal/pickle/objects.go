package pickle

import (
	"fmt"

	"github.com/snapview/snapview/internal/value"
)

// object follows the opcodes that would look up and call something. Nothing is
// called: allowed globals and what they would make become opaque values, and
// the rest of the pickle is only checked.
func (m *machine) object(op byte) error {
	switch op {
	case opGlobal:
		return m.globalLines()
	case opStackGlobal:
		return m.stackGlobal()
	case opInst:
		if err := m.globalLines(); err != nil {
			return err
		}
		m.drop(1)
		if _, err := m.takeMark(); err != nil {
			return err
		}
		m.push(m.h.New(value.Opaque))
		return nil
	case opObj:
		items, err := m.takeMark()
		if err != nil {
			return err
		}
		if len(items) == 0 || !m.opaque(items[0]) {
			return errCall
		}
		m.push(m.h.New(value.Opaque))
		return nil
	}
	return m.call(op)
}

var errCall = fmt.Errorf("refused: the pickle calls or builds something that is not on the list of harmless types")

// call follows REDUCE, NEWOBJ, NEWOBJ_EX and BUILD.
func (m *machine) call(op byte) error {
	n := 2
	if op == opNewObjEx {
		n = 3
	}
	v, err := m.top(n)
	if err != nil {
		return err
	}
	if !m.opaque(v[0]) {
		return errCall
	}
	made := v[0]
	if op != opBuild {
		made = m.h.New(value.Opaque)
	}
	m.drop(n)
	m.push(made)
	return nil
}

func (m *machine) opaque(v value.Value) bool {
	k, ok := m.h.Container(v)
	return ok && k == value.Opaque
}

// globalLines reads the two text arguments of GLOBAL and INST.
func (m *machine) globalLines() error {
	b, err := m.w.line(MaxLine)
	if err != nil {
		return err
	}
	module := string(b)
	if b, err = m.w.line(MaxLine); err != nil {
		return err
	}
	return m.global(module, string(b))
}

func (m *machine) stackGlobal() error {
	v, err := m.top(2)
	if err != nil {
		return err
	}
	module, err := m.h.String(v[0])
	if err != nil {
		return fmt.Errorf("the module of a global: %w", err)
	}
	name, err := m.h.String(v[1])
	if err != nil {
		return fmt.Errorf("the name of a global: %w", err)
	}
	m.drop(2)
	return m.global(module, name)
}

func (m *machine) global(module, name string) error {
	if !m.allowed(module, name) {
		return &GlobalError{Module: module, Name: name}
	}
	m.tree = true
	m.push(m.h.New(value.Opaque))
	return nil
}
