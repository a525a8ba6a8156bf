// Package cgroup makes, changes and removes control groups of version 1 and 2, with the names of the drivers
// cgroupfs and systemd.
package cgroup

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Settings are those of a group. A field that is 0 or nil leaves the group's value as it is.
type Settings struct {
	// Shares is the weight of the group's CPU time, as of version 1: 2 to 262144, 1024 for each CPU that is
	// requested.
	Shares int64
	// Quota is how much CPU time the group gets in each Period, both in microseconds; a negative quota means
	// no limit.
	Quota, Period int64
	// Memory is the limit in bytes, PIDs that of processes and threads; negative means no limit.
	Memory, PIDs int64
	// MemoryMin and MemoryLow are how much memory of the group, in bytes, the kernel never takes away, and
	// takes away last; negative means none. Version 1 has neither.
	MemoryMin, MemoryLow int64
	// Huge are the limits of huge pages in bytes, by the size of the pages as the kernel writes it (2MB,
	// 1GB); negative means no limit.
	Huge map[string]int64
	// CPUs and Mems are lists such as 0-3,8.
	CPUs, Mems string
}

// File is what is written into one file of a group.
type File struct {
	// Controller is that of version 1; empty on version 2.
	Controller, Name, Value string
	// Optional is true if the kernel may not have the file, because the machine has no such controller.
	Optional bool
	// Initial is true if a new group is as if this had been written.
	Initial bool
}

// Files returns what settings are in files, in the order in which they have to be written.
func Files(v2 bool, s Settings) []File {
	if v2 {
		return filesV2(s)
	}
	var list []File
	add := func(controller, name, value string, optional, initial bool) {
		list = append(list, File{controller, name, value, optional, initial})
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	if s.Shares > 0 {
		add("cpu", "cpu.shares", number(s.Shares), false, false)
	}
	if s.Period > 0 && s.Quota != 0 {
		// No quota may be greater than what the period before allows, but none at all always is.
		add("cpu", "cpu.cfs_quota_us", "-1", true, true)
		add("cpu", "cpu.cfs_period_us", number(s.Period), s.Quota < 0, s.Quota < 0)
	}
	if s.Quota > 0 && s.Period > 0 {
		add("cpu", "cpu.cfs_quota_us", number(s.Quota), false, false)
	}
	if s.Memory != 0 {
		add("memory", "memory.limit_in_bytes", number(max(s.Memory, -1)), false, s.Memory < 0)
	}
	if s.PIDs != 0 {
		add("pids", "pids.max", most(s.PIDs), s.PIDs < 0, s.PIDs < 0)
	}
	for _, size := range slices.Sorted(maps.Keys(s.Huge)) {
		add("hugetlb", "hugetlb."+size+".limit_in_bytes", number(max(s.Huge[size], -1)), true, s.Huge[size] < 0)
	}
	if s.CPUs != "" {
		add("cpuset", "cpuset.cpus", s.CPUs, false, false)
	}
	if s.Mems != "" {
		add("cpuset", "cpuset.mems", s.Mems, false, false)
	}
	return list
}

func filesV2(s Settings) []File {
	var list []File
	add := func(name, value string, initial bool) { list = append(list, File{"", name, value, true, initial}) }
	if s.Shares > 0 {
		add("cpu.weight", strconv.FormatInt(Weight(s.Shares), 10), false)
	}
	if s.Quota != 0 && s.Period > 0 {
		add("cpu.max", fmt.Sprintf("%s %d", most(s.Quota), s.Period), s.Quota < 0)
	}
	if s.Memory != 0 {
		add("memory.max", most(s.Memory), s.Memory < 0)
	}
	if s.MemoryMin != 0 {
		add("memory.min", strconv.FormatInt(max(s.MemoryMin, 0), 10), s.MemoryMin < 0)
	}
	if s.MemoryLow != 0 {
		add("memory.low", strconv.FormatInt(max(s.MemoryLow, 0), 10), s.MemoryLow < 0)
	}
	if s.PIDs != 0 {
		add("pids.max", most(s.PIDs), s.PIDs < 0)
	}
	for _, size := range slices.Sorted(maps.Keys(s.Huge)) {
		add("hugetlb."+size+".max", most(s.Huge[size]), s.Huge[size] < 0)
	}
	if s.CPUs != "" {
		add("cpuset.cpus", s.CPUs, false)
	}
	if s.Mems != "" {
		add("cpuset.mems", s.Mems, false)
	}
	return list
}

// most is a limit as version 2 writes it.
func most(n int64) string {
	if n < 0 {
		return "max"
	}
	return strconv.FormatInt(n, 10)
}

// Weight converts 2 to 262144 shares to a weight of 1 to 10000.
func Weight(shares int64) int64 {
	return 1 + (min(max(shares, 2), 262144)-2)*9999/262142
}
