package kubelet_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// write makes a file of so many bytes below the kubelet's directory.
func (r *rig) write(path string, size int) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.opts.RootDir, path), bytes.Repeat([]byte("x"), size), 0o600))
}

// A container that writes a lot keeps so many files of so many bytes, the older ones compressed, and a client
// that follows its log misses no line.
func TestLogsAreRotated(t *testing.T) {
	var p port
	bubble(t, func(r *rig) {
		p.open(r)
		r.rt.Logs = true
		r.opts.Logs.MaxSize, r.opts.Logs.MaxFiles = 2000, 3
	}, func(r *rig) {
		pod := r.pod("web", nil, "a")
		time.Sleep(2 * time.Second)
		r.allow("reader", []string{"get", "create"}, "nodes/proxy", "nodes/log", "nodes/stats", "nodes/metrics")
		time.Sleep(time.Second) // the server learns of it
		follower := make(chan string, 1)
		reader := p.user("reader")
		go func() {
			_, text := reader.do("GET", "/containerLogs/default/web/a?follow=true")
			follower <- text
		}()
		time.Sleep(time.Second)
		var want strings.Builder
		for i := range 600 {
			require.NoError(t, r.rt.Print("web", "a", fmt.Sprintf("line %d", i)))
			fmt.Fprintf(&want, "line %d\n", i)
			time.Sleep(200 * time.Millisecond)
		}
		dir := filepath.Join(r.opts.LogDir, "default_web_"+string(pod.UID), "a")
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 3)
		require.Equal(t, "0.log", entries[0].Name())
		require.True(t, strings.HasSuffix(entries[1].Name(), ".gz"), entries[1].Name())
		require.False(t, strings.HasSuffix(entries[2].Name(), ".gz"), entries[2].Name())
		require.Contains(t, unzip(t, filepath.Join(dir, entries[1].Name())), "stdout F line ")

		links, err := filepath.Glob(filepath.Join(filepath.Dir(r.opts.LogDir), "containers", "web_default_a-*.log"))
		require.NoError(t, err)
		require.Len(t, links, 1)
		target, err := os.Readlink(links[0])
		require.NoError(t, err)
		require.Equal(t, filepath.Join(dir, "0.log"), target)

		r.delete("web", 1)
		require.Equal(t, want.String(), <-follower)
		time.Sleep(5 * time.Second)
		_, err = os.Lstat(links[0])
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}

// The link to a log file outlives the moment at which the file has been renamed and the new one is not there.
func TestALogLinkOutlivesARotation(t *testing.T) {
	bubble(t, func(r *rig) {
		r.rt.Logs = true
		r.opts.Logs.MaxSize = -1 // no rotation but the test's
	}, func(r *rig) {
		pod := r.pod("web", nil, "a")
		time.Sleep(2 * time.Second)
		links, err := filepath.Glob(filepath.Join(filepath.Dir(r.opts.LogDir), "containers", "web_default_a-*.log"))
		require.NoError(t, err)
		require.Len(t, links, 1)
		path := filepath.Join(r.opts.LogDir, "default_web_"+string(pod.UID), "a", "0.log")
		rotated := path + ".20000101-000000"
		require.NoError(t, os.Rename(path, rotated))
		time.Sleep(2 * time.Minute)
		_, err = os.Lstat(links[0])
		require.NoError(t, err)

		require.NoError(t, os.Remove(rotated))
		time.Sleep(2 * time.Minute)
		_, err = os.Lstat(links[0])
		require.ErrorIs(t, err, os.ErrNotExist, "no log is left")
	})
}

func unzip(t *testing.T, path string) string {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(b)
}

// When the runtime cannot open the new file, the container's log stays where it is.
func TestARotationThatFailsLosesNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		r.rt.Logs = true
		r.opts.Logs.MaxSize = 100
		r.rt.Fail = func(method string) error {
			if method == "ReopenContainerLog" {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
	}, func(r *rig) {
		pod := r.pod("web", nil, "a")
		time.Sleep(2 * time.Second)
		for i := range 50 {
			require.NoError(t, r.rt.Print("web", "a", fmt.Sprintf("line %d", i)))
			time.Sleep(time.Second)
		}
		b, err := os.ReadFile(filepath.Join(r.opts.LogDir, "default_web_"+string(pod.UID), "a", "0.log"))
		require.NoError(t, err)
		require.Equal(t, 50, bytes.Count(b, []byte("\n")))
	})
}
