package encryption_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/encryption"
	"github.com/keelson-dev/keelson/store/file"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n"

// key is a key of 32 bytes, all of them c, in base64.
func key(c byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{c}, 32)) }

// with is a configuration of secrets with a list of providers.
func with(providers ...string) string {
	return head + "resources: [{resources: [secrets], providers: [" + strings.Join(providers, ",") + "]}]"
}

func keys(kind string, names string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf("{name: %c, secret: %s}", name, key(byte(name))))
	}
	return "{" + kind + ": {keys: [" + strings.Join(list, ",") + "]}}"
}

func parse(t testing.TB, text string) *encryption.Configuration {
	t.Helper()
	c, err := encryption.ParseConfiguration([]byte(text))
	require.NoError(t, err)
	return c
}

// resource is the resource of keys such as /secrets/NAMESPACE/NAME.
func resource(key string) (schema.GroupResource, bool) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(key, "/"), "/")
	second, _, _ := strings.Cut(rest, "/")
	if strings.Contains(first, ".") {
		return schema.GroupResource{Group: first, Resource: second}, true
	}
	return schema.GroupResource{Resource: first}, first != "ranges"
}

func open(t testing.TB, inner store.Store, text string) (*encryption.Store, *encryption.Providers) {
	t.Helper()
	p, err := encryption.New(parse(t, text), encryption.Options{})
	require.NoError(t, err)
	return encryption.NewStore(inner, p, resource), p
}

// everything is a configuration that encrypts all resources.
func everything() string {
	return head + "resources: [{resources: ['*.*'], providers: [" + keys("aesgcm", "a") + "]}]"
}

// An encrypted store is a store, over memory and over files.
func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB) store.Store {
		s, _ := open(t, memory.New(memory.Options{}), everything())
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}, storetest.Options{})
}

func TestConformanceOverFiles(t *testing.T) {
	folders := map[store.Store]string{}
	over := func(t testing.TB, folder string) store.Store {
		files, err := file.Open(folder, file.Options{})
		require.NoError(t, err)
		s, _ := open(t, files, everything())
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		folders[s] = folder
		return s
	}
	storetest.Run(t, func(t testing.TB) store.Store { return over(t, t.TempDir()) }, storetest.Options{Crash: func(t testing.TB, s store.Store) store.Store {
		left := t.TempDir() // the lock is the file's, so another folder gets what a crash would leave
		data, err := os.ReadFile(filepath.Join(folders[s], "keelson.log"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(left, "keelson.log"), data, 0o600))
		return over(t, left)
	}})
}

const secretKey = "/secrets/default/a"

// Values written by another implementation, as kube-apiserver stores them, are read, and what is written has
// the same form.
func TestWireFormat(t *testing.T) {
	const plain = "k8s\x00 some object"
	block, err := aes.NewCipher(bytes.Repeat([]byte{'a'}, 32))
	require.NoError(t, err)
	aead, err := cipher.NewGCM(block)
	require.NoError(t, err)
	aad := []byte("/registry" + secretKey)
	nonce := []byte("twelve bytes")
	byGCM := append([]byte("k8s:enc:aesgcm:v1:a:"), append(bytes.Clone(nonce), aead.Seal(nil, nonce, []byte(plain), aad)...)...)
	iv := []byte("sixteen bytes iv")
	padded := append([]byte(plain), bytes.Repeat([]byte{16 - byte(len(plain)%16)}, 16-len(plain)%16)...)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(padded, padded)
	byCBC := append([]byte("k8s:enc:aescbc:v1:a:"), append(bytes.Clone(iv), padded...)...)
	for provider, data := range map[string][]byte{"aesgcm": byGCM, "aescbc": byCBC} {
		inner := memory.New(memory.Options{})
		_, err := inner.Create(t.Context(), secretKey, data, store.WriteOptions{})
		require.NoError(t, err)
		s, _ := open(t, inner, with(keys(provider, "a")))
		kv, _, err := s.Get(t.Context(), secretKey)
		require.NoError(t, err)
		require.Equal(t, plain, string(kv.Value), provider)
		require.False(t, kv.Stale)

		_, err = s.Update(t.Context(), secretKey, []byte(plain), kv.Revision, store.WriteOptions{})
		require.NoError(t, err)
		kv, _, err = inner.Get(t.Context(), secretKey)
		require.NoError(t, err)
		rest, ok := bytes.CutPrefix(kv.Value, []byte("k8s:enc:"+provider+":v1:a:"))
		require.True(t, ok)
		var got []byte
		if provider == "aesgcm" {
			got, err = aead.Open(nil, rest[:12], rest[12:], aad)
			require.NoError(t, err)
		} else {
			got = rest[16:]
			cipher.NewCBCDecrypter(block, rest[:16]).CryptBlocks(got, got)
			got = got[:len(got)-int(got[len(got)-1])]
		}
		require.Equal(t, plain, string(got))
		require.NoError(t, s.Close())
	}
}

// The first key of the first provider writes, all read, and what is not in that form is stale.
func TestProvidersAndKeys(t *testing.T) {
	inner := memory.New(memory.Options{})
	defer func() { require.NoError(t, inner.Close()) }()
	ways := []string{"{identity: {}}", keys("aescbc", "a"), keys("aesgcm", "a"), keys("secretbox", "a"), keys("aesgcm", "ba")}
	for i, way := range ways {
		s, _ := open(t, inner, with(way))
		_, err := s.Create(t.Context(), fmt.Sprintf("/secrets/default/%d", i), []byte("value"), store.WriteOptions{})
		require.NoError(t, err)
	}
	for i := range ways {
		order := append([]string{ways[i]}, ways...)
		s, _ := open(t, inner, with(order...))
		list, err := s.List(t.Context(), "/secrets/", store.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, len(ways))
		for j, kv := range list.Items {
			require.Equal(t, "value", string(kv.Value))
			require.Equal(t, i != j, kv.Stale, "%d written, %d read", j, i)
		}
	}
	for text, want := range map[string]string{
		with("{identity: {}}"):                      "identity transformer tried to read encrypted data",
		with(keys("aesgcm", "c"), "{identity: {}}"): "no matching key was found for the provided AES transformer",
		with(keys("secretbox", "c")):                "no matching prefix found",
		head + "resources: [{resources: [configmaps], providers: [{identity: {}}]}]": "identity transformer tried to read encrypted data",
		with(strings.ReplaceAll(keys("aesgcm", "a"), key('a'), key('z'))):            "cipher: message authentication failed",
	} {
		s, _ := open(t, inner, text)
		kv, _, err := s.Get(t.Context(), "/secrets/default/2") // aesgcm with the key a
		require.NoError(t, err)
		require.EqualError(t, store.ReadError(kv.Value), `unable to transform key "/registry/secrets/default/2": `+want)
		_, err = s.Create(t.Context(), "/secrets/default/copy", kv.Value, store.WriteOptions{})
		require.ErrorContains(t, err, want, "the placeholder is not stored")
	}
	// A value cannot be moved to another key.
	moved, _, err := inner.Get(t.Context(), "/secrets/default/2")
	require.NoError(t, err)
	_, err = inner.Create(t.Context(), "/secrets/other/2", moved.Value, store.WriteOptions{})
	require.NoError(t, err)
	s, _ := open(t, inner, with(keys("aesgcm", "a")))
	kv, _, err := s.Get(t.Context(), "/secrets/other/2")
	require.NoError(t, err)
	require.ErrorContains(t, store.ReadError(kv.Value), "message authentication failed")
}

func TestResources(t *testing.T) {
	text := head + "resources:\n"
	for i, list := range []string{"secrets", "configmaps, example.com.example.com", "'*.apps'", "'*.'", "'*.*'"} {
		text += fmt.Sprintf("- {resources: [%s], providers: [%s]}\n", list, keys("aesgcm", string(rune('a'+i))))
	}
	inner := memory.New(memory.Options{})
	s, _ := open(t, inner, text)
	defer func() { require.NoError(t, s.Close()) }()
	for path, name := range map[string]string{"/secrets/x": "a", "/configmaps/x": "b", "/apps/deployments/x": "d", "/apps.example/deployments/x": "e", "/pods/x": "d"} {
		_, err := s.Create(t.Context(), path, []byte("value"), store.WriteOptions{})
		require.NoError(t, err)
		kv, _, err := inner.Get(t.Context(), path)
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(kv.Value, []byte("k8s:enc:aesgcm:v1:"+name+":")), "%s: %q", path, kv.Value)
	}
	_, err := s.Create(t.Context(), "/ranges/x", []byte("value"), store.WriteOptions{})
	require.NoError(t, err)
	kv, _, err := inner.Get(t.Context(), "/ranges/x")
	require.NoError(t, err)
	require.Equal(t, "value", string(kv.Value))
}

func TestParseConfigurationErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":   "encryption: want kind EncryptionConfiguration of apiserver.config.k8s.io/v1",
		head: "resources: Required value: at least one resources is required",
		head + "resources:\n- resources: [secrets]\n  provider: []\n":         `line 5: unknown field "resources[0].provider"`,
		head + "resources:\n- resources: []\n  providers: [{identity: {}}]\n": "line 4: resources[0].resources: Required value",
		head + "resources:\n- resources: [secrets]\n  providers: []\n":        "line 5: resources[0].providers: Required value",
		with("{}"): "resources[0].providers[0]: Invalid value: provider does not contain any of the expected providers",
		with("{identity: {}, aesgcm: {keys: []}}"):                                                                                               "more than one provider specified in a single element",
		with("{aesgcm: {keys: []}}"):                                                                                                             "resources[0].providers[0].aesgcm.keys: Required value",
		with("{aesgcm: {keys: [{secret: c2VjcmV0}]}}"):                                                                                           "aesgcm.keys[0].name: Required value",
		with("{aesgcm: {keys: [{name: a, secret: c2VjcmV0}]}}"):                                                                                  "aesgcm.keys[0].secret: Invalid value: \"REDACTED\": secret is not of the expected length, got 6, expected one of [16 24 32]",
		with("{secretbox: {keys: [{name: a, secret: 'hunter2!'}]}}"):                                                                             "secretbox.keys[0].secret: Invalid value: \"REDACTED\": secrets must be base64 encoded",
		with("{kms: {name: k, endpoint: 'unix:///x'}}"):                                                                                          "KMSv1 is deprecated and not supported",
		strings.Replace(with("{identity: {}}"), "[secrets]", "['*']", 1):                                                                         "use '*.' to encrypt all the resources from core API group",
		strings.Replace(with("{identity: {}}"), "[secrets]", "[Secrets]", 1):                                                                     "should not contain capital letters",
		strings.Replace(with("{identity: {}}"), "[secrets]", "[secrets, secrets]", 1):                                                            "resources[0].resources[1]: Invalid value: \"secrets\": the same resource cannot be specified multiple times",
		strings.Replace(with("{identity: {}}"), "[secrets]", "['*.', secrets]", 1):                                                               "using overlapping resources",
		strings.Replace(with("{identity: {}}"), "[secrets]", "['*.*', x.y]", 1):                                                                  "using overlapping resources",
		strings.Replace(with("{identity: {}}"), "[secrets]", "['x.*']", 1):                                                                       "encrypting the same resource across groups is not supported",
		strings.Replace(with("{identity: {}}"), "[secrets]", "[events.events.k8s.io]", 1):                                                        "Use 'events' instead",
		strings.Replace(with("{identity: {}}"), "[secrets]", "[serviceipallocations]", 1):                                                        "resources which do not have REST API/s cannot be encrypted",
		head + "resources: [{resources: ['*.apps'], providers: [{identity: {}}]}, {resources: [deployments.apps], providers: [{identity: {}}]}]": "resources[1].resources[0]: Invalid value: \"deployments.apps\": the resource is masked by an earlier rule",
	} {
		_, err := encryption.ParseConfiguration([]byte(text))
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), "c2VjcmV0")
	}
}

// A configuration is refused, or encrypts what it can decrypt.
func FuzzParseConfiguration(f *testing.F) {
	f.Add([]byte(with(keys("aesgcm", "ab"), keys("aescbc", "c"), "{identity: {}}")))
	f.Add([]byte(with(keys("secretbox", "a"))))
	f.Add([]byte(head + "resources: [{resources: ['*.apps', '*.'], providers: [&a {identity: {}}, *a]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := encryption.ParseConfiguration(data)
		if err != nil {
			return
		}
		p, err := encryption.New(c, encryption.Options{})
		require.NoError(t, err)
		s := encryption.NewStore(memory.New(memory.Options{}), p, resource)
		_, err = s.Create(t.Context(), secretKey, []byte("value"), store.WriteOptions{})
		require.NoError(t, err)
		kv, _, err := s.Get(t.Context(), secretKey)
		require.NoError(t, err)
		require.Equal(t, "value", string(kv.Value))
		require.NoError(t, s.Close())
	})
}

// Any stored bytes are read, or are an error.
func FuzzDecrypt(f *testing.F) {
	f.Add([]byte("k8s:enc:aesgcm:v1:a:123456789012345678901234567890"))
	f.Add([]byte("k8s:enc:aescbc:v1:a:12345678901234561234567890123456"))
	f.Add([]byte("k8s:enc:secretbox:v1:a:1234567890123456123456789012345612345678"))
	f.Add([]byte("k8s:enc:aescbc:v1:a:1234567890123456"))
	f.Add([]byte("k8s:enc:"))
	f.Fuzz(func(t *testing.T, data []byte) {
		inner := memory.New(memory.Options{})
		_, err := inner.Create(t.Context(), secretKey, data, store.WriteOptions{})
		require.NoError(t, err)
		s, _ := open(t, inner, with(keys("aesgcm", "a"), keys("aescbc", "a"), keys("secretbox", "a"), "{identity: {}}"))
		_, _, err = s.Get(t.Context(), secretKey)
		require.NoError(t, err)
		require.NoError(t, s.Close())
	})
}
