package placement

import (
	"io/fs"
	"os"
)

// sysfs is the kernel's folder of the machine; nil if there is none.
func sysfs() fs.FS {
	const dir = "/sys/devices/system"
	if _, err := os.Stat(dir + "/cpu/online"); err != nil {
		return nil
	}
	return os.DirFS(dir)
}
