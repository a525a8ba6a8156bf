package apiserver_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/encryption"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/peers"
)

const secrets = "/api/v1/namespaces/default/secrets"

// encryptionConfig encrypts secrets with the first of the keys, and reads those of all. The name of a key is
// its letter.
func encryptionConfig(t testing.TB, keys string) *encryption.Configuration {
	t.Helper()
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [secrets], providers: [{aesgcm: {keys: ["
	for _, k := range keys {
		text += fmt.Sprintf("{name: %c, secret: %s},", k, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(k)}, 32)))
	}
	c, err := encryption.ParseConfiguration([]byte(text + "]}}, {identity: {}}]}]"))
	require.NoError(t, err)
	return c
}

func encrypted(t testing.TB, keys string) *encryption.Providers {
	t.Helper()
	p, err := encryption.New(encryptionConfig(t, keys), encryption.Options{})
	require.NoError(t, err)
	return p
}

// raw returns the stored bytes by key.
func raw(t testing.TB, st store.Store) map[string]string {
	t.Helper()
	list, err := st.List(t.Context(), "/", store.ListOptions{})
	require.NoError(t, err)
	out := map[string]string{}
	for _, kv := range list.Items {
		out[kv.Key] = string(kv.Value)
	}
	return out
}

// No byte of a secret is in the store; reads and watches have it; and writing a secret that does not change
// stores it again if it is stored with a previous key.
func TestEncryptedSecrets(t *testing.T) {
	st := memory.New(memory.Options{})
	p := encrypted(t, "a")
	s := start(t, apiserver.Options{Store: st, Encryption: p})
	secret := object{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "stringData": map[string]any{"k": "password-1234"}}
	s.do("POST", secrets, secret).ok(201)
	s.do("POST", configMaps, configMap("c", "k", "plain-1234")).ok(201)
	s.do("PATCH", secrets+"/s", `{"stringData":{"k2":"password-1234"}}`, "Content-Type", "application/merge-patch+json").ok(200)
	got := s.do("GET", secrets+"/s", nil).ok(200)
	require.Equal(t, "cGFzc3dvcmQtMTIzNA==", got.str("data.k2"))
	require.Equal(t, []string{"s"}, s.do("GET", secrets, nil).ok(200).names())
	values := raw(t, st)
	require.Contains(t, values["/configmaps/default/c"], "plain-1234")
	for key, value := range values {
		require.NotContains(t, value, "password", key)
		require.NotContains(t, value, "stringData", key)
	}
	require.True(t, strings.HasPrefix(values["/secrets/default/s"], "k8s:enc:aesgcm:v1:a:"))

	update := func() string {
		return s.do("PUT", secrets+"/s", s.do("GET", secrets+"/s", nil).ok(200)).ok(200).str("metadata.resourceVersion")
	}
	version := update()
	require.Equal(t, version, update(), "nothing has changed")
	require.NoError(t, p.Set(encryptionConfig(t, "ba")))
	require.NotEqual(t, version, update())
	require.True(t, strings.HasPrefix(raw(t, st)["/secrets/default/s"], "k8s:enc:aesgcm:v1:b:"))
	require.Equal(t, update(), update())
}

// A secret that cannot be decrypted is an error of its own, which names it; when the key is there again, so
// is the secret, in lists and in watches that begin.
func TestEncryptionKeyIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		defer func() { require.NoError(t, st.Close()) }()
		write := start(t, apiserver.Options{Store: st, Encryption: encrypted(t, "a")})
		write.do("POST", secrets, object{"metadata": map[string]any{"name": "lost"}}).ok(201)
		write.stop()
		p := encrypted(t, "b")
		s := start(t, apiserver.Options{Store: st, Encryption: p})
		s.do("POST", secrets, object{"metadata": map[string]any{"name": "new"}}).ok(201)
		const message = `unable to transform key "/registry/secrets/default/lost": no matching key was found for the provided AES transformer`
		require.Contains(t, s.do("GET", secrets+"/lost", nil).ok(500).str("message"), message)
		list := s.do("GET", secrets, nil)
		list.ok(500)
		require.Contains(t, string(list.body), "default/lost", "the list names the object")
		require.Contains(t, s.do("DELETE", secrets+"/lost", nil).ok(500).str("message"), message)
		s.do("GET", secrets+"/new", nil).ok(200)
		s.do("GET", configMaps, nil).ok(200)
		require.NoError(t, p.Set(encryptionConfig(t, "ba")))
		time.Sleep(10 * time.Second)
		require.Equal(t, []string{"lost", "new"}, s.do("GET", secrets, nil).ok(200).names())
		s.do("DELETE", secrets+"/lost", nil).ok(200)
	})
}

// Keys are rotated as the documentation of Kubernetes says, while clients read and write: no request fails,
// and in the end only the new key is needed.
func TestKeysAreRotatedUnderLoad(t *testing.T) {
	st := memory.New(memory.Options{})
	p := encrypted(t, "a")
	s := start(t, apiserver.Options{Store: st, Encryption: p})
	const clients, writes = 4, 60
	var load sync.WaitGroup
	for c := range clients {
		load.Go(func() {
			for i := range writes {
				name := fmt.Sprintf("%s/c%d-%d", secrets, c, i%7)
				body := object{"metadata": map[string]any{"name": fmt.Sprintf("c%d-%d", c, i%7)}, "stringData": map[string]any{"i": fmt.Sprint(i)}}
				if i < 7 {
					s.do("POST", secrets, body).ok(201)
				} else {
					s.do("PUT", name, body).ok(200)
				}
				require.Equal(t, base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(i))), s.do("GET", name, nil).ok(200).str("data.i"))
				s.do("GET", secrets, nil).ok(200)
			}
		})
	}
	for _, keys := range []string{"ab", "ba", "bca", "cba"} {
		require.NoError(t, p.Set(encryptionConfig(t, keys)))
		for _, name := range s.do("GET", secrets, nil).ok(200).names() {
			s.do("PATCH", secrets+"/"+name, `{}`, "Content-Type", "application/merge-patch+json").ok(200)
		}
	}
	load.Wait()
	names := s.do("GET", secrets, nil).ok(200).names()
	require.Len(t, names, 7*clients)
	for _, name := range names {
		s.do("PATCH", secrets+"/"+name, `{}`, "Content-Type", "application/merge-patch+json").ok(200)
	}
	require.NoError(t, p.Set(encryptionConfig(t, "c")))
	for _, name := range names {
		s.do("GET", secrets+"/"+name, nil).ok(200)
	}
	for key, value := range raw(t, st) {
		if strings.HasPrefix(key, "/secrets/") {
			require.True(t, strings.HasPrefix(value, "k8s:enc:aesgcm:v1:c:"), key)
		}
	}
}

// Budget: at most 15 % more than without encryption.
func BenchmarkEncryptedCreate(b *testing.B) {
	for _, with := range []bool{false, true} {
		b.Run(fmt.Sprintf("encrypted=%v", with), func(b *testing.B) {
			o := apiserver.Options{}
			if with {
				o.Encryption = encrypted(b, "a")
			}
			s := start(b, o)
			data := strings.Repeat("c2VjcmV0", 128)
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				w := direct(s, "POST", secrets, fmt.Sprintf(`{"metadata":{"name":"s%d"},"data":{"k":"%s"}}`, n, data))
				require.Equal(b, 201, w.Code)
			}
		})
	}
}

// allShared is a store that other servers use too.
type allShared struct{ store.Store }

// Capabilities implements store.Store.
func (s allShared) Capabilities() store.Capabilities {
	c := s.Store.Capabilities()
	c.Shared = true
	return c
}

// The addresses of servers are encrypted if a pattern includes their resources, as by kube-apiserver, which
// can read them then.
func TestAddressesOfServersAreEncryptedByPatterns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for resources, want := range map[string]bool{"'*.*'": true, "'*.'": true, "secrets": false, "'*.apps'": false} {
			c, err := encryption.ParseConfiguration([]byte("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [" + resources +
				"], providers: [{aesgcm: {keys: [{name: k, secret: " + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 32)) + "}]}}, {identity: {}}]}]"))
			require.NoError(t, err, resources)
			providers, err := encryption.New(c, encryption.Options{})
			require.NoError(t, err)
			mem := memory.New(memory.Options{})
			about := controlplane.BookkeepingOptions{Hostname: "h", PeerAddress: "192.0.2.1:6443"}
			s, err := apiserver.New(apiserver.Options{Store: allShared{mem}, Encryption: providers, AdvertiseAddress: "192.0.2.1", StartHook: controlplane.Bookkeeping(about)})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			<-s.Ready()
			time.Sleep(time.Minute) // of renewals
			at, err := peers.Address(t.Context(), s.Registry().Store(), about.IdentityName())
			require.NoError(t, err)
			require.Equal(t, about.PeerAddress, at)
			for _, key := range []string{"/peerserverleases/" + about.IdentityName(), "/masterleases/192.0.2.1"} {
				kv, _, err := mem.Get(t.Context(), key)
				require.NoError(t, err)
				require.Equal(t, want, bytes.HasPrefix(kv.Value, []byte("k8s:enc:aesgcm:v1:k:")), "%s %s", resources, key)
			}
			cancel()
			require.NoError(t, <-done)
			require.NoError(t, mem.Close())
		}
	})
}
