package kubelet_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/stream"
)

// The agent talks to the server as its pod's service account. Two containers are read and forwarded to by the
// tests: one writes a line and fails, and in its second run, on a signal of the test, writes six lines in
// three seconds and ends well; the other serves ten files, and echoes.
const clientManifest = `
apiVersion: v1
kind: Pod
metadata: {name: agent}
spec:
  nodeName: node1
  hostNetwork: true
  terminationGracePeriodSeconds: 2
  containers:
  - name: agent
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [/agent/agent]
    env: [{name: KUBERNETES_SERVICE_HOST, value: 127.0.0.1}, {name: KUBERNETES_SERVICE_PORT, value: "SERVERPORT"}]
    volumeMounts: [{name: agent, mountPath: /agent}]
  volumes: [{name: agent, hostPath: {path: AGENTDIR}}]
---
apiVersion: v1
kind: Pod
metadata: {name: served}
spec:
  nodeName: node1
  restartPolicy: OnFailure
  terminationGracePeriodSeconds: 1
  containers:
  - name: lines
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "[ -e /shared/second ] || { touch /shared/second; echo first run; exit 1; }; until [ -e /shared/go ]; do sleep 0.1; done; for i in 1 2 3 4 5 6; do echo line $i; sleep 0.5; done"]
    volumeMounts: [{name: shared, mountPath: /shared}]
  - name: files
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "mkdir /www; for i in 0 1 2 3 4 5 6 7 8 9; do head -c 1048576 /dev/urandom > /www/$i; done; echo files are made; httpd -p 8090 -h /www; exec nc -ll -p 9000 -e cat"]
  volumes: [{name: shared, emptyDir: {}}]
`

// applyClientPods starts the pods of clientManifest, once.
func (n *realNode) applyClientPods(t *testing.T) {
	n.t = t
	if n.hasClients {
		return
	}
	n.hasClients = true
	dir := os.Getenv("KEELSON_AGENT") // where it was built before, on a machine without Go
	if dir == "" {
		dir = filepath.Join(n.dir, "agent")
		build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "agent"), "./testdata/agent")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	server, err := url.Parse(n.conn.Host())
	require.NoError(t, err)
	n.apply(strings.NewReplacer("AGENTDIR", dir, "SERVERPORT", server.Port()).Replace(clientManifest))
}

var bothProtocols = map[string]stream.Protocol{"websocket": stream.WebSocket, "spdy": stream.SPDY}

var servedPod = types.NamespacedName{Namespace: "default", Name: "served"}

// testClientStreams uses package client/stream on real containers.
func (n *realNode) testClientStreams(t *testing.T) {
	n.applyClientPods(t)
	n.until("the files", has("files are made"), "logs", "served", "-c", "files")
	for name, protocol := range bothProtocols {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var out, errs bytes.Buffer
			in := strings.Repeat("0123456789", 30_000)
			err := stream.Exec(ctx, n.conn, servedPod, stream.Options{Container: "files", Command: []string{"sh", "-c", "cat; echo done >&2; exit 7"},
				Stdin: strings.NewReader(in), Stdout: &out, Stderr: &errs, Protocol: protocol})
			exit, ok := errors.AsType[*stream.ExitError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, 7, exit.Code)
			require.Equal(t, in, out.String())
			require.Equal(t, "done\n", errs.String())
			out.Reset()
			sizes := make(chan stream.Size, 1)
			sizes <- stream.Size{Width: 132, Height: 43}
			require.NoError(t, stream.Exec(ctx, n.conn, servedPod, stream.Options{Container: "files", TTY: true, Sizes: sizes, Stdout: &out, Protocol: protocol,
				Command: []string{"sh", "-c", "until [ \"$(stty size 2>/dev/null)\" = '43 132' ]; do sleep 0.05; done; echo as wished"}}))
			require.Equal(t, "as wished\r\n", out.String())

			f, err := stream.Forward(ctx, n.conn, servedPod, protocol)
			require.NoError(t, err)
			defer f.Close()
			n.testTenDownloads(t, ctx, f)
			conn, err := f.Dial(ctx, 9000)
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, in)
			require.NoError(t, err)
			require.NoError(t, conn.(interface{ CloseWrite() error }).CloseWrite())
			echo, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.Equal(t, in, string(echo), "what was sent before the half close")
			dead, err := f.Dial(ctx, 9)
			require.NoError(t, err)
			defer dead.Close()
			_, err = dead.Read(make([]byte, 1))
			refused, ok := errors.AsType[*stream.PortError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, 9, refused.Port)
		})
	}
}

// testTenDownloads reads ten files of a megabyte at once and compares them with what the container says of
// them.
func (n *realNode) testTenDownloads(t *testing.T, ctx context.Context, f *stream.Forwarder) {
	var sums bytes.Buffer
	require.NoError(t, stream.Exec(ctx, n.conn, servedPod, stream.Options{Container: "files", Stdout: &sums, Command: []string{"sh", "-c", "cd /www; md5sum *"}}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- f.Serve(l, 8090) }()
	transport := &http.Transport{DisableKeepAlives: true}
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			resp, err := (&http.Client{Transport: transport}).Get(fmt.Sprintf("http://%s/%d", l.Addr(), i))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			sum := md5.New()
			size, err := io.Copy(sum, resp.Body)
			if want := fmt.Sprintf("%s  %d\n", hex.EncodeToString(sum.Sum(nil)), i); err != nil || size != 1<<20 || !strings.Contains(sums.String(), want) {
				t.Errorf("file %d: %d bytes, %v, %q is not in\n%s", i, size, err, want, sums.String())
			}
		})
	}
	wg.Wait()
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-served, net.ErrClosed)
}

// testClientLogs reads what containers have written, in every way.
func (n *realNode) testClientLogs(t *testing.T) {
	n.applyClientPods(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	n.until("the second run", is("1"), "get", "pod", "served", "-o", `jsonpath={.status.containerStatuses[?(@.name=="lines")].restartCount}`)
	read := func(opts stream.LogOptions) (lines []string) {
		t.Helper()
		if opts.Container == "" {
			opts.Container = "lines"
		}
		for line, err := range stream.LogLines(ctx, n.conn, servedPod, opts) {
			require.NoError(t, err)
			lines = append(lines, line)
		}
		return lines
	}
	all := []string{"line 1", "line 2", "line 3", "line 4", "line 5", "line 6"}
	require.Equal(t, []string{"first run"}, read(stream.LogOptions{Previous: true}))
	require.Empty(t, read(stream.LogOptions{}))
	started := make(chan error, 1)
	go func() {
		started <- stream.Exec(ctx, n.conn, servedPod, stream.Options{Container: "lines", Command: []string{"touch", "/shared/go"}, Stdout: io.Discard})
	}()
	require.Equal(t, all, read(stream.LogOptions{Follow: true}), "followed to the container's end")
	require.NoError(t, <-started)
	require.Equal(t, all, read(stream.LogOptions{}))
	require.Equal(t, all[4:], read(stream.LogOptions{Tail: new(int64(2))}))
	require.Empty(t, read(stream.LogOptions{Tail: new(int64)}))
	require.Equal(t, []string{"line 1", "lin"}, read(stream.LogOptions{LimitBytes: 10}))
	require.Equal(t, all, read(stream.LogOptions{Since: time.Hour}))
	require.Equal(t, all, read(stream.LogOptions{Stream: "Stdout"}))
	require.Empty(t, read(stream.LogOptions{Stream: "Stderr"}))
	stamped := read(stream.LogOptions{Timestamps: true})
	require.Len(t, stamped, len(all))
	var at []time.Time
	for i, line := range stamped {
		stamp, rest, _ := strings.Cut(line, " ")
		require.Equal(t, all[i], rest)
		when, err := time.Parse(time.RFC3339Nano, stamp)
		require.NoError(t, err)
		at = append(at, when)
	}
	// A time is sent in whole seconds.
	since := at[3].Truncate(time.Second)
	want := all
	for len(want) > 0 && at[len(all)-len(want)].Before(since) {
		want = want[1:]
	}
	require.Equal(t, want, read(stream.LogOptions{SinceTime: at[3]}))
	require.Less(t, len(want), len(all), "the lines take three seconds")
	// All containers, as an author reads them: one after the other.
	pod, err := client.For[*corev1.Pod](n.conn).Get(ctx, servedPod)
	require.NoError(t, err)
	var every []string
	for _, c := range pod.Spec.Containers {
		every = append(every, read(stream.LogOptions{Container: c.Name})...)
	}
	require.Equal(t, append(all, "files are made"), every)
}

// testInCluster restarts the kubelet, which gives pods new tokens, under a program that talks to the server
// from its pod.
func (n *realNode) testInCluster(t *testing.T) {
	n.applyClientPods(t)
	said := func(times int) func(string) bool {
		return func(log string) bool { return strings.Count(log, "system:serviceaccount:default:default[") == times }
	}
	n.until("the agent's word", said(1), "logs", "agent")
	n.stop()
	n.stop = n.startKubelet(false)
	n.until("its word by another token", said(2), "logs", "agent")
	if n.kubectl("get", "pod", "agent", "-o", "jsonpath={.status.containerStatuses[0].restartCount}") != "0" {
		require.Fail(t, "the agent has ended", n.kubectl("logs", "agent", "--previous"))
	}
	n.kubectl("delete", "pod", "agent", "served", "--grace-period=1", "--wait=true", "--timeout="+patience.String())
}
