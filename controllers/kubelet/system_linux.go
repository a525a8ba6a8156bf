package kubelet

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

// memInfo is /proc/meminfo in bytes.
func memInfo() map[string]int64 {
	m := map[string]int64{}
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return m
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) >= 2 {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			m[strings.TrimSuffix(fields[0], ":")] = n * 1024
		}
	}
	return m
}

// swapTotal is the machine's swap, in bytes.
func swapTotal() int64 { return memInfo()["SwapTotal"] }

// machineSwap is how much of the machine's swap is in use.
func machineSwap() *usage.Swap {
	m := memInfo()
	total, free := uint64(max(m["SwapTotal"], 0)), uint64(max(m["SwapFree"], 0))
	free = min(free, total)
	return &usage.Swap{Used: total - free, Available: &free}
}

func systemInfo() corev1.NodeSystemInfo {
	var info corev1.NodeSystemInfo
	read := func(path string) string {
		b, _ := os.ReadFile(path)
		return strings.TrimSpace(string(b))
	}
	info.MachineID, info.BootID = read("/etc/machine-id"), read("/proc/sys/kernel/random/boot_id")
	info.SystemUUID = read("/sys/class/dmi/id/product_uuid")
	if info.SystemUUID == "" {
		info.SystemUUID = info.MachineID
	}
	info.KernelVersion = read("/proc/sys/kernel/osrelease")
	if swap := swapTotal(); swap > 0 {
		info.Swap = &corev1.NodeSwapStatus{Capacity: &swap}
	}
	info.OSImage = "Linux"
	for line := range strings.Lines(read("/etc/os-release")) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			info.OSImage = strings.Trim(v, `"`)
		}
	}
	return info
}

// machine is the Host of a kubelet that was given none.
type machine struct{}

// Memory implements Host. What is cached of files that no process has used lately counts as available.
func (machine) Memory() (total, available uint64) {
	m := memInfo()
	bytes := func(name string) uint64 { return uint64(max(m[name], 0)) }
	total = bytes("MemTotal")
	return total, min(bytes("MemFree")+bytes("Inactive(file)"), total)
}

// Disk implements Host.
func (machine) Disk(path string) (Disk, error) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(path, &st)
		if err == nil {
			break
		}
		up := filepath.Dir(path)
		if up == path || !errors.Is(err, fs.ErrNotExist) {
			return Disk{}, &fs.PathError{Op: "statfs", Path: path, Err: err}
		}
		path = up
	}
	d := Disk{Capacity: st.Blocks * uint64(st.Bsize), Available: st.Bavail * uint64(st.Bsize), Inodes: st.Files, AvailableInodes: st.Ffree}
	var info unix.Stat_t
	if err := unix.Stat(path, &info); err != nil {
		return Disk{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	d.Device = strconv.FormatUint(info.Dev, 10)
	return d, nil
}

// PIDs implements Host.
func (machine) PIDs() (most, running uint64) {
	number := func(text string) uint64 {
		n, _ := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
		return n
	}
	for _, file := range []string{"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"} {
		b, _ := os.ReadFile(file)
		if n := number(string(b)); n > 0 && (most == 0 || n < most) {
			most = n
		}
	}
	b, _ := os.ReadFile("/proc/loadavg") // its fourth field is runnable/all
	if f := strings.Fields(string(b)); len(f) > 3 {
		_, all, _ := strings.Cut(f[3], "/")
		running = number(all)
	}
	return most, running
}

// Started implements Host.
func (machine) Started() time.Time {
	b, _ := os.ReadFile("/proc/stat")
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "btime "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
				return time.Unix(n, 0)
			}
		}
	}
	return time.Time{}
}

// userHZ is the number of clock ticks per second in /proc, the same on all architectures that Go supports.
const userHZ = 100

// CPU implements Host.
func (machine) CPU() uint64 {
	b, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(b), "\n")
	f := strings.Fields(line)
	ticks := uint64(0)
	for i, text := range f {
		// cpu user nice system idle iowait irq softirq steal; what follows is part of user and nice.
		if i == 0 || i == 4 || i == 5 || i > 8 {
			continue
		}
		n, _ := strconv.ParseUint(text, 10, 64)
		ticks += n
	}
	return ticks * (1e9 / userHZ)
}
