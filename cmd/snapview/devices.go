package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// A deviceFlag is a device index, or allDevices.
type deviceFlag int

const allDevices deviceFlag = -1

func (d *deviceFlag) String() string {
	if *d == allDevices {
		return "all"
	}
	return strconv.Itoa(int(*d))
}

func (d *deviceFlag) Type() string { return "N" }

func (d *deviceFlag) Set(s string) error {
	if s == "all" {
		*d = allDevices
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return fmt.Errorf("not a device index or all")
	}
	*d = deviceFlag(n)
	return nil
}

// pick returns the devices of s that the flag asks for.
func (d deviceFlag) pick(s *snapshot.Snapshot) ([]*snapshot.Device, error) {
	if d == allDevices {
		return s.Devices, nil
	}
	var have []string
	for _, device := range s.Devices {
		if device.Index == int(d) {
			return []*snapshot.Device{device}, nil
		}
		have = append(have, strconv.Itoa(device.Index))
	}
	if len(have) == 0 {
		return nil, usagef("--device %d: the file has no device with memory or history", d)
	}
	return nil, usagef("--device %d: not in the file, which has device %s", d, strings.Join(have, ", "))
}

// isIdle reports whether a device never held memory and never failed to get
// some: others were used, and this one is only listed.
func isIdle(t *snapshot.Timeline) bool {
	_, oom := lastOOM(t.Device)
	return !oom && len(t.Device.Segments) == 0 && t.Peak.Bytes == 0 && t.PeakReserved.Bytes == 0
}

// withoutIdle leaves out the idle devices, unless one was asked for by name.
func (d deviceFlag) withoutIdle(timelines []*snapshot.Timeline) []*snapshot.Timeline {
	if d != allDevices {
		return timelines
	}
	var busy []*snapshot.Timeline
	for _, t := range timelines {
		if !isIdle(t) {
			busy = append(busy, t)
		}
	}
	return busy
}
