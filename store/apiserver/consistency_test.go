package apiserver_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

// A store that loses an event misleads clients for minutes, not forever: they get 410 and list again, and
// what they list is right.
func TestLostEventIsRecovered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lose atomic.Bool
		st := storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{
			Drop: func(prefix string, _ store.Event) bool { return prefix == "/configmaps/" && lose.Load() },
		})
		defer st.Close()
		s := start(t, apiserver.Options{Store: st})
		defer s.stop() // before the store
		s.do("POST", configMaps, configMap("a")).ok(201)
		s.do("POST", configMaps, configMap("lost")).ok(201)
		w := s.watch(configMaps + "?watch=1")
		w.expect("ADDED", "a")
		w.expect("ADDED", "lost")
		lose.Store(true)
		s.do("DELETE", configMaps+"/lost", nil).ok(200)
		synctest.Wait()
		lose.Store(false)
		s.do("POST", configMaps, configMap("b")).ok(201)
		w.expect("ADDED", "b")
		require.Equal(t, []string{"a", "b", "lost"}, s.do("GET", configMaps, nil).ok(200).names(), "the loss has not been noticed yet")
		s.do("GET", configMaps+"/lost", nil).ok(404) // read from the store

		began := time.Now()
		e := w.next()
		require.Equal(t, "ERROR", e.str("type"))
		require.Equal(t, "Expired", e.str("object.reason"))
		require.Less(t, time.Since(began), 8*time.Minute)
		for _, query := range []string{"", "?resourceVersion=0", "?limit=5"} {
			require.Equal(t, []string{"a", "b"}, s.do("GET", configMaps+query, nil).ok(200).names(), query)
		}
	})
}
