package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/etcd"
)

// relay is an address at which peers reach a server, until it is cut.
type relay struct {
	net.Listener
	to    string
	mu    sync.Mutex
	conns []net.Conn
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return &relay{Listener: l}
}

// flags are those that publish the address.
func (r *relay) flags() []string {
	a := r.Addr().(*net.TCPAddr)
	return []string{"--peer-advertise-ip=" + a.IP.String(), fmt.Sprint("--peer-advertise-port=", a.Port)}
}

// run passes connections on to a server.
func (r *relay) run(to string) {
	for {
		in, err := r.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			_ = in.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, in, out)
		r.mu.Unlock()
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].Close()
				_ = pair[1].Close()
			}()
		}
	}
}

// cut closes the address and its connections.
func (r *relay) cut() {
	_ = r.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
}

// mixed are two servers over one etcd, upstream's and this one, of which each has APIs that the other lacks.
type mixed struct {
	t            *testing.T
	etcd         string
	theirs, ours *live
	relay        *relay // to ours
}

func startMixed(t *testing.T) *mixed {
	t.Helper()
	m := &mixed{t: t, etcd: startPeerEtcd(t), relay: newRelay(t)}
	dir := t.TempDir()
	ca, err := certs.NewAuthority("peers")
	require.NoError(t, err)
	pair, err := ca.Serving("kube-apiserver", "kubernetes.default.svc", "127.0.0.1")
	require.NoError(t, err)
	for name, data := range map[string][]byte{"peers.ca": ca.CertPEM(), "serving.crt": pair.CertPEM(), "serving.key": pair.KeyPEM()} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	flags := append(frontFlags(t, dir), "--etcd-servers="+m.etcd, "--peer-ca-file="+filepath.Join(dir, "peers.ca"),
		"--tls-cert-file="+filepath.Join(dir, "serving.crt"), "--tls-private-key-file="+filepath.Join(dir, "serving.key"))
	with := func(more ...string) []string { return append(more, flags...) }
	// Upstream's --peer-advertise-ip and --peer-advertise-port have no effect in 1.36.3.
	m.theirs = startUpstreamAs(t, "upstream", with("--advertise-address=127.0.0.1", "--feature-gates=ClusterTrustBundle=true", "--runtime-config=certificates.k8s.io/v1beta1=true")...)
	m.ours = startLive(t, with(append(m.relay.flags(), "--storage-backend=etcd3", "--generate-service-account-key", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16", "--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1alpha2=true")...)...)
	go m.relay.run(m.ours.host)
	return m
}

// theirOwn and ourOwn are resources that only one of the servers has, with an object.
const (
	theirOwn = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles"
	bundle   = `{"metadata":{"name":"x"},"spec":{"trustBundle":%q}}`
	ourOwn   = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/workloads"
	workload = `{"metadata":{"name":"x"},"spec":{"podGroupTemplates":[{"name":"a","schedulingPolicy":{"basic":{}}}]}}`
)

// through sends requests for a resource that another server has, and returns what is to be the same whichever
// server passes them on.
func through(t *testing.T, l *live, path, object string) (out []string) {
	t.Helper()
	note := func(what string, r answer) string {
		require.NoError(t, r.err, what)
		var body struct{ Kind, Reason string }
		_ = json.Unmarshal([]byte(r.body), &body)
		out = append(out, fmt.Sprint(what, ": ", r.code, " ", body.Reason))
		return r.body
	}
	note("create", l.ask(l.http2, "admin", "POST", path, object))
	note("create again", l.ask(l.http2, "admin", "POST", path, object))
	require.Contains(t, note("get", l.ask(l.http2, "admin", "GET", path+"/x", "")), `"name":"x"`)
	require.Contains(t, note("list", l.ask(l.http2, "admin", "GET", path+"?limit=1&labelSelector=a%21%3Db", "")), `"name":"x"`)
	require.Contains(t, note("watch", l.ask(l.http2, "admin", "GET", path+"?watch=1&timeoutSeconds=1", "")), `"ADDED"`)
	note("another user", l.ask(l.http2, "user", "GET", path, ""))
	note("no user", l.ask(l.http2, "nobody", "GET", path, ""))
	note("missing", l.ask(l.http2, "admin", "GET", path+"/y", ""))
	once := l.request("admin", "GET", path, "")
	once.Header.Set("X-Kubernetes-Peer-Proxied", "true")
	resp, err := l.http2.Do(once)
	require.NoError(t, err)
	_ = resp.Body.Close()
	out = append(out, fmt.Sprint("passed on before: ", resp.StatusCode))
	note("delete", l.ask(l.http2, "admin", "DELETE", path+"/x", ""))
	note("deleted", l.ask(l.http2, "admin", "GET", path+"/x", ""))
	return out
}

// document returns the aggregated discovery document of a server.
func document(l *live, profile string) string {
	l.t.Helper()
	r := l.request("admin", "GET", "/apis", "")
	r.Header.Set("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"+profile)
	resp, err := l.http2.Do(r)
	require.NoError(l.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(l.t, err)
	require.Equal(l.t, 200, resp.StatusCode)
	return string(body)
}

// TestMixedVersionsBeside runs kube-apiserver of Kubernetes and this one over one etcd: each passes on
// requests for what only the other has, both have the same merged discovery document and write the same into
// etcd, and a server that cannot be reached is unavailable.
func TestMixedVersionsBeside(t *testing.T) {
	m := startMixed(t)
	pem, err := os.ReadFile(m.ca())
	require.NoError(t, err)
	ours, theirs := m.ours, m.theirs
	for _, l := range []*live{ours, theirs} {
		l.until("it reaches the other", func() bool { return l.code(l.http2, theirOwn) == 200 && l.code(l.http2, ourOwn) == 200 })
	}
	require.Equal(t, through(t, theirs, ourOwn, workload), through(t, ours, theirOwn, fmt.Sprintf(bundle, pem)))

	require.Equal(t, "403 Forbidden", upgradeTo(theirs, theirOwn+"?watch=1"), "there is no Origin")
	require.Equal(t, "403 Forbidden", upgradeTo(ours, theirOwn+"?watch=1"))
	require.Equal(t, "401 Unauthorized", upgradeTo(theirs, ourOwn+"?watch=1"), "docs/differences.md")

	require.Contains(t, document(ours, ";profile=nopeer"), `"workloads"`)
	require.NotContains(t, document(ours, ";profile=nopeer"), `"clustertrustbundles"`)
	require.NotContains(t, document(theirs, ";profile=nopeer"), `"workloads"`)
	for _, own := range []string{`"workloads"`, `"clustertrustbundles"`} {
		require.Contains(t, document(ours, ""), own)
	}
	require.JSONEq(t, document(theirs, ""), document(ours, ""))
	m.published()
	m.measured()

	// Each loses the other.
	m.relay.cut()
	want := theirs.ask(theirs.http2, "admin", "GET", ourOwn, "")
	require.NoError(t, theirs.cmd.Process.Kill())
	<-theirs.ended
	got := ours.ask(ours.http2, "admin", "GET", theirOwn, "")
	require.Equal(t, 503, want.code)
	require.Equal(t, 503, got.code)
	without := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	require.Contains(t, without.ReplaceAllString(got.body, "ADDRESS"), strings.TrimSpace(without.ReplaceAllString(want.body, "ADDRESS")))
	ours.until("its address has expired", func() bool {
		r := ours.ask(ours.http2, "admin", "GET", theirOwn, "")
		return r.code == 503 && strings.Contains(r.body, "Error getting ip and port info of the remote server while proxying")
	})
}

// ca is a file with a certificate.
func (m *mixed) ca() string {
	for _, arg := range m.ours.cmd.Args {
		if file, ok := strings.CutPrefix(arg, "--peer-ca-file="); ok {
			return file
		}
	}
	return ""
}

// published compares what the servers write about themselves.
func (m *mixed) published() {
	m.t.Helper()
	st, err := etcd.New(m.t.Context(), etcd.Options{Endpoints: []string{m.etcd}})
	require.NoError(m.t, err)
	defer st.Close()
	all, err := st.List(m.t.Context(), "/peerserverleases/", store.ListOptions{})
	require.NoError(m.t, err)
	require.Len(m.t, all.Items, 2)
	var found [2]corev1.Endpoints
	ports := map[int32]bool{}
	for i, kv := range all.Items {
		apiVersion, kind, err := codec.UnmarshalEnvelope(kv.Value, &found[i])
		require.NoError(m.t, err)
		require.Equal(m.t, "v1 Endpoints", apiVersion+" "+kind)
		e := &found[i]
		require.Equal(m.t, strings.TrimPrefix(kv.Key, "/peerserverleases/"), e.Labels["apiserverIdentity"])
		require.Positive(m.t, e.Generation)
		ports[e.Subsets[0].Ports[0].Port] = true
		e.Labels, e.Generation, e.Subsets[0].Ports[0].Port = nil, 0, 0
	}
	require.Equal(m.t, found[0], found[1])
	require.Len(m.t, ports, 2)
	var leases struct {
		Items []struct {
			Metadata struct{ Annotations map[string]string }
		}
	}
	r := m.ours.ask(m.ours.http2, "admin", "GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=apiserver.kubernetes.io/identity%3Dkube-apiserver", "")
	require.NoError(m.t, json.Unmarshal([]byte(r.body), &leases))
	var addresses []string
	for _, l := range leases.Items {
		addresses = append(addresses, l.Metadata.Annotations["kubernetes.io/peer-advertise-address"])
	}
	require.ElementsMatch(m.t, []string{m.theirs.host, m.relay.Addr().String()}, addresses)
}

// measured compares the names and labels of the metrics that both have, and what the other one's resource is.
func (m *mixed) measured() {
	m.t.Helper()
	about := regexp.MustCompile(`(?m)^(?:apiserver_rerouted|apiserver_peer_|aggregator_discovery_(?:peer|nopeer))[^ ]*`)
	label := regexp.MustCompile(`="[^"]*"`)
	names := func(l *live) map[string]bool {
		out := map[string]bool{}
		for _, series := range about.FindAllString(l.ask(l.http2, "admin", "GET", "/metrics", "").body, -1) {
			out[label.ReplaceAllString(series, "")] = true
		}
		return out
	}
	require.Equal(m.t, names(m.theirs), names(m.ours))
	require.Contains(m.t, m.ours.ask(m.ours.http2, "admin", "GET", "/metrics", "").body, `apiserver_rerouted_request_total{code="201",group="certificates.k8s.io",resource="clustertrustbundles",version="v1beta1"} 1`)
	require.Equal(m.t, http.StatusOK, m.ours.code(m.ours.http2, "/readyz"))
}
