package main

import (
	"fmt"
	"os"
	"testing"
)

func Example() {
	if err := foldLines(os.Stdout, "../../testdata/snapshots/gpt_adamw/9_end.pickle.zst", 3); err != nil {
		fmt.Println(err)
	}
	// Output:
	// device 0 held 1112623112 bytes at the peak
	//    220528640  /home/ml/train/example/scenarios.py:46 phases
	//    201326592  /home/ml/train/example/model.py:32 forward
	//    167772160  (autograd thread)
}

func Example_noHistory() {
	if err := foldLines(os.Stdout, "../../testdata/snapshots/nohistory/end.pickle.zst", 3); err != nil {
		fmt.Println(err)
	}
	// Output:
	// device 0 held 115408896 bytes at the end
	//    115408896  (no stack)
}

func TestMissingFile(t *testing.T) {
	if err := foldLines(os.Stdout, "no-such-file", 3); err == nil {
		t.Error("a missing file gives no error")
	}
}
