package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// unknownMemory is assumed where the system does not tell what is free.
const unknownMemory = 8 << 30

// availableMemory is how many bytes programs can still take without swapping,
// and without exceeding the limit of a container, as Linux tells.
func availableMemory() int64 {
	available := int64(unknownMemory)
	if n := memoryInfo("MemAvailable:"); n > 0 {
		available = n
	}
	for _, group := range [][2]string{
		{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
	} {
		if limit := numberIn(group[0]); limit > 0 {
			available = min(available, limit-numberIn(group[1]))
		}
	}
	const least = 512 << 20
	return max(available, least)
}

// memoryInfo reads a line of /proc/meminfo, which counts KiB.
func memoryInfo(name string) int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == name {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// numberIn reads a file that holds a number; "max" and a missing file are 0.
func numberIn(path string) int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n
}
