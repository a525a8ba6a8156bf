package file

import (
	"bufio"
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/keelson-dev/keelson/store/memory"
)

// journal writes a file. One goroutine at a time writes: the first that waits for a commit that is not synced
// writes for all waiting ones, and those that arrive meanwhile are the next batch.
type journal struct {
	dir   string
	least int64
	// noSync leaves syncing commits to the system; a file that replaces another is synced nevertheless.
	noSync bool
	log    *slog.Logger
	full   func() // starts a rewrite

	mu        sync.Mutex
	file      *os.File // this and id are used only by the goroutine that has set writing
	id        identity
	size      int64
	base      int64  // size after the last rewrite
	pending   []byte // the next frame, with space for its header
	last      int64  // the newest commit in it, or before it
	synced    int64
	err       error
	writing   bool
	ended     chan struct{} // closed when writing ends
	tail      []commit      // commits since a rewrite began
	rewriting bool          // a rewrite is running
	closing   bool          // no rewrite may begin
}

// commit is an encoded commit.
type commit struct {
	revision int64
	record   []byte
}

// Append implements memory.Journal.
func (j *journal) Append(e memory.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.pending) == 0 {
		j.pending = beginFrame(j.pending)
	}
	n := len(j.pending)
	j.pending = appendCommit(j.pending, e)
	j.last = e.Revision
	if j.rewriting {
		j.tail = append(j.tail, commit{e.Revision, bytes.Clone(j.pending[n:])})
	}
}

// Sync implements memory.Journal.
func (j *journal) Sync(revision int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.synced < revision {
		if j.err != nil {
			return j.err
		}
		if j.writing {
			j.wait()
			continue
		}
		j.begin()
		frame, last, at := j.pending, j.last, j.size
		j.pending = nil
		j.mu.Unlock()
		err := j.write(j.file, j.id, frame, at)
		j.mu.Lock()
		if err != nil {
			j.err = err
		} else {
			j.synced = last
			j.size += int64(len(frame))
			if cap(frame) <= 1<<20 && j.pending == nil {
				j.pending = frame[:0]
			}
		}
		j.end()
		if err == nil && !j.rewriting && !j.closing && j.size > j.least && j.size > 2*j.base {
			j.rewriting = true
			j.full()
		}
	}
	return nil
}

// write writes and syncs a frame at the end of a file, whose size is at.
func (j *journal) write(f *os.File, id identity, frame []byte, at int64) error {
	id.endFrame(frame, at)
	if _, err := f.Write(frame); err != nil || j.noSync {
		return err
	}
	return f.Sync()
}

// begin and end enclose a write; wait waits for the end of that of another goroutine. All are called with mu
// held.
func (j *journal) begin() { j.writing = true }

func (j *journal) end() {
	j.writing = false
	close(j.ended)
	j.ended = make(chan struct{})
}

func (j *journal) wait() {
	ended := j.ended
	j.mu.Unlock()
	<-ended
	j.mu.Lock()
}

// rewrite replaces the current file by a new one: a snapshot with every commit up to the time it is taken,
// and the commits since. It is called with rewriting set. After an error the current file stays in use,
// unless the journal itself failed.
func (j *journal) rewrite(snapshot func() (memory.Snapshot, error)) (err error) {
	path := filepath.Join(j.dir, newName)
	var f *os.File
	defer func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.rewriting, j.tail = false, nil
		if err != nil {
			j.base = j.size // no retry before the file has doubled
			_ = f.Close()
			_ = os.Remove(path)
		}
	}()
	if f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	// Commits that are not in the snapshot are appended from now on, and so are in the tail.
	s, err := snapshot()
	if err != nil {
		return err
	}
	id, base, err := writeSnapshot(f, s)
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil { // most of the data, while writers continue
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.writing {
		j.wait()
	}
	if j.err != nil {
		return j.err
	}
	j.begin()
	defer j.end()
	frame := beginFrame(nil)
	for _, c := range j.tail {
		if c.revision > s.Revision() {
			frame = append(frame, c.record...)
		}
	}
	taken, last := j.pending, j.last
	j.pending = nil
	j.mu.Unlock()
	size := base
	if len(frame) > headerBytes {
		err = j.write(f, id, frame, size)
		size += int64(len(frame))
	}
	if err == nil {
		err = os.Rename(path, filepath.Join(j.dir, dataName))
	}
	var unsure error
	if err == nil {
		unsure = syncDir(j.dir)
	}
	j.mu.Lock()
	if err != nil {
		switch {
		case len(taken) == 0:
			taken = j.pending
		case len(j.pending) > 0:
			taken = append(taken, j.pending[headerBytes:]...)
		}
		j.pending = taken
		return err
	}
	_ = j.file.Close()
	j.file, j.id, j.size, j.base = f, id, size, base
	if unsure != nil {
		j.err = unsure // a restart may find either file
		return nil
	}
	j.synced = last
	return nil
}

// snapshotFrame is about how large the frames of a snapshot are.
const snapshotFrame = 1 << 20

// writeSnapshot writes the beginning of a file and returns its identity and size. It is not synced.
func writeSnapshot(f *os.File, s memory.Snapshot) (id identity, size int64, err error) {
	w := bufio.NewWriterSize(f, 1<<16)
	start, id := newStart()
	if _, err := w.Write(start); err != nil {
		return 0, 0, err
	}
	size = startBytes
	frame := beginFrame(nil)
	flush := func() error {
		id.endFrame(frame, size)
		size += int64(len(frame))
		_, err := w.Write(frame)
		frame = beginFrame(frame[:0])
		return err
	}
	for kv := range s.All() {
		frame = appendKey(frame, kv, s.Deadline(kv.Key))
		if len(frame) > snapshotFrame {
			if err := flush(); err != nil {
				return 0, 0, err
			}
		}
	}
	frame = appendSnapshot(frame, s.Revision())
	if err := flush(); err != nil {
		return 0, 0, err
	}
	return id, size, w.Flush()
}

// stop prevents further rewrites.
func (j *journal) stop() {
	j.mu.Lock()
	j.closing = true
	j.mu.Unlock()
}

func (j *journal) close() error {
	j.mu.Lock()
	last := j.last
	j.mu.Unlock()
	return errors.Join(j.Sync(last), j.file.Close())
}
