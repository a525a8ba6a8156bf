package component_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/storetest"
)

// The error for a wrong flag refers to --help; the help itself is not an error.
func TestParse(t *testing.T) {
	f := pflag.NewFlagSet("a-component", pflag.ContinueOnError)
	(&component.Options{Name: "a-component"}).Flags(f)
	require.EqualError(t, component.Parse(f, "A component.", []string{"--nope"}), "unknown flag: --nope; see --help")
	require.ErrorContains(t, component.Parse(f, "A component.", []string{"stray"}), "see --help")

	text := printed(t, f, "--help")
	require.Contains(t, text, "A component.\n\nUsage: a-component [flags]\n\n")
	require.Contains(t, text, "--leader-elect ")
	require.Equal(t, "Kubernetes v1.36.0\n", printed(t, f, "--version"), "as kubeadm reads it")
}

// printed returns what Parse prints because of a flag.
func printed(t *testing.T, f *pflag.FlagSet, flag string) string {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = write
	done := make(chan error, 1)
	go func() {
		defer write.Close()
		done <- component.Parse(f, "A component.", []string{flag})
	}()
	text, err := io.ReadAll(read)
	os.Stdout = stdout
	require.NoError(t, err)
	require.ErrorIs(t, <-done, pflag.ErrHelp)
	return string(text)
}

// A program whose own port is authenticated by an API server shows its pages to those who may read them
// there, and its health to everyone.
func TestAccessToPages(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	config := kubeconfigOf(t, c)
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: config, NoInCluster: true})
	require.NoError(t, err)
	_, err = client.For[*corev1.ConfigMap](c.Admin()).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"},
		Data: map[string]string{"client-ca-file": string(cfg.TLS.CAData)}})
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(cfg.TLS.CertData, cfg.TLS.KeyData)
	require.NoError(t, err)
	o := component.Options{Name: "a-component", SecurePort: freePort(t), Configz: func() map[string]any { return map[string]any{"kind": "Yard"} }}
	f := pflag.NewFlagSet(o.Name, pflag.ContinueOnError)
	o.Flags(f)
	require.NoError(t, component.Parse(f, "A component.", []string{"--leader-elect=false", "--kubeconfig", config, "--authentication-kubeconfig", config, "--authorization-kubeconfig", config,
		"--tls-min-version=VersionTLS13", "--logging-format=json"}))
	running := make(chan struct{})
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		done <- o.Run(ctx, component.Logger(0), func(client.Conn, *manager.Manager) error { close(running); return nil })
	}()
	defer func() {
		cancel()
		require.NoError(t, <-done)
	}()
	<-running
	read := func(path, token string, pairs ...tls.Certificate) (int, string) {
		web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: pairs}}}
		defer web.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", o.SecurePort, path), nil)
		require.NoError(t, err)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := web.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(body)
	}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		code, _ := read("/healthz", "")
		require.Equal(t, 200, code)
	}, time.Minute, 10*time.Millisecond)
	for path, want := range map[string]string{"/metrics": "go_goroutines", "/flagz": "\ntls-min-version=VersionTLS13\n", "/statusz": "Up: ", "/configz": `{"kind":"Yard"}`, "/debug/pprof/cmdline": "component"} {
		code, text := read(path, "", pair)
		require.Equal(t, 200, code, "%s: %s", path, text)
		require.Contains(t, text, want, path)
		code, text = read(path, "")
		require.Equal(t, 403, code, "%s: %s", path, text)
		require.Contains(t, text, "user=system:anonymous")
		code, _ = read(path, "guess")
		require.Equal(t, 401, code, path)
		code, text = read(path, accountToken(t, c))
		require.Equal(t, 403, code, path)
		require.Contains(t, text, "user=system:serviceaccount:default:reader")
	}
}

// accountToken returns a token of a service account without rights.
func accountToken(t *testing.T, c *controllertest.Cluster) string {
	_, err := client.For[*corev1.ServiceAccount](c.Admin()).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "reader"}})
	require.True(t, err == nil || apierrors.IsAlreadyExists(err), err)
	resp, err := c.Admin().Do(t.Context(), &client.Request{Method: http.MethodPost, Path: "/api/v1/namespaces/default/serviceaccounts/reader/token", ContentType: client.MediaJSON, Body: []byte(`{}`)})
	require.NoError(t, err)
	var token authenticationv1.TokenRequest
	require.NoError(t, json.Unmarshal(resp.Body, &token))
	return token.Status.Token
}

func freePort(t *testing.T) int {
	at, err := netip.ParseAddrPort(storetest.FreeAddress(t))
	require.NoError(t, err)
	return int(at.Port())
}

// kubeconfigOf writes the kubeconfig of a cluster, whose own file is removed when it ends.
func kubeconfigOf(t *testing.T, c *controllertest.Cluster) string {
	config := filepath.Join(t.TempDir(), "kubeconfig")
	text, err := os.ReadFile(c.Kubeconfig())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(config, text, 0o600))
	return config
}

// A flag that a program does not have is refused with the reason, and one without effect is accepted.
func TestRefusedFlags(t *testing.T) {
	f := pflag.NewFlagSet("a-component", pflag.ContinueOnError)
	component.Refuse(f, map[string]string{"legacy": "use --modern"})
	component.NoEffect(f, map[string]string{"tuning": "nothing is tuned", "switch?": "it is always on"})
	require.NoError(t, component.Parse(f, "A component.", []string{"--tuning=3", "--tuning", "4", "--switch", "--switch=false"}))
	require.ErrorContains(t, component.Parse(f, "A component.", []string{"--legacy=1"}), "use --modern")
	require.ErrorContains(t, component.Parse(f, "A component.", []string{"--legacy"}), "use --modern")
	why, ok := component.Refused(f.Lookup("legacy"))
	require.True(t, ok)
	require.Equal(t, "use --modern", why)
	why, ok = component.Ignored(f.Lookup("switch"))
	require.True(t, ok)
	require.Equal(t, "it is always on", why)
}

// TestPagesOfAComponent runs a component against an API server, over TCP: once it leads, its health, its
// metrics and its queues can be read, and it has recorded an event.
func TestPagesOfAComponent(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	port := freePort(t)
	o := component.Options{Name: "a-component", SecurePort: port}
	f := pflag.NewFlagSet(o.Name, pflag.ContinueOnError)
	o.Flags(f)
	config := kubeconfigOf(t, c)
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
	read := func(path string) string { // on any goroutine
		resp, err := web.Get(fmt.Sprintf("https://127.0.0.1:%d%s", port, path))
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			return fmt.Sprintf("%s: %v %s", resp.Status, err, body)
		}
		return string(body)
	}
	require.Equal(t, "ok", read("/healthz"))
	for _, series := range []string{
		`leader_election_master_status{name="a-component"} 1`, `workqueue_adds_total{controller="namespaces",name="namespaces"}`, `reflector_lists_total{cluster="",name="namespaces"} 1`,
		`rest_client_requests_total{`, `workqueue_longest_running_processor_seconds{controller="namespaces",name="namespaces"}`, `go_goroutines`,
		`controller_runtime_max_concurrent_reconciles{controller="namespaces"} 1`, `informer_objects{cluster="",name="namespaces"} 4`, `rest_client_in_flight_limit 32`,
	} {
		// A read is counted after its objects have been delivered.
		require.EventuallyWithT(t, func(t *assert.CollectT) { require.Contains(t, read("/metrics"), series) }, time.Minute, 10*time.Millisecond)
	}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		var waiting map[string][]struct {
			Key types.NamespacedName
		}
		require.NoError(t, json.Unmarshal([]byte(read("/debug/queues")), &waiting))
		require.GreaterOrEqual(t, len(waiting["namespaces"]), 2, "all namespaces are due again in an hour")
	}, time.Minute, 10*time.Millisecond)
	events := client.For[*corev1.Event](c.Admin())
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		list, err := events.List(ctx, client.ListOptions{Namespace: "kube-system"})
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(list.Items, func(e *corev1.Event) bool {
			return e.Reason == "LeaderElection" && e.InvolvedObject.Name == "a-component"
		}), "an event reports the new leader")
	}, time.Minute, 10*time.Millisecond)
}

// A value that is in no file stays.
func TestUnchanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := component.Unchanging("x")
		time.Sleep(10 * component.ReloadEvery)
		require.Equal(t, "x", v.Get())
		require.Equal(t, "x", v.First())
	})
}
