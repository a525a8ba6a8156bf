package component_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/examples/internal/component"
)

// A wrong flag points to the help; the help is asked for, so it is no error text.
func TestParse(t *testing.T) {
	f := pflag.NewFlagSet("a-component", pflag.ContinueOnError)
	(&component.Options{Name: "a-component"}).Flags(f)
	require.EqualError(t, component.Parse(f, "A component.", []string{"--nope"}), "unknown flag: --nope; see --help")
	require.ErrorContains(t, component.Parse(f, "A component.", []string{"stray"}), "see --help")

	read, write, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = write
	done := make(chan error, 1)
	go func() {
		defer write.Close()
		done <- component.Parse(f, "A component.", []string{"--help"})
	}()
	text, readErr := io.ReadAll(read)
	os.Stdout = stdout
	require.NoError(t, readErr)
	require.ErrorIs(t, <-done, pflag.ErrHelp)
	require.Contains(t, string(text), "A component.\n\nUsage: a-component [flags]\n\n")
	require.Contains(t, string(text), "--leader-elect ")
}

// TestPagesOfAComponent runs a component against an API server, over TCP: once it leads its health, its
// measurements and its queues can be read, and the API server has an event of it.
func TestPagesOfAComponent(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	o := component.Options{Name: "a-component", SecurePort: port}
	f := pflag.NewFlagSet(o.Name, pflag.ContinueOnError)
	o.Flags(f)
	config := filepath.Join(t.TempDir(), "kubeconfig")
	text, err := os.ReadFile(c.Kubeconfig())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(config, text, 0o600))
	require.NoError(t, component.Parse(f, "A component.", []string{"--kubeconfig", config}))

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	working := make(chan struct{}, 100)
	go func() {
		done <- o.Run(ctx, component.Logger(0), func(_ client.Conn, m *manager.Manager) error {
			r := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				working <- struct{}{}
				return reconcile.Result{RequeueAfter: time.Hour}, nil
			})
			_, err := controllers.Add(m, "namespaces", r, controllers.Options{}, controllers.For[*corev1.Namespace]())
			return err
		})
	}()
	defer func() {
		cancel()
		require.NoError(t, <-done)
	}()
	select {
	case <-working:
	case err := <-done:
		done <- err
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("it does not work")
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer web.CloseIdleConnections()
	read := func(path string) string {
		resp, err := web.Get(fmt.Sprintf("https://127.0.0.1:%d%s", port, path))
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode, "%s", body)
		return string(body)
	}
	require.Equal(t, "ok", read("/healthz"))
	for _, series := range []string{
		`leader_election_master_status{name="a-component"} 1`, `workqueue_adds_total{name="namespaces"}`, `reflector_lists_total{name="namespaces"} 1`,
		`rest_client_requests_total{`, `workqueue_longest_running_processor_seconds{name="namespaces"}`, `go_goroutines`,
	} {
		require.Contains(t, read("/metrics"), series)
	}
	until := time.Now().Add(time.Minute)
	var waiting map[string][]struct {
		Key types.NamespacedName
	}
	for len(waiting["namespaces"]) < 2 && time.Now().Before(until) {
		require.NoError(t, json.Unmarshal([]byte(read("/debug/queues")), &waiting))
		time.Sleep(10 * time.Millisecond)
	}
	require.GreaterOrEqual(t, len(waiting["namespaces"]), 2, "all namespaces are due again in an hour")
	events := client.For[*corev1.Event](c.Admin())
	found := false
	for !found && time.Now().Before(until) {
		list, err := events.List(t.Context(), client.ListOptions{Namespace: "kube-system"})
		require.NoError(t, err)
		for _, e := range list.Items {
			found = found || e.Reason == "LeaderElection" && e.InvolvedObject.Name == "a-component"
		}
		time.Sleep(10 * time.Millisecond)
	}
	require.True(t, found, "an event tells of the new leader")
}
