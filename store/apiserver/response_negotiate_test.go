package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// CBOR is an alpha feature that is off: a client that accepts nothing else gets 406, one that sends it 415,
// and nothing is written. A client that prefers it but takes JSON as well, as client-go's does with its
// feature on, gets JSON.
func TestCBORIsOff(t *testing.T) {
	s := start(t, apiserver.Options{})
	s.do("POST", configMaps, configMap("a", "k", "v")).ok(201)
	before := s.do("GET", configMaps+"/a", nil).ok(200)
	for _, path := range []string{configMaps + "/a", configMaps, configMaps + "?watch=1&timeoutSeconds=1", "/api/v1", "/apis"} {
		for _, accept := range []string{"application/cbor", "application/cbor;q=0.9", "application/cbor-seq", "application/cbor;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"} {
			a := s.do("GET", path, nil, "Accept", accept)
			require.Equal(t, 406, a.code, "%s as %s: %s", path, accept, a.body)
		}
	}
	refused := s.do("GET", configMaps+"/a", nil, "Accept", "application/cbor").ok(406)
	require.Equal(t, "NotAcceptable", refused.str("reason"))
	require.Contains(t, refused.str("message"), "application/json")

	either := s.do("GET", configMaps+"/a", nil, "Accept", "application/cbor,application/json;q=0.9")
	require.Equal(t, "application/json", either.header.Get("Content-Type"))
	require.Equal(t, before, either.ok(200))

	body := []byte{0xd9, 0xd9, 0xf7, 0xa0} // the CBOR tag and an empty map
	for _, w := range [][3]string{
		{"POST", configMaps, "application/cbor"}, {"PUT", configMaps + "/a", "application/cbor"},
		{"PATCH", configMaps + "/a", "application/apply-patch+cbor"}, {"DELETE", configMaps + "/a", "application/cbor"},
	} {
		require.Equal(t, "UnsupportedMediaType", s.do(w[0], w[1], body, "Content-Type", w[2]).ok(415).str("reason"), w[0])
	}
	require.Equal(t, before, s.do("GET", configMaps+"/a", nil).ok(200))
}
