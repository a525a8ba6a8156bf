package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/memory"
)

// A server over TLS authenticates tokens that the API server does not know, with one call for two requests.
func TestTokenWebhook(t *testing.T) {
	for _, version := range []string{"v1", "v1beta1"} {
		var calls atomic.Int32
		file := reviewServer(t, func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			body, err := io.ReadAll(r.Body)
			if err != nil || !strings.Contains(string(body), `"apiVersion":"authentication.k8s.io/`+version+`"`) || !strings.Contains(string(body), `"token":"of-ann"`) {
				http.Error(w, "wrong request", http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"apiVersion":"authentication.k8s.io/%s","kind":"TokenReview","status":{"authenticated":true,"user":{"username":"ann","groups":["system:masters"]}}}`, version)
		})
		o, err := parse([]string{"--storage-backend=memory", "--authentication-token-webhook-config-file=" + file, "--authentication-token-webhook-version=" + version})
		require.NoError(t, err)
		st := memory.New(memory.Options{})
		cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		get := func(token string) int {
			r := httptest.NewRequest(http.MethodGet, "/apis", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			cp.ServeHTTP(w, r)
			return w.Code
		}
		require.Equal(t, http.StatusOK, get("of-ann"))
		require.Equal(t, http.StatusOK, get("of-ann"))
		require.EqualValues(t, 1, calls.Load())
		require.Equal(t, http.StatusUnauthorized, get("unknown"), "the webhook fails")
		require.NoError(t, st.Close())
	}
	for flag, want := range map[string]string{
		"--authentication-token-webhook-version=v2":    "want v1 or v1beta1",
		"--authentication-token-webhook-cache-ttl=-1s": "want no negative time",
	} {
		_, err := parse([]string{"--storage-backend=memory", flag})
		require.ErrorContains(t, err, want)
	}
}
