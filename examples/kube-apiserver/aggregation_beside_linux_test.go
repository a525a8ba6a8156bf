package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/storetest"
)

const (
	apiServices = "/apis/apiregistration.k8s.io/v1/apiservices"
	wardle      = "/apis/wardle.example.com/v1alpha1"
	trustMap    = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
)

// aggregated is a server, upstream's or this one, before sample-apiserver of Kubernetes.
type aggregated struct {
	*live
	dir, host, port string // of the sample
	serving         *certs.Authority
	etcd, prefix    string
	sample          *exec.Cmd
	sampleLog       *bytes.Buffer
	ended           chan struct{}
	seen            []string
}

// frontFlags are those by which a server identifies itself to aggregated ones, with the files in dir.
func frontFlags(t *testing.T, dir string) []string {
	t.Helper()
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	for _, name := range []string{"front", "clients"} {
		ca, err := certs.NewAuthority(name)
		require.NoError(t, err)
		pair, err := ca.Client("front-proxy-client")
		require.NoError(t, err)
		write(name+".ca", ca.CertPEM())
		write(name+".crt", pair.CertPEM())
		write(name+".key", pair.KeyPEM())
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	return []string{"--authorization-mode=RBAC", "--enable-aggregator-routing=true", "--client-ca-file=" + at("clients.ca"), "--requestheader-client-ca-file=" + at("front.ca"),
		"--requestheader-allowed-names=front-proxy-client", "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-uid-headers=X-Remote-Uid", "--proxy-client-cert-file=" + at("front.crt"), "--proxy-client-key-file=" + at("front.key")}
}

// note keeps an observation, which is to be the same on both servers.
func (a *aggregated) note(format string, args ...any) {
	a.seen = append(a.seen, fmt.Sprintf(format, args...))
}

// send sends a request with headers, and returns its code and its body as JSON.
func (a *aggregated) send(token, method, path, body string, header ...string) (int, map[string]any) {
	a.t.Helper()
	r := a.request(token, method, path, body)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := a.http2.Do(r)
	require.NoError(a.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(a.t, err)
	var out map[string]any
	_ = json.Unmarshal(data, &out) // text stays out of the comparison
	return resp.StatusCode, out
}

// put creates an object, or fails the test.
func (a *aggregated) put(path, body string) {
	a.t.Helper()
	code, out := a.send("admin", "POST", path, body)
	require.Equal(a.t, 201, code, "%s: %v", path, out)
}

// condition waits until Available has a reason, and notes it with status and, unless it names addresses,
// message.
func (a *aggregated) condition(name, reason string) {
	a.t.Helper()
	a.until(name+" has the reason "+reason, func() bool {
		_, o := a.send("admin", "GET", apiServices+"/"+name, "")
		status, _ := o["status"].(map[string]any)
		conditions, _ := status["conditions"].([]any)
		if len(conditions) != 1 {
			return false
		}
		c := conditions[0].(map[string]any)
		if c["reason"] != reason {
			return false
		}
		if reason == "FailedDiscoveryCheck" {
			c["message"], _, _ = strings.Cut(c["message"].(string), " https:")
		}
		a.note("%v %v %v %v", c["type"], c["status"], reason, c["message"])
		return true
	})
}

// register is the APIService, with what is special.
func (a *aggregated) register(method, more string) {
	a.t.Helper()
	path, kind := apiServices, "application/json"
	body := `{"metadata":{"name":"v1alpha1.wardle.example.com"},"spec":{"group":"wardle.example.com","version":"v1alpha1","groupPriorityMinimum":1000,"versionPriority":15,"service":{"namespace":"wardle","name":"api","port":8443},` + more + `}}`
	if method == "PATCH" {
		path, kind, body = path+"/v1alpha1.wardle.example.com", "application/merge-patch+json", `{"spec":{`+more+`}}`
	}
	code, out := a.send("admin", method, path, body, "Content-Type", kind)
	require.Less(a.t, code, 300, "%v", out)
}

// kubeconfig is that of the sample, which is the user "user".
func (a *aggregated) kubeconfig() string {
	path := filepath.Join(a.dir, "kubeconfig")
	require.NoError(a.t, os.WriteFile(path, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],
		"clusters":[{"name":"k","cluster":{"server":"https://`+a.live.host+`","insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":{"token":"user"}}]}`), 0o600))
	return path
}

// start starts the sample.
func (a *aggregated) start() {
	a.t.Helper()
	pair, err := a.serving.Serving("api.wardle.svc", "api.wardle.svc")
	require.NoError(a.t, err)
	crt, key, config := filepath.Join(a.dir, "sample.crt"), filepath.Join(a.dir, "sample.key"), a.kubeconfig()
	require.NoError(a.t, os.WriteFile(crt, pair.CertPEM(), 0o600))
	require.NoError(a.t, os.WriteFile(key, pair.KeyPEM(), 0o600))
	a.sample, a.sampleLog, a.ended = runPeer(a.t, seeds.Peer(a.t, "sample-apiserver"), "--etcd-servers="+a.etcd, "--etcd-prefix="+a.prefix, "--bind-address=0.0.0.0", "--secure-port="+a.port, "--tls-cert-file="+crt, "--tls-private-key-file="+key,
		"--kubeconfig="+config, "--authentication-kubeconfig="+config, "--authorization-kubeconfig="+config)
}

// rights are those of the sample's user, as its manifests give them.
func (a *aggregated) rights() {
	const rbac = "/apis/rbac.authorization.k8s.io/v1"
	subject := `"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"user"}]`
	a.put(rbac+"/clusterroles", `{"metadata":{"name":"sample"},"rules":[{"apiGroups":[""],"resources":["namespaces"],"verbs":["get","watch","list"]},
		{"apiGroups":["admissionregistration.k8s.io"],"resources":["*"],"verbs":["get","watch","list"]},
		{"apiGroups":["flowcontrol.apiserver.k8s.io"],"resources":["*"],"verbs":["list","watch"]}]}`)
	a.put(rbac+"/clusterrolebindings", `{"metadata":{"name":"sample"},`+subject+`,"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"sample"}}`)
	a.put(rbac+"/clusterrolebindings", `{"metadata":{"name":"sample-auth"},`+subject+`,"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"system:auth-delegator"}}`)
	a.put(rbac+"/namespaces/kube-system/rolebindings", `{"metadata":{"name":"sample-trust"},`+subject+`,"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"extension-apiserver-authentication-reader"}}`)
}

// unavailable walks through what an APIService lacks, one after the other.
func (a *aggregated) unavailable() {
	a.t.Helper()
	const name = "v1alpha1.wardle.example.com"
	another, err := certs.NewAuthority("another")
	require.NoError(a.t, err)
	bundle := func(ca *certs.Authority) string {
		return `"caBundle":"` + base64.StdEncoding.EncodeToString(ca.CertPEM()) + `"`
	}
	a.register("POST", bundle(another))
	a.condition(name, "ServiceNotFound")
	code, _ := a.send("admin", "GET", wardle, "")
	a.note("without a service: %d", code)
	a.put("/api/v1/namespaces", `{"metadata":{"name":"wardle"}}`)
	a.put("/api/v1/namespaces/wardle/services", `{"metadata":{"name":"api"},"spec":{"ports":[{"name":"api","port":443,"targetPort":8443}]}}`)
	a.condition(name, "ServicePortError")
	a.register("PATCH", `"service":{"port":443}`)
	a.condition(name, "EndpointsNotFound")
	slice := func(ready bool) string {
		return fmt.Sprintf(`{"metadata":{"name":"api","labels":{"kubernetes.io/service-name":"api"}},"addressType":"IPv4","ports":[{"name":"api","port":%s}],"endpoints":[{"addresses":[%q],"conditions":{"ready":%t}}]}`, a.port, a.host, ready)
	}
	const slices = "/apis/discovery.k8s.io/v1/namespaces/wardle/endpointslices"
	a.put(slices, slice(false))
	a.condition(name, "MissingEndpoints")
	code, out := a.send("admin", "PUT", slices+"/api", slice(true))
	require.Equal(a.t, 200, code, out)
	a.condition(name, "FailedDiscoveryCheck")
	a.start()
	a.until("the sample listens", func() bool {
		c, err := net.Dial("tcp", net.JoinHostPort(a.host, a.port))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	a.condition(name, "FailedDiscoveryCheck") // its certificate is of another authority
	code, _ = a.send("admin", "GET", wardle, "")
	a.note("without its authority: %d", code)
	a.register("PATCH", bundle(a.serving))
	a.condition(name, "Passed")
}

// requests are those that the sample serves.
func (a *aggregated) requests() {
	a.t.Helper()
	const flunders = wardle + "/namespaces/default/flunders"
	object := func(name, reference string) string {
		return `{"apiVersion":"wardle.example.com/v1alpha1","kind":"Flunder","metadata":{"name":"` + name + `"},"spec":{"reference":"` + reference + `"}}`
	}
	for _, r := range [][]string{
		{"admin", "POST", flunders, object("a", "")}, {"admin", "POST", flunders, object("a", "")}, {"admin", "POST", flunders, object("", "")}, {"admin", "POST", flunders, "{"},
		{"admin", "GET", flunders + "/a", ""}, {"admin", "GET", flunders, ""}, {"admin", "GET", flunders + "/none", ""}, {"admin", "PATCH", flunders + "/a", `{"metadata":{"labels":{"a":"b"}}}`},
		{"admin", "GET", flunders + "?labelSelector=a%3Db", ""}, {"admin", "GET", flunders + "?watch=1&timeoutSeconds=1", ""}, {"user", "GET", flunders, ""}, {"user", "GET", wardle, ""}, {"unknown", "GET", flunders, ""},
		{"admin", "GET", wardle + "/fischers", ""}, {"admin", "GET", wardle + "/none", ""}, {"admin", "DELETE", flunders + "/a", ""}, {"admin", "OPTIONS", flunders, ""},
	} {
		kind := "application/json"
		if r[1] == "PATCH" {
			kind = "application/merge-patch+json"
		}
		code, out := a.send(r[0], r[1], r[2], r[3], "Content-Type", kind)
		a.note("%v: %d %v %v", r[:3], code, out["kind"], out["reason"])
	}
	code, out := a.send("admin", "GET", flunders, "", "Impersonate-User", "ann", "Impersonate-Uid", "7", "Impersonate-Extra-scope", "x")
	a.note("as another user: %d %v", code, out["message"])
	_, out = a.send("admin", "GET", flunders, "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	a.note("as a table: %v %v", out["kind"], out["columnDefinitions"])
	_, out = a.send("admin", "GET", flunders, "", "X-Remote-User", "ann", "X-Remote-Group", "none")
	a.note("headers of a caller: %v %v", out["kind"], out["message"])
	conn := upgradeTo(a.live, flunders+"?watch=1")
	a.note("upgrade: %s", conn)
}

// upgradeTo returns the status of a request for a WebSocket.
func upgradeTo(l *live, path string) string {
	r := l.request("admin", "GET", path, "")
	for k, v := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-Websocket-Version": "13", "Sec-Websocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
		r.Header.Set(k, v)
	}
	resp, err := l.front.Do(r)
	require.NoError(l.t, err)
	_ = resp.Body.Close()
	return resp.Status
}

// documents are discovery and OpenAPI.
func (a *aggregated) documents() {
	a.t.Helper()
	group := func(document map[string]any, list string, named func(map[string]any) any) (int, map[string]any) {
		all, _ := document[list].([]any)
		at := slices.IndexFunc(all, func(g any) bool { return named(g.(map[string]any)) == "wardle.example.com" })
		if at < 0 {
			return at, nil
		}
		return at, all[at].(map[string]any)
	}
	name := func(g map[string]any) any { return g["name"] }
	inner := func(g map[string]any) any { return g["metadata"].(map[string]any)["name"] }
	text := func(v any) string {
		out, err := json.Marshal(v)
		require.NoError(a.t, err)
		return string(out)
	}
	for _, priority := range []int{20000, 1000} {
		a.register("PATCH", fmt.Sprintf(`"groupPriorityMinimum":%d`, priority))
		first := func() bool {
			_, old := a.send("admin", "GET", "/apis", "")
			_, v2 := a.send("admin", "GET", "/apis", "", "Accept", "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList")
			x, g := group(old, "groups", name)
			y, d := group(v2, "items", inner)
			ok := (x <= 1) == (priority > 10000) && (y <= 1) == (priority > 10000) && x >= 0 && y >= 0
			if ok {
				a.note("priority %d: %s", priority, text(g))
				a.note("%s", text(d["versions"]))
			}
			return ok
		}
		a.until("the order of the groups", first)
	}
	_, out := a.send("admin", "GET", "/apis/wardle.example.com", "")
	a.note("%s", text(out))
	_, out = a.send("admin", "GET", wardle, "")
	a.note("%s", text(out))
	a.until("OpenAPI v2", func() bool {
		_, doc := a.send("admin", "GET", "/openapi/v2", "")
		paths, _ := doc["paths"].(map[string]any)
		_, ok := paths[wardle+"/namespaces/{namespace}/flunders"]
		var named []string
		for n := range doc["definitions"].(map[string]any) {
			if strings.Contains(n, "wardle") {
				named = append(named, n)
			}
		}
		if slices.Sort(named); ok {
			a.note("v2: %v", named)
		}
		return ok
	})
	a.until("OpenAPI v3", func() bool {
		_, index := a.send("admin", "GET", "/openapi/v3", "")
		paths, _ := index["paths"].(map[string]any)
		at, ok := paths["apis/wardle.example.com/v1alpha1"].(map[string]any)
		if ok {
			code, doc := a.send("admin", "GET", at["serverRelativeURL"].(string), "")
			a.note("v3: %d %d paths", code, len(doc["paths"].(map[string]any)))
		}
		return ok
	})
}

// comesAndGoes kills the sample and starts it again, registers it without an authority, and removes it.
func (a *aggregated) comesAndGoes() {
	a.t.Helper()
	const name = "v1alpha1.wardle.example.com"
	require.NoError(a.t, a.sample.Process.Kill())
	<-a.ended
	a.condition(name, "FailedDiscoveryCheck")
	code, _ := a.send("admin", "GET", wardle, "")
	a.note("while it is away: %d", code)
	a.start()
	a.condition(name, "Passed")
	code, out := a.send("admin", "PATCH", apiServices+"/"+name, `{"spec":{"insecureSkipTLSVerify":true}}`, "Content-Type", "application/merge-patch+json")
	a.note("insecure and an authority: %d %v", code, out["message"])
	a.register("PATCH", `"caBundle":null,"insecureSkipTLSVerify":true`)
	a.condition(name, "Passed")
	code, _ = a.send("admin", "GET", wardle+"/flunders", "")
	a.note("insecure: %d", code)
	code, _ = a.send("admin", "DELETE", apiServices+"/"+name, "")
	a.note("deleted: %d", code)
	a.until("it is gone", func() bool {
		code, _ := a.send("admin", "GET", wardle, "")
		return code == 404
	})
}

// trusted notes what is published for aggregated servers, before and after the authorities change.
func (a *aggregated) trusted(dir string) {
	a.t.Helper()
	published := func() map[string]any {
		_, m := a.send("admin", "GET", trustMap, "")
		data, _ := m["data"].(map[string]any)
		return data
	}
	a.until("trust is published", func() bool { return len(published()) >= 7 })
	for _, name := range []string{"before", "after"} {
		a.until("both authorities are published", func() bool {
			data := published()
			return name == "before" || strings.Count(fmt.Sprint(data["client-ca-file"]), "BEGIN") == 2 && strings.Count(fmt.Sprint(data["requestheader-client-ca-file"]), "BEGIN") == 2
		})
		data := published()
		for _, key := range []string{"client-ca-file", "requestheader-client-ca-file"} {
			data[key] = strings.Count(data[key].(string), "BEGIN CERTIFICATE")
		}
		a.note("%s: %v", name, data)
		for _, file := range []string{"front.ca", "clients.ca"} {
			ca, err := certs.NewAuthority("replaced")
			require.NoError(a.t, err)
			old, err := os.ReadFile(filepath.Join(dir, file))
			require.NoError(a.t, err)
			if name == "before" {
				require.NoError(a.t, os.WriteFile(filepath.Join(dir, file), append(old, ca.CertPEM()...), 0o600))
			}
		}
	}
}

// hostAddress is this machine's address: endpoints must not have one of the loopback range.
func hostAddress(t *testing.T) string {
	t.Helper()
	c, err := net.Dial("udp4", "192.0.2.1:9")
	require.NoError(t, err)
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP.String()
}

// startAggregated starts a server and what the sample needs.
func startAggregated(t *testing.T, start func(*testing.T, ...string) *live, etcd, prefix string) *aggregated {
	t.Helper()
	a := &aggregated{dir: t.TempDir(), host: hostAddress(t), etcd: etcd, prefix: prefix, sampleLog: &bytes.Buffer{}}
	a.live = start(t, frontFlags(t, a.dir)...)
	_, a.port, _ = net.SplitHostPort(storetest.FreeAddress(t))
	var err error
	a.serving, err = certs.NewAuthority("wardle")
	require.NoError(t, err)
	a.until("the roles are there", func() bool {
		return a.code(a.http2, "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles/extension-apiserver-authentication-reader") == 200 && a.code(a.http2, "/api/v1/namespaces/default") == 200
	})
	a.rights()
	return a
}

// TestSampleAPIServerBeside walks sample-apiserver of Kubernetes behind both servers: what it lacks until it
// is available, its requests, documents and priorities, its end, and the trust that is published for it.
func TestSampleAPIServerBeside(t *testing.T) {
	binary := seeds.Peer(t, "etcd")
	dir := t.TempDir()
	etcd, between := "http://"+storetest.FreeAddress(t), "http://"+storetest.FreeAddress(t)
	runPeer(t, binary, "--data-dir="+filepath.Join(dir, "etcd"), "--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+between, "--initial-advertise-peer-urls="+between, "--initial-cluster=default="+between, "--unsafe-no-fsync")
	var walks [2][]string
	for i, start := range []func(*testing.T, ...string) *live{startUpstream, startLive} {
		a := startAggregated(t, start, etcd, fmt.Sprint("/wardle", i))
		a.trusted(a.dir)
		a.unavailable()
		a.requests()
		a.documents()
		a.comesAndGoes()
		walks[i] = a.seen
	}
	for i := range min(len(walks[0]), len(walks[1])) {
		if walks[0][i] != walks[1][i] {
			t.Errorf("%d\n  theirs %s\n  ours   %s", i, walks[0][i], walks[1][i])
		}
	}
	require.Len(t, walks[1], len(walks[0]))
}

// TestMetricsServerBeside: metrics-server reads a kubelet and is read through this server.
func TestMetricsServerBeside(t *testing.T) {
	binary := seeds.Peer(t, "metrics-server")
	a := startAggregated(t, startLive, "", "")
	usage := 1.0
	kubelet := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		usage++
		at := time.Now().UnixMilli()
		fmt.Fprintf(w, "node_cpu_usage_seconds_total %g %d\nnode_memory_working_set_bytes 4096 %d\nprocess_start_time_seconds 1\n", usage, at, at)
		fmt.Fprintf(w, "container_start_time_seconds{container=\"c\",namespace=\"default\",pod=\"p\"} 1 %d\ncontainer_cpu_usage_seconds_total{container=\"c\",namespace=\"default\",pod=\"p\"} %g %d\ncontainer_memory_working_set_bytes{container=\"c\",namespace=\"default\",pod=\"p\"} 2048 %d\n", at, usage, at, at)
	}))
	var err error
	kubelet.Listener, err = net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	kubelet.StartTLS()
	t.Cleanup(kubelet.Close)
	a.put("/api/v1/nodes", `{"metadata":{"name":"n1"}}`)
	code, out := a.send("admin", "PUT", "/api/v1/nodes/n1/status", fmt.Sprintf(`{"metadata":{"name":"n1"},"status":{"addresses":[{"type":"InternalIP","address":%q}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%d}},"conditions":[{"type":"Ready","status":"True"}]}}`, a.host, kubelet.Listener.Addr().(*net.TCPAddr).Port))
	require.Equal(t, 200, code, out)
	const rbac = "/apis/rbac.authorization.k8s.io/v1"
	a.put(rbac+"/clusterroles", `{"metadata":{"name":"metrics"},"rules":[{"apiGroups":[""],"resources":["nodes/metrics"],"verbs":["get"]},{"apiGroups":[""],"resources":["pods","nodes"],"verbs":["get","list","watch"]}]}`)
	a.put(rbac+"/clusterrolebindings", `{"metadata":{"name":"metrics"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"user"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"metrics"}}`)
	a.put("/api/v1/namespaces/kube-system/services", `{"metadata":{"name":"metrics-server"},"spec":{"ports":[{"name":"https","port":443}]}}`)
	a.put("/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices", fmt.Sprintf(`{"metadata":{"name":"metrics-server","labels":{"kubernetes.io/service-name":"metrics-server"}},"addressType":"IPv4","ports":[{"name":"https","port":%s}],"endpoints":[{"addresses":[%q]}]}`, a.port, a.host))
	a.put(apiServices, `{"metadata":{"name":"v1beta1.metrics.k8s.io"},"spec":{"group":"metrics.k8s.io","version":"v1beta1","groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,"service":{"namespace":"kube-system","name":"metrics-server"}}}`)
	config := a.kubeconfig()
	_, a.sampleLog, _ = runPeer(t, binary, "--secure-port="+a.port, "--cert-dir="+a.dir, "--kubeconfig="+config, "--authentication-kubeconfig="+config, "--authorization-kubeconfig="+config,
		"--kubelet-insecure-tls", "--kubelet-use-node-status-port", "--kubelet-preferred-address-types=InternalIP", "--metric-resolution=10s", "--kubelet-request-timeout=5s")
	a.condition("v1beta1.metrics.k8s.io", "Passed")
	a.until("the node is measured: "+a.sampleLog.String(), func() bool {
		code, out := a.send("admin", "GET", "/apis/metrics.k8s.io/v1beta1/nodes/n1", "")
		used, _ := out["usage"].(map[string]any)
		return code == 200 && used["memory"] == "4Ki"
	})
	code, _ = a.send("user", "GET", "/apis/metrics.k8s.io/v1beta1/nodes", "")
	require.Equal(t, 403, code)
}
