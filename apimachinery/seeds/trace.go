package seeds

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// traceVariable names an existing folder for the traces of tests. Two runs of a test with the same seeds have
// equal traces, or the test does not replay: it depends on something other than its seed.
const traceVariable = "KEELSON_TRACE"

// traced is what the tests of this process have done with their seeds.
var traced struct {
	mu         sync.Mutex
	generators []*counted
	draws      []*Draws
	lines      []string
}

// counted is a source of random numbers that counts them.
type counted struct {
	rand.Source
	name string
	n    atomic.Int64
}

// Uint64 implements rand.Source.
func (c *counted) Uint64() uint64 {
	c.n.Add(1)
	return c.Source.Uint64()
}

// tracing reports whether traces are written.
func tracing() bool { return os.Getenv(traceVariable) != "" }

// source returns the source of a seed for the function that called the caller.
func source(seed, stream uint64) rand.Source {
	s := rand.NewPCG(seed, stream)
	if !tracing() {
		return s
	}
	at := "?"
	if pc, _, line, ok := runtime.Caller(2); ok {
		at = fmt.Sprintf("%s:%d", runtime.FuncForPC(pc).Name(), line)
	}
	c := &counted{Source: s, name: fmt.Sprintf("%s seed %d, %d", at, seed, stream)}
	traced.mu.Lock()
	defer traced.mu.Unlock()
	traced.generators = append(traced.generators, c)
	return c
}

// Record adds to the trace of a seed what has happened, which must be the same whenever the seed is tried.
// name says to what, such as the name of the test. With KEELSON_TRACE=DIR, every test that calls [Of],
// [PerKind] or [Slow] writes its trace to DIR when it ends: how many numbers each of its generators drew, and
// what was recorded. Otherwise Record does not call what.
func Record(name string, seed uint64, what func() string) {
	if !tracing() {
		return
	}
	line := fmt.Sprintf("%s seed %d: %s", name, seed, what())
	traced.mu.Lock()
	defer traced.mu.Unlock()
	traced.lines = append(traced.lines, line)
}

// traceAtEnd writes the trace when a test ends. caller is the depth of the test's call in the stack.
func traceAtEnd(t testing.TB, caller int) {
	if !tracing() {
		return
	}
	pkg := "?"
	if pc, _, _, ok := runtime.Caller(caller + 1); ok {
		name := runtime.FuncForPC(pc).Name()
		slash := strings.LastIndex(name, "/")
		dot := strings.Index(name[slash+1:], ".")
		pkg = strings.NewReplacer("/", "_").Replace(name[:slash+1+dot])
	}
	file := filepath.Join(os.Getenv(traceVariable), pkg)
	t.Cleanup(func() {
		if err := os.WriteFile(file, []byte(strings.Join(trace(), "\n")+"\n"), 0o644); err != nil {
			t.Errorf("%s: %v", traceVariable, err)
		}
	})
}

// trace returns the lines of the trace so far, sorted, because tests run side by side.
func trace() []string {
	traced.mu.Lock()
	defer traced.mu.Unlock()
	lines := slices.Clone(traced.lines)
	for _, g := range traced.generators {
		lines = append(lines, fmt.Sprintf("%s: %d numbers", g.name, g.n.Load()))
	}
	for _, d := range traced.draws {
		lines = append(lines, d.trace()...)
	}
	slices.Sort(lines)
	return lines
}
