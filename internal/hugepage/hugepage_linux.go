package hugepage

import (
	"syscall"
	"unsafe"
)

// size is that of the huge pages of amd64, and of arm64 with pages of 4 KiB.
const size = 2 << 20

// Advise asks for huge pages behind the unused part of s, s[len(s):cap(s)].
func Advise[T any](s []T) {
	room := s[len(s):cap(s)]
	n := len(room) * int(unsafe.Sizeof(*new(T)))
	if n < 2*size {
		return
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(room))), n)
	b = b[-uintptr(unsafe.Pointer(&b[0]))%size:]
	_ = syscall.Madvise(b[:len(b)/size*size], syscall.MADV_HUGEPAGE) // without it, it is only slower
}
