// Snapview shows where GPU memory went. It reads the memory snapshots PyTorch
// writes and needs no Python, no GPU and no network.
//
//	snapview report snapshot.pickle
//
// Run snapview --help for the commands and exit codes.
package main

import (
	"context"
	"os"
	"runtime/debug"
)

// gcPercent lets the heap grow further between collections than Go's default:
// a run builds its columns once and ends, so collecting early frees little.
const gcPercent = 200

func main() {
	debug.SetGCPercent(gcPercent)
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
