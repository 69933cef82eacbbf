//go:build !linux

package prefault

// Soon does nothing here.
func Soon[T any]([]T) {}
