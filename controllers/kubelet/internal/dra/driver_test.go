package dra

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A driver that is connected again at the very moment when it would have been away for too long is not lost.
func TestADriverThatComesBackAtTheLastMoment(t *testing.T) {
	for range 500 { // what happens first of the two varies
		synctest.Test(t, func(t *testing.T) {
			lost := false
			one := &driver{name: "d"}
			d := &drivers{byName: map[string][]*driver{"d": {one}}, lost: map[string]*time.Timer{},
				hooks: Hooks{Lost: func(string) { lost = true }, Found: func(string) { lost = false }}}
			d.settle("d")
			time.Sleep(wipeDelay)
			d.mu.Lock()
			one.connected = true
			d.mu.Unlock()
			d.settle("d")
			synctest.Wait()
			require.False(t, lost)

			d.mu.Lock()
			one.connected = false
			d.mu.Unlock()
			d.settle("d")
			time.Sleep(wipeDelay)
			synctest.Wait()
			require.True(t, lost)
		})
	}
}
