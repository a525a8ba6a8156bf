package load

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is the resource usage of a process.
type Usage struct {
	CPU      time.Duration // user and system, since it started
	Children time.Duration // the same of its children that have ended and were waited for
	Resident int64         // bytes
}

// ticks per second of /proc/PID/stat: USER_HZ, which is 100 on every architecture Linux has Go for.
const ticks = 100

// UsageOf reads /proc (see proc_pid_stat(5)).
func UsageOf(pid int) (Usage, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Usage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	// The name in parentheses may contain any character; the fields after it are numbers, the first of them
	// the third.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 22 {
		return Usage{}, fmt.Errorf("process %d: /proc gives %d fields", pid, len(fields))
	}
	var n [5]int64
	for i, field := range []string{fields[11], fields[12], fields[13], fields[14], fields[21]} {
		if n[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return Usage{}, fmt.Errorf("process %d: %w", pid, err)
		}
	}
	cpu := func(ticked int64) time.Duration { return time.Duration(ticked) * time.Second / ticks }
	return Usage{CPU: cpu(n[0] + n[1]), Children: cpu(n[2] + n[3]), Resident: n[4] * int64(os.Getpagesize())}, nil
}
