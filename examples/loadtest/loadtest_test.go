package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
)

// TestPhases runs every phase against a real server and expects all its operations to succeed.
func TestPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{TLS: true})
		c, err := parse([]string{"--objects=60", "--clients=8", "--lists=4", "--watchers=10", "--events=5"})
		require.NoError(t, err)
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		require.NoError(t, err)
		defer null.Close()
		l := &load{config: c, conns: []client.Conn{s.Conn(t, rest.Options{}), s.Conn(t, rest.Options{})}, progress: newProgress(null)}
		require.NoError(t, l.prepare(t.Context()))
		require.ErrorContains(t, l.prepare(t.Context()), "exists already")
		results, err := l.run(t.Context())
		require.NoError(t, err)
		require.Len(t, results, len(phases))
		for _, r := range results {
			require.NoError(t, r.first, r.phase)
			want := map[string]int{"list": 4, "list-protobuf": 4, "list-label": 4, "watch": 50}[r.phase]
			if want == 0 {
				want = 60
			}
			require.Len(t, r.times, want, r.phase)
		}
		require.NoError(t, l.cleanUp())
		var out bytes.Buffer
		printTable(&out, results)
		require.Equal(t, len(phases)+1, strings.Count(out.String(), "\n"), out.String())
	})
}

func TestPodIsOfTheSizeOfRealOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		conn := s.Conn(t, rest.Options{})
		c, err := parse(nil)
		require.NoError(t, err)
		l := &load{config: c, conns: []client.Conn{conn}}
		require.NoError(t, phases[0].do(t.Context(), l, conn, 1))
		resp, err := conn.Do(t.Context(), &client.Request{Path: "/api/v1/namespaces/loadtest/pods/pod-1"})
		require.NoError(t, err)
		require.InDelta(t, 5000, len(resp.Body), 1500, "with defaults and managed fields")
	})
}

func TestPercentile(t *testing.T) {
	var r result
	require.Zero(t, r.percentile(50))
	for i := range 100 {
		r.times = append(r.times, time.Duration(i+1)*time.Millisecond)
	}
	require.Equal(t, 50*time.Millisecond, r.percentile(50))
	require.Equal(t, 99*time.Millisecond, r.percentile(99))
	require.Equal(t, 100*time.Millisecond, r.percentile(100))
	r.times = r.times[:1]
	require.Equal(t, time.Millisecond, r.percentile(50))
}

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--objects=0":         "--objects",
		"--phases=create,fly": `no phase is called "fly"`,
		"--apply-changes=101": "no percentage",
		"--pid=999999999":     "process 999999999",
		"--wrong":             "unknown flag",
		"stray":               `unexpected argument "stray"`,
	} {
		_, err := parse([]string{args})
		require.ErrorContains(t, err, want)
	}
	_, err := parse([]string{"--help"})
	require.ErrorIs(t, err, pflag.ErrHelp)
}

func TestUsage(t *testing.T) {
	u, err := usageOf(os.Getpid())
	if os.IsNotExist(err) {
		t.Skip("no /proc here")
	}
	require.NoError(t, err)
	require.Greater(t, u.resident, int64(1<<20))
}
