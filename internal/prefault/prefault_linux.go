package prefault

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Soon says that all of s will be written to for the first time soon.
func Soon[T any](s []T) {
	if len(s) == 0 || runtime.GOMAXPROCS(0) < 2 {
		return
	}
	page := uintptr(os.Getpagesize())
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(s[0]))
	if skip := -uintptr(unsafe.Pointer(&b[0])) % page; skip < uintptr(len(b)) {
		// Where the kernel does not know how (before 5.14) it is only slower.
		go unix.Madvise(b[skip:], unix.MADV_POPULATE_WRITE)
	}
}
