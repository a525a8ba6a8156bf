package load

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
)

// TestPhases runs every phase against a real server and expects all its operations to succeed.
func TestPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{TLS: true})
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		require.NoError(t, err)
		defer null.Close()
		l := New([]client.Conn{s.Conn(t, rest.Options{}), s.Conn(t, rest.Options{})},
			Options{Namespace: "loadtest", Objects: 60, Clients: 8, Lists: 4, Watchers: 10, Events: 5, Changes: 10, Progress: null})
		require.NoError(t, l.Prepare(t.Context()))
		require.ErrorContains(t, l.Prepare(t.Context()), "exists already")
		results, err := l.Run(t.Context(), Names())
		require.NoError(t, err)
		require.Len(t, results, len(phases))
		for _, r := range results {
			require.NoError(t, r.First, r.Phase)
			want := map[string]int{"list": 4, "list-protobuf": 4, "list-label": 4, "watch": 50}[r.Phase]
			if want == 0 {
				want = 60
			}
			require.Len(t, r.Times, want, r.Phase)
		}
		require.NoError(t, l.CleanUp(t.Context()))
		var out bytes.Buffer
		PrintTable(&out, results)
		require.Equal(t, len(phases)+1, strings.Count(out.String(), "\n"), out.String())
	})
}

func TestPodIsOfTheSizeOfRealOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		conn := s.Conn(t, rest.Options{})
		_, err := client.For[*corev1.Pod](conn).Create(t.Context(), Pod("loadtest", 1))
		require.NoError(t, err)
		resp, err := conn.Do(t.Context(), &client.Request{Path: "/api/v1/namespaces/loadtest/pods/pod-1"})
		require.NoError(t, err)
		require.InDelta(t, 3500, len(resp.Body), 600, "with defaults and managed fields")
	})
}

func TestPercentile(t *testing.T) {
	var r Result
	require.Zero(t, r.Percentile(50))
	for i := range 100 {
		r.Times = append(r.Times, time.Duration(i+1)*time.Millisecond)
	}
	require.Equal(t, 50*time.Millisecond, r.Percentile(50))
	require.Equal(t, 99*time.Millisecond, r.Percentile(99))
	require.Equal(t, 100*time.Millisecond, r.Percentile(100))
	r.Times = r.Times[:1]
	require.Equal(t, time.Millisecond, r.Percentile(50))
}

func TestUsage(t *testing.T) {
	u, err := UsageOf(os.Getpid())
	if os.IsNotExist(err) {
		t.Skip("no /proc here")
	}
	require.NoError(t, err)
	require.Greater(t, u.Resident, int64(1<<20))
}
