// Package atomicfile replaces files as a whole: who reads one finds the old content or the new, never a part.
//
// It writes a temporary file in the same folder and renames it. A program that is killed before the rename
// leaves that file behind; [Temporary] recognizes it. The renameio module was not used because it does not
// write files on Windows.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const mark = ".tmp-"

// Write makes data the content of the file at path, which only its owner can read and write (mode 0600). It
// makes missing folders, with mode 0750. After an error the file is as it was. If the program is killed, path
// has the old content or the new; after a crash of the machine it may have neither: see [WriteSync].
// Concurrent writes are safe, and one of them is the last.
func Write(path string, data []byte) error { return write(path, data, false) }

// WriteSync is [Write], and returns when data and the file's name are on the disk, so that a crash of the
// machine does not undo it. That costs milliseconds. After an error of the last step, the sync of the folder,
// path has the new content, which a crash may undo.
func WriteSync(path string, data []byte) error { return write(path, data, true) }

// Temporary reports whether a file of this name, without its folder, is one that a killed program left
// behind. A program that is at work may rename it at any time.
func Temporary(name string) bool {
	hidden, _, marked := strings.Cut(name, mark)
	return marked && strings.HasPrefix(hidden, ".")
}

func write(path string, data []byte, sync bool) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+mark+"*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if sync {
		return syncFolder(dir)
	}
	return nil
}

// syncFolder makes the names in a folder durable. On Windows folders cannot be synced: a name is durable when
// its file is.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
