package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// reloadEvery is how often files are read again, at most.
const reloadEvery = time.Second

// reloaded is what is made of files, made again when they have changed. What cannot be read or used changes
// nothing: a certificate and its key are not replaced in one moment. Safe for concurrent use.
type reloaded[T any] struct {
	files []string
	parse func(contents [][]byte) (T, error)
	log   *slog.Logger

	value  atomic.Pointer[T]
	looked atomic.Int64 // Unix nanoseconds
	mu     sync.Mutex   // guards what follows
	seen   [][]byte
	failed string // the error that was logged last
}

// newReloaded reads the files for the first time.
func newReloaded[T any](log *slog.Logger, parse func([][]byte) (T, error), files ...string) (*reloaded[T], error) {
	r := &reloaded[T]{files: files, parse: parse, log: log}
	return r, r.load()
}

// get returns what the files are now, as of a second ago at most.
func (r *reloaded[T]) get() T {
	now, last := time.Now().UnixNano(), r.looked.Load()
	if time.Duration(now-last) >= reloadEvery && r.looked.CompareAndSwap(last, now) {
		r.refresh()
	}
	return *r.value.Load()
}

// refresh loads the files again. An error is logged once.
func (r *reloaded[T]) refresh() {
	err := r.load()
	r.mu.Lock()
	defer r.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != r.failed {
		r.log.Error("files are not used as they are now", "files", r.files, "err", err)
	}
	r.failed = text
}

// load reads the files, and makes the value again if they have changed.
func (r *reloaded[T]) load() error {
	contents := make([][]byte, len(r.files))
	for i, file := range r.files {
		var err error
		if contents[i], err = os.ReadFile(file); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen != nil && equal(r.seen, contents) {
		return nil
	}
	value, err := r.parse(contents)
	if err != nil {
		return fmt.Errorf("%v: %w", r.files, err)
	}
	if r.seen != nil {
		r.log.Warn("files have changed and are in use", "files", r.files)
	}
	r.seen = contents
	r.looked.Store(time.Now().UnixNano())
	r.value.Store(&value)
	return nil
}

func equal(a, b [][]byte) bool {
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}
