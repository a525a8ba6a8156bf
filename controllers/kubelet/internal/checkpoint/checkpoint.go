// Package checkpoint keeps small states in files, so that a program that is started again knows them. A file
// that was cut, changed or mixed up is found out by its checksum, never believed.
package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"

	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
)

// ErrCorrupt is the error of a file whose content is not what was saved.
var ErrCorrupt = errors.New("checkpoint is corrupt")

// version is that of the form of the files. A file of another one is corrupt.
const version = 1

// envelope is what a file holds.
type envelope struct {
	Version  int             `json:"version"`
	Checksum uint32          `json:"checksum"` // of Data
	Data     json.RawMessage `json:"data"`
}

var table = crc32.MakeTable(crc32.Castagnoli)

// Load reads a state; it is nil, without an error, if there is no file. The error is ErrCorrupt, with what is
// wrong, or that of reading.
func Load[T any](path string) (*T, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	corrupt := func(why string, args ...any) error {
		return fmt.Errorf("%w: %s: %s", ErrCorrupt, path, fmt.Sprintf(why, args...))
	}
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return nil, corrupt("%v", err)
	}
	if e.Version != version {
		return nil, corrupt("version %d, want %d", e.Version, version)
	}
	if sum := crc32.Checksum(e.Data, table); sum != e.Checksum {
		return nil, corrupt("checksum %d, want %d", sum, e.Checksum)
	}
	state := new(T)
	if err := json.Unmarshal(e.Data, state); err != nil {
		return nil, corrupt("%v", err)
	}
	return state, nil
}

// Save writes a state, in a file that only this user can read. A program that is killed leaves the old file
// or the new one. The file is not forced to the disk: what a crash of the machine does to it, Load finds out.
func Save[T any](path string, state *T) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	b, err := json.Marshal(envelope{version, crc32.Checksum(data, table), data})
	if err != nil {
		return err
	}
	return atomicfile.Write(path, b)
}
