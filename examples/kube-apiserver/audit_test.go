package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/store/memory"
)

// auditedServer serves requests with the flags until end is called.
func auditedServer(t *testing.T, policy string, flags ...string) (serve func(path string) *httptest.ResponseRecorder, end func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\n"+policy), 0o600))
	o, err := parse(append([]string{"--storage-backend=memory", "--audit-policy-file=" + file}, flags...))
	require.NoError(t, err)
	st := memory.New(memory.Options{})
	cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { o.audit.run(ctx) })
	serve = func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		cp.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	return serve, func() {
		cancel()
		running.Wait()
		require.NoError(t, st.Close())
	}
}

const auditAll = "omitStages: [RequestReceived]\nrules: [{level: Metadata}]"

// Events reach a file in every mode, and a webhook over TLS in batches; what waits at the end is sent.
func TestAuditFlags(t *testing.T) {
	var mu sync.Mutex
	var sent []auditv1.Event
	hook := reviewServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var list auditv1.EventList
		if err == nil {
			err = codec.Unmarshal(body, &list)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		sent = append(sent, list.Items...)
		mu.Unlock()
	})
	for _, mode := range []string{"batch", "blocking", "blocking-strict"} {
		log := filepath.Join(t.TempDir(), "audit", "log")
		serve, end := auditedServer(t, auditAll, "--audit-log-path="+log, "--audit-log-mode="+mode, "--audit-webhook-config-file="+hook, "--audit-log-truncate-enabled")
		for range 3 {
			serve("/version")
		}
		if mode != "batch" {
			text, err := os.ReadFile(log)
			require.NoError(t, err)
			require.Equal(t, 3, strings.Count(string(text), "\n"), "a request waits for its event")
		}
		end()
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		require.Equal(t, 3, strings.Count(string(text), `"requestURI":"/version"`))
		info, err := os.Stat(log)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	require.Len(t, sent, 9)
}

// A file that reaches its size becomes a backup, of which as many are kept as the flags say.
func TestAuditLogRotation(t *testing.T) {
	dir := t.TempDir()
	serve, end := auditedServer(t, auditAll, "--audit-log-path="+filepath.Join(dir, "audit.log"), "--audit-log-maxsize=1", "--audit-log-maxbackup=10", "--audit-log-maxage=1")
	long := "/" + strings.Repeat("x", 100<<10)
	for range 25 {
		serve(long)
	}
	end()
	files, err := filepath.Glob(filepath.Join(dir, "audit-*.log"))
	require.NoError(t, err)
	require.Greater(t, len(files), 1)
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(1<<20))
	}
}

// A request that must be recorded is refused if it cannot be.
func TestAuditStrict(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	// The server has not loaded its policy, so it refuses what it serves.
	for mode, code := range map[string]int{"blocking": http.StatusForbidden, "blocking-strict": http.StatusInternalServerError, "batch": http.StatusForbidden} {
		serve, end := auditedServer(t, "rules: [{level: Metadata}]", "--audit-log-path=/dev/full", "--audit-log-maxsize=0", "--audit-log-mode="+mode)
		require.Equal(t, code, serve("/version").Code, mode)
		end()
	}
}

func TestWrongAuditFlags(t *testing.T) {
	for flag, want := range map[string]string{
		"--audit-log-mode=async":                      "--audit-log-mode=async: want batch, blocking, blocking-strict",
		"--audit-log-format=xml":                      "--audit-log-format=xml: want json or legacy",
		"--audit-log-version=audit.k8s.io/v1beta1":    "--audit-log-version=audit.k8s.io/v1beta1: want audit.k8s.io/v1",
		"--audit-log-maxage=-1":                       "must not be negative",
		"--audit-webhook-batch-buffer-size=0":         "--audit-webhook-batch-buffer-size=0: want a positive number",
		"--audit-webhook-batch-max-size=-1":           "--audit-webhook-batch-max-size=-1: want a positive number",
		"--audit-webhook-batch-throttle-qps=0":        "--audit-webhook-batch-throttle-qps=0: want a positive number",
		"--audit-webhook-batch-throttle-burst=0":      "--audit-webhook-batch-throttle-burst=0: want a positive number",
		"--audit-webhook-truncate-max-event-size=0":   "--audit-webhook-truncate-max-event-size=0: want a positive number",
		"--audit-webhook-truncate-max-batch-size=1":   "want no less than the size of an event",
		"--audit-webhook-batch-initial-backoff=-1s":   "--audit-webhook-initial-backoff=-1s: want no negative time",
		"--audit-log-batch-throttle-enable":           "", // without effect in another mode
		"--audit-webhook-batch-throttle-enable=false": "",
	} {
		_, err := parse([]string{"--storage-backend=memory", "--audit-log-path=x", "--audit-webhook-config-file=y", flag})
		if want == "" {
			require.NoError(t, err, flag)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	o, err := parse([]string{"--storage-backend=memory", "--audit-policy-file=/does/not/exist"})
	require.NoError(t, err)
	_, err = o.audit.open(slog.New(slog.DiscardHandler), apimetrics.New())
	require.ErrorContains(t, err, "--audit-policy-file: open /does/not/exist")
	file := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: None\n- unknownField: None\n"), 0o600))
	o.audit.policyFile = file
	_, err = o.audit.open(slog.New(slog.DiscardHandler), apimetrics.New())
	require.ErrorContains(t, err, "--audit-policy-file: "+file+`: audit: Policy: line 5: unknown field "rules[1].unknownField"`)
}
