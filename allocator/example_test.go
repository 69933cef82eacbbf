package allocator_test

import (
	"fmt"
	"log"

	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/snapshot"
)

// What a run would have reserved with expandable segments.
func ExampleReplay_WhatIf() {
	s, err := snapshot.Open("../testdata/snapshots/sim_serve/default.pickle.zst")
	if err != nil {
		log.Fatal(err)
	}
	recorded := allocator.Exact(s, s.Timeline(s.Devices[0]))
	settings, err := allocator.ParseConf("expandable_segments:True")
	if err != nil {
		log.Fatal(err)
	}
	other := recorded.WhatIf(settings, allocator.Options{})
	fmt.Println("exact:", recorded.Check.Exact)
	fmt.Println(recorded.PeakReserved>>20, "MiB recorded,", other.PeakReserved>>20, "MiB expandable")
	// Output:
	// exact: true
	// 482 MiB recorded, 410 MiB expandable
}
