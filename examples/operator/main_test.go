package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/examples/operator/website"

	"os"
	"strings"
	"time"
)

func TestFlags(t *testing.T) {
	_, err := parse([]string{"--no-such-flag"})
	require.ErrorContains(t, err, "no-such-flag; see --help")
	_, err = parse([]string{"stray"})
	require.ErrorContains(t, err, "stray")
	_, err = parse([]string{"--help"})
	require.ErrorIs(t, err, pflag.ErrHelp)
	o, err := parse([]string{"--leader-elect=false", "-v", "4", "--leader-elect-lease-duration=3s"})
	require.NoError(t, err)
	require.False(t, o.leaderElect)
	require.Equal(t, 4, o.verbosity)
	require.Equal(t, 3*time.Second, o.election.LeaseDuration)
}

// The command itself over TCP, in real time: it leads, works, and releases the lease when its context ends.
func TestRunAgainstAServer(t *testing.T) {
	s := api.Scheme().Clone()
	require.NoError(t, website.Register(s))
	c := controllertest.Start(t, controllertest.Options{CRDs: os.DirFS("config/crd"), Scheme: s})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"--kubeconfig", c.Kubeconfig(), "-v", "0", "--health-address", address})
	}()
	controllertest.Create(c, &website.Website{ObjectMeta: controllertest.Name("default", "hello"), Spec: website.WebsiteSpec{Image: "web:1"}})
	require.Eventually(t, func() bool { return controllertest.Exists[*appsv1.Deployment](c, "default", "hello") }, time.Minute, 10*time.Millisecond)
	for path, want := range map[string]string{"/readyz?verbose": "[+]leader-election ok\n[+]informers ok\n", "/metrics": `controller_runtime_reconcile_total{controller="website"`} {
		// The reconcile that made the Deployment counts when it has returned.
		require.EventuallyWithT(t, func(t *assert.CollectT) {
			resp, err := http.Get("http://" + address + path)
			require.NoError(t, err)
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.True(t, strings.Contains(string(text), want), "%s has no %s", path, want)
		}, time.Minute, 10*time.Millisecond)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	require.NoError(t, <-done)
	lease := controllertest.Get[*coordinationv1.Lease](c, "default", "website-operator")
	require.True(t, lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "", "the lease is given back")
}
