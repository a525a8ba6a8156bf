//go:build !linux

package volume

import "io/fs"

// groupOf is the group of a file, -1 if it is unknown.
func groupOf(fs.FileInfo) int64 { return -1 }
