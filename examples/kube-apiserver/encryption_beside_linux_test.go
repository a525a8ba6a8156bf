package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/keelson-dev/keelson/store/etcd"
)

// keyService is a key management service: a gRPC server at a Unix socket that encrypts by a key of its own.
type keyService struct {
	cipher cipher.AEAD
	server *grpc.Server
}

// rawMessage passes the bytes of messages on, which the methods of keyService read and write themselves.
type rawMessage struct{}

func (rawMessage) Name() string                  { return "proto" }
func (rawMessage) Marshal(v any) ([]byte, error) { return v.([]byte), nil }
func (rawMessage) Unmarshal(data []byte, out any) error {
	*out.(*[]byte) = slices.Clone(data)
	return nil
}

// startKeyService listens at a socket until it is stopped.
func startKeyService(t *testing.T, socket string) *keyService {
	block, err := aes.NewCipher([]byte(strings.Repeat("k", 32)))
	require.NoError(t, err)
	k := &keyService{server: grpc.NewServer(grpc.ForceServerCodec(rawMessage{}))}
	k.cipher, err = cipher.NewGCMWithRandomNonce(block)
	require.NoError(t, err)
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	method := func(name string, answer func(of []byte) ([]byte, error)) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var request []byte
			if err := decode(&request); err != nil {
				return nil, err
			}
			return answer(firstField(request))
		}}
	}
	const keyID = "key-1"
	k.server.RegisterService(&grpc.ServiceDesc{ServiceName: "v2.KeyManagementService", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{
		method("Status", func([]byte) ([]byte, error) { return message("v2", "ok", keyID), nil }),
		method("Encrypt", func(plain []byte) ([]byte, error) {
			return message(string(k.cipher.Seal(nil, nil, plain, nil)), keyID), nil
		}),
		method("Decrypt", func(sealed []byte) ([]byte, error) {
			plain, err := k.cipher.Open(nil, nil, sealed, nil)
			return message(string(plain)), err
		}),
	}}, k)
	go func() { _ = k.server.Serve(l) }()
	t.Cleanup(k.server.Stop)
	return k
}

// message is a message whose fields, from 1, are strings.
func message(fields ...string) (out []byte) {
	for i, text := range fields {
		out = protowire.AppendString(protowire.AppendTag(out, protowire.Number(i+1), protowire.BytesType), text)
	}
	return out
}

// firstField returns the field 1 of a message; nil if there is none.
func firstField(data []byte) []byte {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 || kind != protowire.BytesType {
			return nil
		}
		value, m := protowire.ConsumeBytes(data[n:])
		if m < 0 || number == 1 {
			return value
		}
		data = data[n+m:]
	}
	return nil
}

// encryptionResources has a resource for each provider, and wildcards.
const encryptionResources = `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- {resources: [secrets], providers: [{aescbc: {keys: [%[1]s]}}, {aescbc: {keys: [%[2]s]}}, {identity: {}}]}
- {resources: [configmaps], providers: [{aesgcm: {keys: [%[1]s]}}, {aesgcm: {keys: [%[2]s]}}]}
- {resources: [serviceaccounts], providers: [{secretbox: {keys: [%[1]s]}}, {secretbox: {keys: [%[2]s]}}]}
- {resources: [limitranges], providers: [{identity: {}}, {aescbc: {keys: [%[1]s]}}]}
- {resources: [deployments.apps], providers: [{kms: {apiVersion: v2, name: vault, endpoint: "unix://%[3]s"}}]}
- {resources: ['*.batch'], providers: [{secretbox: {keys: [%[1]s]}}, {secretbox: {keys: [%[2]s]}}]}
- {resources: ['*.'], providers: [{aesgcm: {keys: [%[1]s]}}, {aesgcm: {keys: [%[2]s]}}]}
- {resources: ['*.*'], providers: [{aescbc: {keys: [%[1]s]}}, {aescbc: {keys: [%[2]s]}}]}
`

// encryptedKinds are the collections of the test, the folder of their objects in the store, the prefix of
// their values without the name of the key, and an object without its metadata.
var encryptedKinds = []struct{ path, folder, prefix, body string }{
	{"/api/v1/namespaces/default/secrets", "secrets", "k8s:enc:aescbc:v1:", `"stringData":{"k":"plain text"}`},
	{"/api/v1/namespaces/default/configmaps", "configmaps", "k8s:enc:aesgcm:v1:", `"data":{"k":"plain text"}`},
	{"/api/v1/namespaces/default/serviceaccounts", "serviceaccounts", "k8s:enc:secretbox:v1:", `"automountServiceAccountToken":false`},
	{"/api/v1/namespaces/default/limitranges", "limitranges", "", `"spec":{"limits":[]}`},
	{"/apis/apps/v1/namespaces/default/deployments", "deployments", "k8s:enc:kms:v2:vault:", `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"x"}]}}}`},
	{"/apis/batch/v1/namespaces/default/cronjobs", "cronjobs", "k8s:enc:secretbox:v1:", `"spec":{"schedule":"1 1 1 1 1","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"x"}]}}}}}`},
	{"/api/v1/namespaces/default/podtemplates", "podtemplates", "k8s:enc:aesgcm:v1:", `"template":{"spec":{"containers":[{"name":"a","image":"x"}]}}`},
	{"/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", "networkpolicies", "k8s:enc:aescbc:v1:", `"spec":{"podSelector":{}}`},
	{"/apis/example.com/v1/namespaces/default/things", "example.com/things", "k8s:enc:aescbc:v1:", `"apiVersion":"example.com/v1","kind":"Thing","spec":"plain text"`},
}

const encryptedThings = `{"metadata":{"name":"things.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},
	"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"string"}}}}}]}}`

// keyName is the name of the key in a value, which is not compared for the services, where it is none.
var keyName = regexp.MustCompile(`^k8s:enc:(?:aescbc|aesgcm|secretbox):v1:(\w+):`)

// TestEncryptionBeside runs both servers over one etcd and one encryption configuration: each reads what the
// other has written, the values have the same prefix, a rotation of the keys by the file reaches both, and
// the health of the key management service is shown at the same paths.
func TestEncryptionBeside(t *testing.T) {
	endpoint := startPeerEtcd(t)
	socket := filepath.Join(t.TempDir(), "kms.sock")
	service := startKeyService(t, socket)
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	write := func(first, second string) {
		text := fmt.Sprintf(encryptionResources, first, second, socket)
		require.NoError(t, os.WriteFile(file+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	one, two := cipherKey("one", '1'), cipherKey("two", '2')
	write(one, two)
	flags := []string{"--etcd-servers=" + endpoint, "--encryption-provider-config=" + file, "--encryption-provider-config-automatic-reload"}
	theirs := startUpstream(t, flags...)
	ours := startLive(t, append(flags, "--storage-backend=etcd3", "--generate-service-account-key")...)
	st, err := etcd.New(t.Context(), etcd.Options{Endpoints: []string{endpoint}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })

	exchange := func(name, key string) {
		for _, kind := range encryptedKinds {
			for i, writer := range []*live{theirs, ours} {
				name := fmt.Sprintf("%s-%d", name, i)
				writer.must(http.StatusCreated, "POST", kind.path, fmt.Sprintf(`{"metadata":{"name":%q},%s}`, name, kind.body))
				kv, _, err := st.Get(t.Context(), "/"+kind.folder+"/default/"+name)
				require.NoError(t, err)
				if kind.prefix == "" {
					require.NotContains(t, string(kv.Value), "k8s:enc:", "writer %d", i)
				} else {
					require.True(t, strings.HasPrefix(string(kv.Value), kind.prefix), "writer %d of %s: %.40q", i, kind.path, kv.Value)
				}
				if named := keyName.FindStringSubmatch(string(kv.Value)); named != nil {
					require.Equal(t, key, named[1], "writer %d of %s", i, kind.path)
				}
				require.NotContains(t, string(kv.Value), "plain text")
				var read [2]any
				for j, reader := range []*live{theirs, ours} {
					require.NoError(t, json.Unmarshal([]byte(reader.must(http.StatusOK, "GET", kind.path+"/"+name, "").body), &read[j]))
				}
				require.Equal(t, read[0], read[1], "writer %d of %s", i, kind.path)
			}
		}
	}
	theirs.must(http.StatusCreated, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", encryptedThings)
	for _, l := range []*live{theirs, ours} {
		l.until("the custom resource is served", func() bool { return l.code(l.http2, "/apis/example.com/v1/things") == http.StatusOK })
	}
	exchange("before", "one")

	metrics := func(l *live) []string { return reloadMetrics(l.must(http.StatusOK, "GET", "/metrics", "").body) }
	require.Equal(t, metrics(theirs), metrics(ours))
	write(two, one)
	for _, l := range []*live{theirs, ours} {
		l.until("the file is in force", func() bool {
			return strings.Contains(strings.Join(metrics(l), "\n"), `automatic_reloads_total{status="success"`)
		})
	}
	require.Equal(t, metrics(theirs), metrics(ours))
	exchange("after", "two")

	paths := []string{"/readyz/kms-providers", "/healthz/kms-providers", "/livez/kms-providers", "/readyz/kms-provider-0", "/healthz/kms-provider-0", "/livez", "/readyz", "/healthz"}
	codes := func(l *live) (out []int) {
		for _, path := range paths {
			out = append(out, l.code(l.http2, path))
		}
		return out
	}
	require.Equal(t, []int{200, 200, 404, 404, 404, 200, 200, 200}, codes(theirs))
	require.Equal(t, codes(theirs), codes(ours))
	service.server.Stop()
	for _, l := range []*live{theirs, ours} {
		l.until("the service is missed", func() bool { return l.code(l.http2, "/readyz") == http.StatusInternalServerError })
	}
	require.Equal(t, []int{500, 500, 404, 404, 404, 200, 500, 500}, codes(theirs))
	require.Equal(t, codes(theirs), codes(ours))
	startKeyService(t, socket)
	for _, l := range []*live{theirs, ours} {
		l.until("the service is back", func() bool { return l.code(l.http2, "/readyz") == http.StatusOK })
	}
}

// serverHash is the hash of a server's identity, which differs.
var serverHash = regexp.MustCompile(`apiserver_id_hash="sha256:[0-9a-f]{64}"`)

// reloadMetrics returns the series of the encryption configuration without the values of times, sorted.
func reloadMetrics(text string) (out []string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "apiserver_encryption_config_controller_") {
			continue
		}
		line = strings.TrimSpace(serverHash.ReplaceAllString(line, `apiserver_id_hash="?"`))
		name, labels, _ := strings.Cut(line, "{")
		labels, value, _ := strings.Cut(labels, "} ")
		if strings.HasSuffix(name, "_seconds") {
			value = "?"
		}
		sorted := strings.Split(labels, ",")
		slices.Sort(sorted)
		slices.Reverse(sorted) // status comes first
		out = append(out, name+"{"+strings.Join(sorted, ",")+"} "+value)
	}
	slices.Sort(out)
	return out
}
