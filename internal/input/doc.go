// Package input opens the files that snapview reads: it finds out what a file
// is by its content, undoes compression of any nesting, and hands out one
// stream of plain bytes.
//
// Names mean nothing here. A snapshot called x.json, a trace without a suffix
// and a gzip of a zstd of either are all recognised by their first bytes.
//
// # Memory
//
// Everything is a stream, so a decompression bomb costs time and no memory. The
// buffers of one open file stay below [MaxWindow] plus a few MiB; what cannot be
// opened a second time (a pipe) keeps its raw bytes for [File.Reopen] until
// [File.Forget] is called.
package input
