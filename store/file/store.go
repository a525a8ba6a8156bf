// Package file implements package store with one file: a durable store for a single server, without a
// separate process.
//
// The keys are in memory, where store/memory serves all reads and watches. A commit becomes visible, and its
// write returns, after it has been written to the file and synced to the disk. Concurrent writers share one
// sync. The file is a log; when most of it is obsolete it is rewritten in the background while writes
// continue.
//
// Beyond the contract of package store: Open finds every acknowledged write, whatever ended the process or
// the machine, as long as the disk keeps what it has synced. A commit that a crash left half written was not
// acknowledged and is truncated. A file damaged in any other way is refused with a [*CorruptError]; nothing
// is dropped silently. Revisions continue where they were, and watches can continue from revisions since the
// last rewrite of the file.
//
// One process at a time may have a directory open. Disk errors are final: from then on the store serves reads
// and refuses writes with *store.UnavailableError, until it is opened again.
package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/memory"
)

// Options configure a Store. The zero value is useful.
type Options struct {
	// Memory bounds the history and the size of writes. Its Journal is set by this package.
	Memory memory.Options
	// RewriteBytes is the smallest size, in bytes, at which the file is rewritten. It is rewritten when it is
	// also twice as large as after the last rewrite. Zero means 64 MiB.
	RewriteBytes int64
	// NoSync leaves it to the operating system when commits reach the disk: an acknowledged write survives a
	// crash of the process, but not one of the machine, after which the last writes may be lost or the file
	// may be refused as damaged. It is for tests.
	NoSync bool
	// Logger receives failed rewrites, which are retried later, and truncations after a crash. Nil discards.
	Logger *slog.Logger
}

// Store is a store.Store in a directory.
type Store struct {
	*memory.Store
	journal   *journal
	lock      *os.File
	rewriting sync.WaitGroup
	once      sync.Once
	err       error // of Close
}

var _ store.Store = (*Store)(nil)

// The files in a directory.
const (
	dataName = "keelson.log"
	newName  = "keelson.log.new"
	lockName = "lock"
)

// ErrInUse is returned by Open when another process, or another Store, has the directory open.
var ErrInUse = errors.New("file: the directory is in use by another store")

// Open opens the store in a directory, which is made if it does not exist. Errors: ErrInUse, *CorruptError,
// and those of the file system.
func Open(dir string, opts Options) (*Store, error) {
	if opts.RewriteBytes <= 0 {
		opts.RewriteBytes = 64 << 20
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	s, err := open(dir, opts)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	s.lock = lock
	return s, nil
}

func open(dir string, opts Options) (*Store, error) {
	path := filepath.Join(dir, dataName)
	// An unfinished rewrite is of no use.
	if err := os.Remove(filepath.Join(dir, newName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	c, err := read(f, path)
	if err == nil {
		err = trim(f, dir, c, opts.Logger)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	s := &Store{}
	s.journal = &journal{dir: dir, file: f, id: c.id, size: c.end, least: opts.RewriteBytes, noSync: opts.NoSync, base: c.snapshotEnd, last: c.revision, synced: c.revision,
		ended: make(chan struct{}), log: opts.Logger}
	s.journal.full = func() { s.rewriting.Go(s.rewrite) }
	opts.Memory.Journal = s.journal
	s.Store = memory.Restore(c.snapshot, c.all, c.entries, opts.Memory)
	return s, nil
}

// trim truncates what a crash left half written, and begins a new file if it is empty.
func trim(f *os.File, dir string, c *contents, log *slog.Logger) error {
	size, err := f.Seek(0, 2)
	if err != nil {
		return err
	}
	if size > c.end {
		log.Warn("truncating a write that a crash interrupted", "file", f.Name(), "bytes", size-c.end)
		if err := f.Truncate(c.end); err != nil {
			return err
		}
	}
	if c.end == 0 {
		var start []byte
		start, c.id = newStart()
		if _, err := f.WriteAt(start, 0); err != nil {
			return err
		}
		c.end, c.snapshotEnd = startBytes, startBytes
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if _, err := f.Seek(c.end, 0); err != nil {
		return err
	}
	return syncDir(dir)
}

// rewrite replaces the file by one with the current state and the commits since.
func (s *Store) rewrite() {
	err := s.journal.rewrite(func() (memory.Snapshot, error) {
		// A transaction without operations waits until all commits so far are visible.
		_, err := s.Txn(context.Background(), nil, nil)
		return s.Snapshot(), err
	})
	if err != nil && !errors.Is(err, store.ErrClosed) {
		s.journal.log.Error("rewriting the store's file failed, retrying when it has grown further", "err", err)
	}
}

// Size implements store.Sized: the bytes of the file.
func (s *Store) Size(ctx context.Context) (int64, error) {
	if _, err := s.Progress(ctx, ""); err != nil { // closed, or ctx has ended
		return 0, err
	}
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return s.journal.size, nil
}

// Close implements store.Store. It may be called more than once.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.err = s.Store.Close()
		s.journal.stop()
		s.rewriting.Wait()
		s.err = errors.Join(s.err, s.journal.close(), s.lock.Close())
	})
	return s.err
}

// CorruptError is returned by Open when a file is damaged in a way that a crash does not explain.
type CorruptError struct {
	Path   string
	Offset int64
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("file: %s is damaged at byte %d: %s; restore it from a copy", e.Path, e.Offset, e.Reason)
}
