package volume

import (
	"io/fs"
	"syscall"
)

// groupOf is the group of a file, -1 if it is unknown.
func groupOf(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Gid)
	}
	return -1
}
