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
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
