package encryption

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/memory"
)

// kms is a plugin: a gRPC server at a Unix socket that encrypts with keys of its own.
type kms struct {
	socket string
	server *grpc.Server

	mu    sync.Mutex
	keys  map[string]gcm
	now   string // ID of the current key
	ill   string // what it says instead of ok
	calls map[string]int
}

func startKMS(t *testing.T) *kms {
	k := &kms{socket: filepath.Join(t.TempDir(), "kms.sock"), keys: map[string]gcm{}, calls: map[string]int{}}
	k.rotate(t, "one")
	k.serve(t)
	t.Cleanup(func() { k.server.Stop() })
	return k
}

// serve listens, again after the server was stopped.
func (k *kms) serve(t *testing.T) {
	l, err := net.Listen("unix", k.socket)
	require.NoError(t, err)
	server := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}))
	method := func(name string, f func([]byte) ([]byte, error)) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var request []byte
			if err := decode(&request); err != nil {
				return nil, err
			}
			k.mu.Lock()
			defer k.mu.Unlock()
			k.calls[name]++
			return f(request)
		}}
	}
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "v2.KeyManagementService", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{method("Status", k.status), method("Encrypt", k.encrypt), method("Decrypt", k.decrypt)}}, k)
	k.server = server
	go func() { _ = server.Serve(l) }()
}

func (k *kms) status([]byte) ([]byte, error) {
	healthz := "ok"
	if k.ill != "" {
		healthz = k.ill
	}
	return appendString(appendString(appendString(nil, 1, "v2"), 2, healthz), 3, k.now), nil
}

func (k *kms) encrypt(request []byte) ([]byte, error) {
	var plain []byte
	if err := eachField(request, func(f field) error {
		if f.number == 1 {
			plain = f.bytes
		}
		return nil
	}); err != nil {
		return nil, err
	}
	out := appendString(appendBytes(nil, 1, k.keys[k.now].seal("", plain, nil)), 2, k.now)
	return appendMap(out, 3, map[string][]byte{"vault.example.com": []byte("v1")}), nil
}

func (k *kms) decrypt(request []byte) ([]byte, error) {
	o := &encryptedObject{}
	if err := eachField(request, func(f field) error {
		switch f.number {
		case 1:
			o.seed = f.bytes
		case 3:
			o.keyID = string(f.bytes)
		case 4:
			return readEntry(f.bytes, &o.annotations)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	key, ok := k.keys[o.keyID]
	if !ok || string(o.annotations["vault.example.com"]) != "v1" {
		return nil, status.Error(codes.InvalidArgument, "unknown key")
	}
	plain, err := key.open(o.seed, nil)
	return appendBytes(nil, 1, plain), err
}

// rotate makes a new key the current one.
func (k *kms) rotate(t *testing.T, id string) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	aead, err := newGCM(secret)
	require.NoError(t, err)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[id], k.now = gcm{aead}, id
}

func (k *kms) called(method string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls[method]
}

func (k *kms) configuration(t *testing.T) *Configuration {
	c, err := ParseConfiguration([]byte(`{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: [secrets], providers: [
		{kms: {apiVersion: v2, name: vault, endpoint: "unix://` + k.socket + `", timeout: 2s}}, {identity: {}}]}]}`))
	require.NoError(t, err)
	return c
}

var secretResource = schema.GroupResource{Resource: "secrets"}

// kmsStore is a store of secrets over a memory store, as a server that starts has it.
func kmsStore(t *testing.T, k *kms, inner store.Store) (*Store, *Providers) {
	p, err := New(k.configuration(t), Options{})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return NewStore(inner, p, func(string) (schema.GroupResource, bool) { return secretResource, true }), p
}

// Values are encrypted with a seed that the plugin has encrypted once, and read by a server that starts, with
// one call of the plugin for all of them. After a change of the plugin's key values are stale.
func TestKMS(t *testing.T) {
	k, inner := startKMS(t), memory.New(memory.Options{})
	t.Cleanup(func() { require.NoError(t, inner.Close()) })
	s, p := kmsStore(t, k, inner)
	for _, name := range []string{"a", "b", "c"} {
		_, err := s.Create(t.Context(), "/secrets/"+name, []byte("pass phrase "+name), store.WriteOptions{})
		require.NoError(t, err)
		kv, _, err := inner.Get(t.Context(), "/secrets/"+name)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(kv.Value), "k8s:enc:kms:v2:vault:"))
		require.NotContains(t, string(kv.Value), "pass")
	}
	require.Equal(t, 1, k.called("Encrypt"))
	require.NoError(t, p.Health(t.Context()))

	again, _ := kmsStore(t, k, inner)
	list, err := again.List(t.Context(), "/secrets/", store.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 3)
	require.Equal(t, "pass phrase b", string(list.Items[1].Value))
	require.False(t, list.Items[1].Stale)
	require.Equal(t, 1, k.called("Decrypt"))

	// A value must not be read at another key.
	kv, _, err := inner.Get(t.Context(), "/secrets/a")
	require.NoError(t, err)
	_, err = inner.Create(t.Context(), "/secrets/moved", kv.Value, store.WriteOptions{})
	require.NoError(t, err)
	moved, _, err := s.Get(t.Context(), "/secrets/moved")
	require.NoError(t, err)
	require.Error(t, store.ReadError(moved.Value))

	k.rotate(t, "two")
	third, _ := kmsStore(t, k, inner)
	_, err = third.Create(t.Context(), "/secrets/d", []byte("d"), store.WriteOptions{})
	require.NoError(t, err)
	for name, stale := range map[string]bool{"a": true, "d": false} {
		kv, _, err := third.Get(t.Context(), "/secrets/"+name)
		require.NoError(t, err)
		require.Equal(t, stale, kv.Stale, name)
	}
}

// While the plugin cannot be reached, values with a known seed are read and written, others fail for now, and
// the reason is in the health check.
func TestKMSOutage(t *testing.T) {
	k, inner := startKMS(t), memory.New(memory.Options{})
	t.Cleanup(func() { require.NoError(t, inner.Close()) })
	s, _ := kmsStore(t, k, inner)
	_, err := s.Create(t.Context(), "/secrets/a", []byte("a"), store.WriteOptions{})
	require.NoError(t, err)
	k.server.Stop()
	_, err = s.Create(t.Context(), "/secrets/b", []byte("b"), store.WriteOptions{})
	require.NoError(t, err)
	cold, p := kmsStore(t, k, inner)
	_, _, err = cold.Get(t.Context(), "/secrets/a")
	away, ok := errors.AsType[*store.UnavailableError](err)
	require.True(t, ok, err)
	require.False(t, away.MaybeApplied)
	_, err = cold.List(t.Context(), "/secrets/", store.ListOptions{})
	require.ErrorAs(t, err, &away)
	err = cold.Watch(t.Context(), "/secrets/", 0, store.WatchOptions{}, func(store.Batch) error { return nil })
	require.ErrorAs(t, err, &away)
	_, err = cold.Create(t.Context(), "/secrets/c", []byte("c"), store.WriteOptions{})
	require.ErrorAs(t, err, &away)
	require.ErrorContains(t, p.Health(t.Context()), "vault")

	k.serve(t)
	require.Eventually(t, func() bool { return p.Health(t.Context()) == nil }, time.Minute, 50*time.Millisecond)
	list, err := cold.List(t.Context(), "/secrets/", store.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 2)
	k.mu.Lock()
	k.ill = "sealed"
	k.mu.Unlock()
	other, p := kmsStore(t, k, inner)
	require.ErrorContains(t, p.Health(t.Context()), "sealed")
	_, err = other.Create(t.Context(), "/secrets/c", []byte("c"), store.WriteOptions{})
	require.Error(t, err)
}

// A changed configuration keeps the plugins that it still names.
func TestKMSReload(t *testing.T) {
	k, inner := startKMS(t), memory.New(memory.Options{})
	t.Cleanup(func() { require.NoError(t, inner.Close()) })
	s, p := kmsStore(t, k, inner)
	_, err := s.Create(t.Context(), "/secrets/a", []byte("a"), store.WriteOptions{})
	require.NoError(t, err)
	require.NoError(t, p.Set(k.configuration(t)))
	_, err = s.Create(t.Context(), "/secrets/b", []byte("b"), store.WriteOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, k.called("Encrypt"), "the seed is still in use")
}

func TestKMSConfiguration(t *testing.T) {
	five := int32(5)
	for want, c := range map[string]KMSConfiguration{
		"KMSv1 is deprecated":      {APIVersion: "v1", Name: "a", Endpoint: "unix:///a"},
		"name is a required":       {APIVersion: "v2", Endpoint: "unix:///a"},
		"must not contain a colon": {APIVersion: "v2", Name: "a:b", Endpoint: "unix:///a"},
		"cachesize is not":         {APIVersion: "v2", Name: "a", Endpoint: "unix:///a", CacheSize: &five},
		"positive":                 {APIVersion: "v2", Name: "a", Endpoint: "unix:///a", Timeout: &metav1.Duration{}},
		"unix:///PATH":             {APIVersion: "v2", Name: "a", Endpoint: "http://a"},
	} {
		file := Configuration{Resources: []ResourceConfiguration{{Resources: []string{"secrets"}, Providers: []ProviderConfiguration{{KMS: &c}}}}}
		require.ErrorContains(t, file.validate().Err(), want)
	}
	twice := ProviderConfiguration{KMS: &KMSConfiguration{APIVersion: "v2", Name: "a", Endpoint: "unix:///a"}}
	file := Configuration{Resources: []ResourceConfiguration{{Resources: []string{"secrets"}, Providers: []ProviderConfiguration{twice, twice}}}}
	require.ErrorContains(t, file.validate().Err(), "two providers have this name")
}

// A stored value that was changed, by whatever, is an error and not a panic.
func FuzzKMSObject(f *testing.F) {
	o := &encryptedObject{keyID: "one", seed: []byte("seed"), annotations: map[string][]byte{"a.b": []byte("c")}, derived: true}
	f.Add(appendBytes(o.wrapped(), 1, make([]byte, 80)))
	f.Add([]byte{0x0a, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := readObject(data)
		if err == nil && o.validate() == nil {
			back, err := readObject(appendBytes(o.wrapped(), 1, o.data))
			require.NoError(t, err)
			require.Equal(t, o.identity(), back.identity())
		}
	})
}
