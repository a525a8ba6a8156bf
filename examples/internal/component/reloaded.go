package component

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
)

// ReloadEvery is how often files are read again, at most.
const ReloadEvery = time.Second

// replaceGap is the time between attempts to put a configuration in force.
const replaceGap = 10 * time.Second

// Reloaded is a value computed from files, and again when they have changed. After an error the previous
// value stays in use, because a certificate and its key are not replaced at the same moment. Safe for
// concurrent use.
type Reloaded[T any] struct {
	files []string
	parse func(contents [][]byte) (T, error)
	log   *slog.Logger
	read  func(changed bool, err error) // called after each reading of the files but the first; may be nil

	first  *T // the value of the start
	value  atomic.Pointer[T]
	looked atomic.Int64 // Unix nanoseconds
	mu     sync.Mutex   // guards what follows
	seen   [][]byte
	failed string // the error that was logged last
}

// Reload reads the files for the first time. parse gets their contents, in order.
func Reload[T any](log *slog.Logger, parse func([][]byte) (T, error), files ...string) (*Reloaded[T], error) {
	r := &Reloaded[T]{files: files, parse: parse, log: log}
	err := r.load()
	r.first = r.value.Load()
	return r, err
}

// Unchanging is a value that is in no file.
func Unchanging[T any](value T) *Reloaded[T] {
	r := &Reloaded[T]{first: &value, seen: [][]byte{}}
	r.value.Store(&value)
	return r
}

// First returns the value of the start.
func (r *Reloaded[T]) First() T { return *r.first }

// Get returns the value of the current files, as of a second ago at most.
func (r *Reloaded[T]) Get() T {
	now, last := time.Now().UnixNano(), r.looked.Load()
	if time.Duration(now-last) >= ReloadEvery && r.looked.CompareAndSwap(last, now) {
		r.refresh()
	}
	return *r.value.Load()
}

// Hash returns the SHA-256 of the contents that Get computes its value from, as "sha256:" and hexadecimal
// digits.
func (r *Reloaded[T]) Hash() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("sha256:%x", sha256.Sum256(bytes.Join(r.seen, nil)))
}

// refresh loads the files again. An error is logged once.
func (r *Reloaded[T]) refresh() {
	before := r.value.Load()
	err := r.load()
	if r.read != nil {
		r.read(r.value.Load() != before, err)
	}
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

// failure is the error of the last attempt to read the files; empty if it had none.
func (r *Reloaded[T]) failure() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Follow calls apply with every new value until ctx ends, and changed with each outcome, and with each
// failure to read the files. While apply reports that another attempt may succeed, it is called again after
// replaceGap.
func (r *Reloaded[T]) Follow(ctx context.Context, apply func(context.Context, T) (again bool, err error), changed func(error)) {
	used, tried, failed, retry := r.first, r.first, "", time.Time{}
	_ = backoff.Poll(ctx, ReloadEvery, func(ctx context.Context) (bool, error) { // ends with ctx
		r.Get()
		now := r.value.Load()
		if text := r.failure(); text != failed {
			if failed = text; text != "" {
				changed(errors.New(text))
			}
		}
		if now == used || now == tried && time.Now().Before(retry) {
			return false, nil
		}
		again, err := apply(ctx, *now)
		if err != nil {
			r.log.Error("files have changed and cannot be used", "files", r.files, "err", err)
		}
		if !again {
			used = now
		}
		tried, retry = now, time.Now().Add(replaceGap)
		changed(err)
		return false, nil
	})
}

// load reads the files, and computes the value again if they have changed.
func (r *Reloaded[T]) load() error {
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
