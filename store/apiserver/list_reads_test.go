package apiserver_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/memory"
)

// silent is a store that cannot report progress, like an old etcd.
type silent struct{ store.Store }

func (silent) Capabilities() store.Capabilities { return store.Capabilities{} }

// A list that starts its cache reads the objects once, and consistent lists after it read what has changed,
// even over a store that cannot report progress.
func TestListsReadOnlyWhatChanged(t *testing.T) {
	mem := memory.New(memory.Options{})
	first := start(t, apiserver.Options{Store: mem})
	for i := range 20 {
		first.do("POST", configMaps, configMap(fmt.Sprintf("c%02d", i))).ok(201)
	}
	var read, since atomic.Int64
	second := start(t, apiserver.Options{Store: reading{silent{mem}, &read, &since}})
	require.Len(t, second.do("GET", configMaps, nil).ok(200).items(), 20)
	require.EqualValues(t, 20, read.Load(), "once each")
	for i := range 5 {
		first.do("POST", configMaps, configMap(fmt.Sprintf("d%02d", i))).ok(201)
		require.Len(t, second.do("GET", configMaps, nil).ok(200).items(), 21+i)
	}
	require.EqualValues(t, 20, read.Load(), "never again")
	require.LessOrEqual(t, since.Load(), int64(5+4+3+2+1))
	before := since.Load()
	for range 5 {
		require.Len(t, second.do("GET", configMaps, nil).ok(200).items(), 25)
	}
	require.Equal(t, before, since.Load(), "nothing has changed")
}

// reading is a store that counts the config maps its lists return.
type reading struct {
	silent
	all, since *atomic.Int64
}

func (r reading) List(ctx context.Context, prefix string, o store.ListOptions) (store.ListResult, error) {
	list, err := r.silent.List(ctx, prefix, o)
	if prefix == "/configmaps/" {
		if o.Since == 0 {
			r.all.Add(int64(len(list.Items)))
		} else {
			r.since.Add(int64(len(list.Items)))
		}
	}
	return list, err
}
