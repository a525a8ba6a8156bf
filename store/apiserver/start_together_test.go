package apiserver_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
)

// TestServersStartSideBySide starts many servers over one store at once: each becomes ready.
func TestServersStartSideBySide(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			st := memory.New(memory.Options{})
			defer st.Close()
			ctx, stop := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			var servers []*apiserver.Server
			ended := make(chan error, 8)
			for range 8 {
				s, err := apiserver.New(apiserver.Options{Store: st, StartHook: controlplane.Bookkeeping(controlplane.BookkeepingOptions{})})
				require.NoError(t, err)
				servers = append(servers, s)
				wg.Go(func() { ended <- s.Run(ctx) })
			}
			for _, s := range servers {
				select {
				case <-s.Ready():
				case err := <-ended:
					require.FailNow(t, "a server ended before it was ready", "%v", err)
				}
			}
			stop()
			wg.Wait()
		})
	}
}
