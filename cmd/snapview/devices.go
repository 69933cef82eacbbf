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
