package crd_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

// TestCyclesLeaveNothing installs and removes a definition with an object and a watch, again and again. In a
// bubble the goroutines that are left when all is idle can be counted.
func TestCyclesLeaveNothing(t *testing.T) {
	cycles := len(seeds.Of(t, 200)) // as many as a random test has histories
	synctest.Test(t, func(t *testing.T) {
		// The history of the store and the caches is bounded; here so tightly that it is negligible.
		s := memory.New(memory.Options{LogEvents: 64})
		defer s.Close()
		c := start(t, apiserver.Options{Store: s, Registry: registry.Options{Cache: cache.Options{EventLog: 64}}})
		c.do("GET", definitions, nil, 200)
		for range 50 { // what is made once, on first use
			c.cycle()
		}
		goroutines, heap := c.settled()
		for range cycles {
			c.cycle()
		}
		after, grown := c.settled()
		require.LessOrEqual(t, after, goroutines, "goroutines are left")
		t.Logf("%d goroutines before, %d after; %d bytes more per cycle", goroutines, after, (int64(grown)-int64(heap))/int64(cycles))
		require.Less(t, int64(grown)-int64(heap), int64(cycles)*perCycle+slack, "memory is left")
		require.Nil(t, c.Registry().Resource(widgetsGVR))
		require.Empty(t, at(c.do("GET", definitions, nil, 200), "items"))
	})
}

// perCycle is less than the size of anything that a cycle could leak: a schema, a cache, a compiled rule, a
// form of an object.
const perCycle = 1 << 10

// slack is the variation of the heap between two measurements.
const slack = 128 << 10

// settled waits until all is idle, long enough for the remaining work of a removed definition, and measures.
func (c *client) settled() (goroutines int, heap uint64) {
	time.Sleep(time.Hour)
	synctest.Wait()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), m.HeapAlloc
}

func (c *client) cycle() {
	c.t.Helper()
	c.do("POST", definitions, widget, 201)
	c.conditions("widgets.a.test", ready)
	c.do("POST", widgets, object("one", "{size: 2, color: red}"), 201)
	c.do("GET", widgets, nil, 200)
	c.do("GET", widgets+"?watch=true&timeoutSeconds=1", nil, 200)
	c.do("DELETE", definitions+"/widgets.a.test", nil, 200)
	for range 1000 {
		if c.Registry().Resource(widgetsGVR) == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatal("the definition is never removed")
}
