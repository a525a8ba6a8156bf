package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/load"
)

// TestHugeSelectorsBeside sends 48 lists of 2,000 objects, 24 at a time, each with a selector of 60 to 70 kB,
// to both servers. They must return the same objects; the log has the CPU time of each server and how long a
// small GET took meanwhile.
func TestHugeSelectorsBeside(t *testing.T) {
	const objects, lists, parallel = 2000, 48, 24
	const maps = "/api/v1/namespaces/default/configmaps"
	servers := map[string]*live{"kube-apiserver": startUpstream(t), "ours": startLive(t)}
	for _, l := range servers {
		for i := range objects {
			body := fmt.Sprintf(`{"metadata":{"name":"m%d","labels":{"app":"v%d","tier":"front","release":"stable"}}}`, i, 6990+i)
			require.Equal(t, http.StatusCreated, l.verdict("POST", maps, body).Code)
		}
	}
	for name, selector := range map[string]string{
		"values": "app notin (" + numbered("v%d", 7000) + ")", "requirements": numbered("app!=v%d", 7000), "keys": numbered("!k%d", 7000),
	} {
		found := map[string]int{}
		for server, l := range servers {
			before, err := load.UsageOf(l.cmd.Process.Pid)
			require.NoError(t, err)
			begun := time.Now()
			stop, small := make(chan struct{}), make(chan time.Duration, 1)
			go func() { small <- l.slowestGet(maps+"/m7", stop) }()
			count := make([]int, lists)
			var wg sync.WaitGroup
			for w := range parallel {
				wg.Go(func() {
					for i := w; i < lists; i += parallel {
						count[i] = l.countItems(maps + "?labelSelector=" + url.QueryEscape(selector))
					}
				})
			}
			wg.Wait()
			took := time.Since(begun)
			close(stop)
			slowest := <-small
			after, err := load.UsageOf(l.cmd.Process.Pid)
			require.NoError(t, err)
			for _, n := range count {
				require.Equal(t, count[0], n, "%s of %s", name, server)
			}
			found[server] = count[0]
			t.Logf("%-12s %-14s %5.1f CPU-s, %5.1f s, slowest small GET %v", name, server, (after.CPU - before.CPU).Seconds(), took.Seconds(), slowest.Round(time.Millisecond))
		}
		require.Equal(t, found["kube-apiserver"], found["ours"], name)
		require.NotZero(t, found["ours"], name)
	}
}

// countItems lists and returns the number of items, -1 after a failure.
func (l *live) countItems(path string) int {
	resp, err := l.http2.Do(l.request("admin", "GET", path, ""))
	if err != nil {
		l.t.Errorf("list: %v", err)
		return -1
	}
	defer resp.Body.Close()
	var list struct{ Items []struct{} }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || resp.StatusCode != http.StatusOK {
		l.t.Errorf("list: status %d, %v", resp.StatusCode, err)
		return -1
	}
	return len(list.Items)
}

// slowestGet requests path again and again until stop is closed, and returns how long the slowest request
// took.
func (l *live) slowestGet(path string, stop <-chan struct{}) (slowest time.Duration) {
	for {
		select {
		case <-stop:
			return slowest
		default:
		}
		begun := time.Now()
		resp, err := l.http2.Do(l.request("user", "GET", path, ""))
		if err != nil {
			l.t.Errorf("get: %v", err)
			return slowest
		}
		resp.Body.Close()
		slowest = max(slowest, time.Since(begun))
	}
}
