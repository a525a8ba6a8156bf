package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
)

// An aggregated API server that runs in the cluster finds which proxy and which headers it has to trust.
func TestTrustOfAggregatedServers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for e, err := range client.For[*corev1.ConfigMap](startTestCluster(t)).Watch(ctx, client.WatchOptions{Namespace: "kube-system"}) {
		require.NoError(t, err)
		if e.Object.Name != "extension-apiserver-authentication" || e.Type == client.Deleted {
			continue
		}
		data := e.Object.Data
		require.Contains(t, data["client-ca-file"], "BEGIN CERTIFICATE")
		require.Contains(t, data["requestheader-client-ca-file"], "BEGIN CERTIFICATE")
		require.NotEqual(t, data["client-ca-file"], data["requestheader-client-ca-file"], "a client of the cluster cannot report users")
		require.Equal(t, `["front-proxy-client"]`, data["requestheader-allowed-names"])
		require.Equal(t, `["X-Remote-User"]`, data["requestheader-username-headers"])
		return
	}
	t.Fatal("the watch has ended")
}
