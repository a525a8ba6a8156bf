package kubelet

import (
	"bufio"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// measuredCapacity is what the kernel says this host has.
func measuredCapacity(dir string) corev1.ResourceList {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.NewQuantity(int64(goruntime.NumCPU()), resource.DecimalSI)}
	if total := memInfo()["MemTotal"]; total > 0 {
		list[corev1.ResourceMemory] = resource.NewQuantity(total, resource.BinarySI)
	}
	if size, _ := diskSize(dir); size > 0 {
		list[corev1.ResourceEphemeralStorage] = resource.NewQuantity(size, resource.BinarySI)
	}
	return list
}

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

// diskSize is the size of the file system of dir, or of its nearest parent that exists, and what is free, in
// bytes.
func diskSize(dir string) (size, free int64) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(dir, &st)
		if err == nil {
			return int64(st.Blocks) * st.Bsize, int64(st.Bavail) * st.Bsize
		}
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			return 0, 0
		}
		if dir = dir[:i]; dir == "" {
			dir = "/"
		}
	}
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
	info.OSImage = "Linux"
	for line := range strings.Lines(read("/etc/os-release")) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			info.OSImage = strings.Trim(v, `"`)
		}
	}
	return info
}

// pressure says what the node is short of.
type pressure struct{ memory, disk, pids bool }

// The kubelet's default thresholds: 100 MiB of memory, 10 % of the disk.
const minMemory = 100 << 20

func nodePressure(dir string) pressure {
	m := memInfo()
	p := pressure{memory: m["MemTotal"] > 0 && m["MemAvailable"] < minMemory}
	if size, free := diskSize(dir); size > 0 {
		p.disk = free < size/10
	}
	return p
}

func availableMemory() uint64 { return uint64(max(memInfo()["MemAvailable"], 0)) }
