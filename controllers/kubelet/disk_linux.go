package kubelet

import (
	"io/fs"
	"syscall"
)

// inode returns the device, the number and the links of a file.
func inode(info fs.FileInfo) (device, number, links uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), st.Ino, uint64(st.Nlink) //nolint:unconvert // other processors have other types
	}
	return 0, 0, 1
}

// blocks returns how many bytes of the disk a file takes.
func blocks(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Blocks) * 512
	}
	return uint64(info.Size())
}
