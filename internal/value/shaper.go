package value

// A Shaper turns dicts into records while they are read, so that long lists of
// them need no generic tree.
type Shaper interface {
	// Dict is offered the items of a dict that was just filled, keys and
	// values in turn. With ok it returns what stands for the dict from now on,
	// for everything that shares it. It must not keep items.
	Dict(items []Value) (record Value, ok bool, err error)
}
