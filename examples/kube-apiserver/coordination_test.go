package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store/memory"
)

// Of two candidates the server gives the lease to the one of the older version, if the kind is switched on.
func TestLeadersAreElected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := filepath.Join(t.TempDir(), "tokens")
		require.NoError(t, os.WriteFile(tokens, []byte("secret,root,1,system:masters\n"), 0o600))
		o, err := parse([]string{"--feature-gates=CoordinatedLeaderElection=true", "--runtime-config=coordination.k8s.io/v1beta1=true",
			"--storage-backend=memory", "--authorization-mode=RBAC", "--token-auth-file=" + tokens})
		require.NoError(t, err)
		st := memory.New(memory.Options{})
		defer func() { require.NoError(t, st.Close()) }()
		cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var tasks sync.WaitGroup
		defer tasks.Wait()
		defer cancel()
		o.coordination.start(ctx, cp, slog.New(slog.DiscardHandler), &tasks)
		tasks.Go(func() { _ = cp.Run(ctx) })
		<-cp.Ready()
		request := func(method, path, body string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer secret")
			cp.ServeHTTP(w, r)
			return w
		}
		for name, version := range map[string]string{"newer": "1.36.0", "older": "1.35.0"} {
			now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
			w := request(http.MethodPost, "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates", fmt.Sprintf(
				`{"metadata":{"name":%q},"spec":{"leaseName":"work","binaryVersion":%q,"emulationVersion":%[2]q,"strategy":"OldestEmulationVersion","renewTime":%q}}`, name, version, now))
			require.Equal(t, http.StatusCreated, w.Code, "%s", w.Body)
		}
		// Whichever came first may hold the lease; then the other one is preferred.
		var l coordinationv1.Lease
		require.Eventually(t, func() bool {
			w := request(http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/default/leases/work", "")
			if w.Code != http.StatusOK {
				return false
			}
			l = coordinationv1.Lease{}
			require.NoError(t, codec.Unmarshal(w.Body.Bytes(), &l))
			return *l.Spec.HolderIdentity == "older" || l.Spec.PreferredHolder != nil && *l.Spec.PreferredHolder == "older"
		}, time.Minute, 10*time.Millisecond)
		require.Equal(t, coordinationv1.OldestEmulationVersion, *l.Spec.Strategy)
		require.Equal(t, http.StatusOK, request(http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/leader-election-controller", "").Code)
		w := request(http.MethodGet, "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates?fieldSelector=spec.leaseName%3Dother", "")
		require.Equal(t, http.StatusOK, w.Code)
		require.NotContains(t, w.Body.String(), "older")
	})
}

func TestElectionFlags(t *testing.T) {
	_, err := parse([]string{"--storage-backend=memory", "--coordinated-leadership-renew-deadline=20s"})
	require.ErrorContains(t, err, "--coordinated-leadership-lease-duration=15s must be longer than -renew-deadline, 20s")
}
