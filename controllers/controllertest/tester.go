package controllertest

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// tester is the part of testing.TB that a Cluster uses.
type tester interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
	TempDir() string
}

// untested is the tester of clusters without a test.
type untested struct {
	mu   sync.Mutex
	errs []error
	logs []string
	dirs []string
}

// Helper implements tester.
func (u *untested) Helper() {}

// Logf implements tester: what a failed cluster logs becomes part of the error of Close.
func (u *untested) Logf(format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.logs = append(u.logs, fmt.Sprintf(format, args...))
}

// Errorf implements tester: the error is returned by Close.
func (u *untested) Errorf(format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.errs = append(u.errs, fmt.Errorf(format, args...))
}

// Fatalf implements tester. A test framework that calls a method in a test reports the panic as its failure.
func (u *untested) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Failed implements tester.
func (u *untested) Failed() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.errs) > 0
}

// TempDir implements tester.
func (u *untested) TempDir() string {
	dir, err := os.MkdirTemp("", "controllertest")
	if err != nil {
		panic(fmt.Sprintf("controllertest: %v", err))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dirs = append(u.dirs, dir)
	return dir
}

// close removes the directories and returns the errors.
func (u *untested) close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	errs := u.errs
	for _, text := range u.logs {
		errs = append(errs, errors.New(text))
	}
	for _, dir := range u.dirs {
		errs = append(errs, os.RemoveAll(dir))
	}
	u.dirs = nil
	return errors.Join(errs...)
}
