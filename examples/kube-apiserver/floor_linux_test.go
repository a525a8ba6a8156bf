package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/examples/internal/load"
	"github.com/keelson-dev/keelson/store/storetest"
)

// asFloor makes this test's binary a floor: the variable is the folder of its responses, the first argument
// its address.
const asFloor = "KEELSON_TEST_AS_FLOOR"

// floor measures the minimum cost of an API server: net/http with TLS and HTTP/2 that sends recorded
// responses of the real one, under the same load.
type floor struct {
	answers  map[string][]byte
	mu       sync.Mutex
	watchers map[chan []byte]struct{}
	events   [][]byte // so far, for watches that are opened later
}

// The recorded responses, each as .json and .proto.
const (
	onePod     = "pod"
	shortList  = "short" // of one pod
	wholeList  = "list"
	chosenPods = "label"
)

func serveFloor(dir, address string) error {
	f := &floor{answers: map[string][]byte{}, watchers: map[chan []byte]struct{}{}}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if f.answers[filepath.Base(file)], err = os.ReadFile(file); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s := httptest.NewUnstartedServer(f)
	s.Listener.Close()
	s.Listener = l
	s.EnableHTTP2 = true
	s.StartTLS()
	select {}
}

func (f *floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	proto := strings.HasPrefix(r.Header.Get("Accept"), "application/vnd.kubernetes.protobuf")
	query := r.URL.Query()
	what := onePod
	switch {
	case r.Method == http.MethodGet && query.Has("watch"):
		f.watch(w, proto)
		return
	case r.Method != http.MethodGet:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if r.Method == http.MethodPatch {
			f.change(body)
		}
	case query.Has("labelSelector"):
		what = chosenPods
	case query.Has("limit"):
		what = shortList
	case strings.HasSuffix(r.URL.Path, "/pods"):
		what = wholeList
	}
	if proto {
		w.Header()["Content-Type"] = []string{"application/vnd.kubernetes.protobuf"}
		what += ".proto"
	} else {
		w.Header()["Content-Type"] = []string{"application/json"}
		what += ".json"
	}
	_, _ = w.Write(f.answers[what])
}

func (f *floor) watch(w http.ResponseWriter, proto bool) {
	contentType := "application/json"
	if proto {
		contentType = "application/vnd.kubernetes.protobuf;stream=watch"
	}
	w.Header()["Content-Type"] = []string{contentType}
	flush := http.NewResponseController(w).Flush
	if flush() != nil {
		return
	}
	events := make(chan []byte, 1000)
	f.mu.Lock()
	for _, e := range f.events {
		events <- e
	}
	f.watchers[events] = struct{}{}
	f.mu.Unlock()
	for event := range events {
		if _, err := w.Write(event); err != nil || flush() != nil {
			return
		}
	}
}

// change sends the pod to all watches, with the annotations of a patch. Watches of the load use protobuf.
func (f *floor) change(patch []byte) {
	var given struct {
		Metadata struct{ Annotations map[string]string }
	}
	pod := &corev1.Pod{}
	if json.Unmarshal(patch, &given) != nil || given.Metadata.Annotations[load.ChangedAt] == "" || codec.Unmarshal(f.answers[onePod+".json"], pod) != nil {
		return
	}
	pod.Annotations = given.Metadata.Annotations
	b, err := codec.MarshalEnvelope("v1", "Pod", pod)
	if err != nil {
		return
	}
	event := codec.AppendEventProto(nil, "MODIFIED", b)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, event)
	for w := range f.watchers {
		w <- event
	}
}

// floorOf runs the phases that a floor can serve against one with the responses of p, and reports their cost.
func (p *process) floorOf(b *testing.B, o load.Options, phases ...string) []load.Result {
	b.Helper()
	dir := b.TempDir()
	conn := p.connect(b, 1)[0]
	pods := "/api/v1/namespaces/loadtest/pods"
	for name, req := range map[string]client.Request{
		onePod: {Path: pods + "/" + load.Key("", 0).Name}, wholeList: {Path: pods},
		shortList: {Path: pods, Query: map[string][]string{"limit": {"1"}}}, chosenPods: {Path: pods, Query: map[string][]string{"labelSelector": {"shard=0"}}},
	} {
		for ending, accept := range map[string]string{".json": "application/json", ".proto": "application/vnd.kubernetes.protobuf"} {
			req.Accept = accept
			resp, err := conn.Do(b.Context(), &req)
			require.NoError(b, err)
			require.NoError(b, os.WriteFile(filepath.Join(dir, name+ending), resp.Body, 0o600))
			if name == wholeList {
				b.ReportMetric(float64(len(resp.Body))/(1<<20), wholeList+ending+"-MiB")
			}
		}
	}
	f := &process{dir: dir, host: storetest.FreeAddress(b)}
	f.cmd = exec.Command(os.Args[0], f.host)
	f.cmd.Env = append(os.Environ(), asFloor+"="+dir)
	require.NoError(b, f.cmd.Start())
	defer f.kill()
	o.Namespace, o.PIDs = "loadtest", f.pids()
	results, err := load.New(f.connect(b, 4), o).Run(context.WithoutCancel(b.Context()), phases)
	require.NoError(b, err)
	for _, r := range results {
		cpu, _ := r.PerOperation()
		b.ReportMetric(float64(cpu.Nanoseconds())/1000, r.Phase+"-floor-us/op")
		if r.Phase == "watch" {
			b.ReportMetric(float64(r.Percentile(99).Nanoseconds())/1e6, "watch-floor-p99-ms")
		}
	}
	return results
}

// beFloor serves a floor if this process was started as one.
func beFloor() bool {
	dir := os.Getenv(asFloor)
	if dir == "" {
		return false
	}
	if err := serveFloor(dir, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}
