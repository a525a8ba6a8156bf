package apiserver_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// A client that stops in the middle of its body gets an error after the timeout, and then occupies no seat,
// whether the body is read or the request is refused before.
func TestBodiesThatStop(t *testing.T) {
	for name, path := range map[string]string{"read": configMaps, "refused": "/api/v1/nonsense"} {
		for _, http2 := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := start(t, apiserver.Options{RequestTimeout: 10 * time.Second, MaxMutatingInFlight: 1})
					transport := s.client.Transport.(*http.Transport)
					transport.Protocols = new(http.Protocols)
					transport.Protocols.SetHTTP1(!http2)
					transport.Protocols.SetUnencryptedHTTP2(http2)
					stalled, rest := io.Pipe()
					defer rest.Close()
					begun := time.Now()
					body := struct {
						io.Reader
						io.Closer
					}{io.MultiReader(strings.NewReader(`{"a":`), stalled), stalled}
					r, err := http.NewRequestWithContext(t.Context(), "POST", "http://server"+path, body)
					require.NoError(t, err)
					r.Header.Set("Content-Type", "application/json")
					resp, err := s.client.Do(r)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					if path == configMaps {
						require.Equal(t, http.StatusGatewayTimeout, resp.StatusCode)
						require.Equal(t, 10*time.Second, time.Since(begun))
					} else {
						require.Equal(t, http.StatusNotFound, resp.StatusCode)
					}
					s.do("POST", configMaps, configMap("a", "k", "v")).ok(201)
				})
			})
		}
	}
}
