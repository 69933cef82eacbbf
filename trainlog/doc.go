// Package trainlog reads the text that training runs leave behind and finds the
// memory figures in it: printed lines of any framework, memory_stats() as JSON
// lines, the text of memory_summary(), tables with a header such as nvidia-smi's
// CSV and Lightning's metrics.csv, and nvidia-smi's own table.
//
// A file may mix all of these. It is read as a stream, so its length does not
// matter: a curve keeps a bounded number of points, among them its first, its
// last and its extremes.
//
// # What a figure means
//
// The words beside a number say what it is ("max allocated"), and its unit what
// it counts. A printed GB may be 10⁹ or 2³⁰ bytes, which is a difference of 7 %.
// [Series.Basis] says how that was decided, and what is only assumed is called so.
package trainlog
