package aggregation_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// extension is an aggregated API server over TLS: it accepts connections with a certificate of the front
// proxy only.
type extension struct {
	listener *pipenet.Listener
	down     atomic.Bool // no connection is accepted
	stalled  atomic.Bool // no request is answered

	mu    sync.Mutex
	seen  []*http.Request
	conns []net.Conn
}

const flunders = "/apis/wardle.example.com/v1alpha1"

func startExtension(t *testing.T, serving, clients *certs.Authority) *extension {
	pair, err := serving.Serving("wardle", "api.wardle.svc")
	require.NoError(t, err)
	x := &extension{listener: pipenet.New()}
	s := &http.Server{Handler: x, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair.TLS()}, ClientCAs: clients.Pool(), ClientAuth: tls.RequireAndVerifyClientCert}}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.ServeTLS(x.listener, "", "") }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return x
}

func (x *extension) dial(ctx context.Context, network, address string) (net.Conn, error) {
	switch {
	case address != "api.wardle.svc:443":
		return nil, fmt.Errorf("no such host: %s", address)
	case x.down.Load():
		return nil, errors.New("connection refused")
	}
	c, err := x.listener.Dial(ctx, network, address)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.conns = append(x.conns, c)
	return c, err
}

// stop refuses connections and cuts those there are.
func (x *extension) stop() {
	x.down.Store(true)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.conns {
		_ = c.Close()
	}
	x.conns = nil
}

// last returns the last request for a path.
func (x *extension) last(path string) *http.Request {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := len(x.seen) - 1; i >= 0; i-- {
		if x.seen[i].URL.Path == path {
			return x.seen[i]
		}
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (x *extension) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	x.seen = append(x.seen, r)
	x.mu.Unlock()
	if x.stalled.Load() {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case flunders:
		_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"wardle.example.com/v1alpha1","resources":[
			{"name":"flunders","singularName":"flunder","namespaced":true,"kind":"Flunder","verbs":["create","get","list"],"shortNames":["fl"]},
			{"name":"flunders/status","singularName":"","namespaced":true,"kind":"Flunder","verbs":["get"]}]}`)
	case "/openapi/v2":
		_, _ = io.WriteString(w, `{"swagger":"2.0","paths":{"/apis/wardle.example.com/v1alpha1/flunders":{"get":{"responses":{"200":{"schema":{"$ref":"#/definitions/example.Flunder"}}}}},
			"/apis/apps/v1/deployments":{"get":{}}},"definitions":{"example.Flunder":{"properties":{"metadata":{"$ref":"#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}}},
			"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta":{"description":"another one","properties":{"x":{"type":"string","maxLength":3}}},"unused":{}}}`)
	case "/openapi/v3":
		_, _ = io.WriteString(w, `{"paths":{"apis/wardle.example.com/v1alpha1":{"serverRelativeURL":"/openapi/v3/apis/wardle.example.com/v1alpha1?hash=AB"}}}`)
	case "/openapi/v3" + flunders:
		_, _ = io.WriteString(w, `{"openapi":"3.0.0"}`)
	case flunders + "/elsewhere":
		http.Redirect(w, r, "https://evil.example.com/", http.StatusFound)
	case flunders + "/flunders":
		x.list(w, r)
	case flunders + "/reviews", flunders + "/reviews/label":
		review(w, r)
	default:
		http.NotFound(w, r)
	}
}

// list serves a list, a watch, or a switch of protocols.
func (x *extension) list(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("Upgrade") != "":
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.CopyN(conn, conn, 5)
	case r.URL.Query().Get("watch") != "":
		_, _ = io.WriteString(w, `{"type":"ADDED","object":{}}`+"\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		body, _ := io.ReadAll(r.Body)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "FlunderList", "apiVersion": "wardle.example.com/v1alpha1", "method": r.Method, "query": r.URL.RawQuery, "body": string(body)})
	}
}

// cluster is a control plane with the extension.
type cluster struct {
	*planetest.Plane
	*extension
	t   *testing.T
	ca  *certs.Authority // of the extension's certificate
	api *client.Client[*apiregistrationv1.APIService]

	proxies *certs.Authority
	own     atomic.Pointer[tls.Certificate] // the front proxy's
}

func start(t *testing.T, more ...func(*controlplane.Options)) *cluster {
	serving, err := certs.NewAuthority("extension")
	require.NoError(t, err)
	proxies, err := certs.NewAuthority("front proxy")
	require.NoError(t, err)
	c := &cluster{extension: startExtension(t, serving, proxies), t: t, ca: serving, proxies: proxies}
	c.identify("front-proxy-client")
	c.Plane = planetest.Start(t, append(more, func(o *controlplane.Options) {
		o.WebhookDial = c.dial
		o.Aggregation.Certificate = c.own.Load
	})...)
	c.api = client.For[*apiregistrationv1.APIService](c.Admin())
	return c
}

// identify gives the front proxy another certificate.
func (c *cluster) identify(name string) {
	pair, err := c.proxies.Client(name)
	require.NoError(c.t, err)
	own := pair.TLS()
	c.own.Store(&own)
}

// register creates the APIService.
func (c *cluster) register(change func(*apiregistrationv1.APIServiceSpec)) {
	o := &apiregistrationv1.APIService{ObjectMeta: planetest.Meta("", "v1alpha1.wardle.example.com"), Spec: apiregistrationv1.APIServiceSpec{
		Group: "wardle.example.com", Version: "v1alpha1", GroupPriorityMinimum: 2000, VersionPriority: 15, CABundle: c.ca.CertPEM(),
		Service: &apiregistrationv1.ServiceReference{Namespace: "wardle", Name: "api"}}}
	if change != nil {
		change(&o.Spec)
	}
	planetest.Create(c.t, c.Admin(), o)
}

// available returns the condition of the APIService.
func (c *cluster) available() (status apiregistrationv1.ConditionStatus, reason, message string) {
	o, err := c.api.Get(c.t.Context(), planetest.Key("", "v1alpha1.wardle.example.com"))
	require.NoError(c.t, err)
	for _, found := range o.Status.Conditions {
		if found.Type == apiregistrationv1.Available {
			return found.Status, found.Reason, found.Message
		}
	}
	return "", "", ""
}

// await lets time pass until the version is available, or is not.
func (c *cluster) await(status apiregistrationv1.ConditionStatus) {
	c.t.Helper()
	for range 100 {
		synctest.Wait()
		if got, _, _ := c.available(); got == status {
			return
		}
		time.Sleep(time.Second)
	}
	_, reason, message := c.available()
	c.t.Fatalf("it never became %s: %s: %s", status, reason, message)
}

func (c *cluster) get(conn *rest.Conn, path, accept string) (string, error) {
	resp, err := conn.Do(c.t.Context(), &client.Request{Path: path, Accept: accept})
	if err != nil {
		return "", err
	}
	return string(resp.Body), nil
}

// once sends a request without retries and returns the status.
func (c *cluster) once(path string) int {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer masters-token")
	w := httptest.NewRecorder()
	c.Plane.ServeHTTP(w, r)
	return w.Code
}

// A request for a version of another server reaches it with the caller's name and without credentials, and
// its response reaches the caller: objects, watches, other protocols.
func TestRequestsReachTheOtherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		_, err := c.get(c.Admin(), flunders+"/flunders", "")
		require.True(t, apierrors.IsNotFound(err), err)
		c.register(nil)
		c.await(apiregistrationv1.ConditionTrue)

		_, err = c.get(c.Token("ann-token"), flunders+"/flunders", "")
		require.True(t, apierrors.IsForbidden(err), "%v: the other server must not see it", err)
		require.Nil(t, c.last(flunders+"/flunders"))
		resp, err := c.Admin().Do(t.Context(), &client.Request{Method: http.MethodPost, Path: flunders + "/flunders", Query: url.Values{"dryRun": {"All"}}, ContentType: client.MediaJSON, Body: []byte(`{"a":1}`)})
		require.NoError(t, err)
		require.JSONEq(t, `{"kind":"FlunderList","apiVersion":"wardle.example.com/v1alpha1","method":"POST","query":"dryRun=All","body":"{\"a\":1}"}`, string(resp.Body))
		seen := c.last(flunders + "/flunders")
		require.Equal(t, []string{"admin"}, seen.Header["X-Remote-User"])
		require.Equal(t, []string{"1"}, seen.Header["X-Remote-Uid"])
		require.Equal(t, []string{"system:masters", "system:authenticated"}, seen.Header["X-Remote-Group"])
		require.Empty(t, seen.Header["Authorization"])
		require.Equal(t, []string{flunders + "/flunders"}, seen.Header["X-Forwarded-Uri"])
		require.Equal(t, []string{"api.wardle.svc:443"}, seen.Header["X-Forwarded-Host"], "the server's own, as from kube-apiserver")
		require.Equal(t, []string{"https"}, seen.Header["X-Forwarded-Proto"])
		_, err = c.Admin().Do(t.Context(), &client.Request{Method: http.MethodGet, Path: flunders + "/x/../y//z/"})
		require.Error(t, err)
		require.Equal(t, []string{flunders + "/y/z/"}, c.last(flunders + "/x/../y//z/").Header["X-Forwarded-Uri"])
		require.Regexp(t, `^[0-9a-f-]{36}$`, seen.Header.Get("Audit-Id"))
		require.Equal(t, resp.Header["Audit-Id"], seen.Header.Get("Audit-Id"))
		require.Equal(t, "front-proxy-client", seen.TLS.PeerCertificates[0].Subject.CommonName)
		require.Equal(t, 2, seen.ProtoMajor, "connections are shared")

		_, err = c.get(c.Admin(), flunders+"/elsewhere", "")
		require.ErrorContains(t, err, "attempted to redirect")
		events, err := c.Admin().Stream(t.Context(), &client.Request{Path: flunders + "/flunders", Query: url.Values{"watch": {"1"}}})
		require.NoError(t, err)
		line := make([]byte, len(`{"type":"ADDED"`))
		_, err = io.ReadFull(events.Body, line)
		require.NoError(t, err)
		require.Equal(t, `{"type":"ADDED"`, string(line))
		require.NoError(t, events.Body.Close())

		up, err := c.Admin().Upgrade(t.Context(), &client.Request{Path: flunders + "/flunders", Header: map[string]string{"Upgrade": "echo", "Connection": "Upgrade"}})
		require.NoError(t, err)
		_, err = io.WriteString(up.Conn, "hello")
		require.NoError(t, err)
		echo := make([]byte, 5)
		_, err = io.ReadFull(up.Conn, echo)
		require.NoError(t, err)
		require.Equal(t, "hello", string(echo))
		require.NoError(t, up.Conn.Close())
	})
}

// Discovery includes what other servers serve, by priority.
func TestDiscoveryIsMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		c.register(nil)
		c.await(apiregistrationv1.ConditionTrue)

		groups, err := c.get(c.Admin(), "/apis", client.MediaJSON)
		require.NoError(t, err)
		require.Contains(t, groups, `"name":"wardle.example.com"`)
		require.Greater(t, strings.Index(groups, "wardle.example.com"), strings.Index(groups, "flowcontrol.apiserver.k8s.io"), "by priority")
		one, err := c.get(c.Admin(), "/apis/wardle.example.com", client.MediaJSON)
		require.NoError(t, err)
		require.Contains(t, one, `"preferredVersion":{"groupVersion":"wardle.example.com/v1alpha1"`)
		list, err := c.get(c.Admin(), flunders, client.MediaJSON)
		require.NoError(t, err)
		require.Contains(t, list, `"shortNames":["fl"]`)
		all, err := c.get(c.Admin(), "/apis", aggregated)
		require.NoError(t, err)
		require.Contains(t, all, `"resource":"flunders"`)
		require.Contains(t, all, `"subresource":"status"`)
		require.NotContains(t, all, "Stale")

	})
}

// OpenAPI includes what other servers serve, without a change of what this one serves.
func TestOpenAPIIsMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		before, err := c.get(c.Admin(), "/openapi/v2", client.MediaJSON)
		require.NoError(t, err)
		c.register(nil)
		c.await(apiregistrationv1.ConditionTrue)
		time.Sleep(time.Second) // for the documents, which are read afterwards
		synctest.Wait()
		v2, err := c.get(c.Admin(), "/openapi/v2", client.MediaJSON)
		require.NoError(t, err)
		var was, is struct{ Paths, Definitions map[string]any }
		require.NoError(t, json.Unmarshal([]byte(before), &was))
		require.NoError(t, json.Unmarshal([]byte(v2), &is))
		const meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
		require.Contains(t, is.Paths, flunders+"/flunders")
		require.Equal(t, was.Paths["/apis/apps/v1/deployments"], is.Paths["/apis/apps/v1/deployments"])
		require.Equal(t, was.Definitions[meta], is.Definitions[meta])
		require.Equal(t, map[string]any{"properties": map[string]any{"metadata": map[string]any{"$ref": "#/definitions/" + meta + "_v2"}}}, is.Definitions["example.Flunder"])
		require.Contains(t, is.Definitions, meta+"_v2")
		require.NotContains(t, is.Definitions, "unused")
		_, err = c.get(c.Admin(), "/openapi/v2", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
		require.NoError(t, err)

		index, err := c.get(c.Admin(), "/openapi/v3", client.MediaJSON)
		require.NoError(t, err)
		require.Contains(t, index, `"/openapi/v3/apis/wardle.example.com/v1alpha1?hash=AB"`)
		v3, err := c.get(c.Admin(), "/openapi/v3"+flunders, client.MediaJSON)
		require.NoError(t, err)
		require.Equal(t, `{"openapi":"3.0.0"}`, v3)
		require.Equal(t, []string{"system:aggregator"}, c.last("/openapi/v3" + flunders).Header["X-Remote-User"])

		require.NoError(t, c.api.Delete(t.Context(), planetest.Key("", "v1alpha1.wardle.example.com")))
		synctest.Wait()
		after, err := c.get(c.Admin(), "/openapi/v2", client.MediaJSON)
		require.NoError(t, err)
		require.Equal(t, before, after)
		_, err = c.get(c.Admin(), flunders+"/flunders", "")
		require.True(t, apierrors.IsNotFound(err), err)
	})
}

// A server that cannot be reached, stalls or has another certificate costs its own requests only, at once,
// and is used again when it is back.
func TestUnavailableServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &outcomes{}
		c := start(t, func(o *controlplane.Options) { o.Aggregation.Metrics = seen.metrics() })
		c.register(nil)
		c.await(apiregistrationv1.ConditionTrue)
		refused := func(why string) {
			t.Helper()
			c.await(apiregistrationv1.ConditionFalse)
			_, reason, message := c.available()
			require.Equal(t, "FailedDiscoveryCheck", reason)
			require.Contains(t, message, why)
			began := time.Now()
			require.Equal(t, http.StatusServiceUnavailable, c.once(flunders+"/flunders"))
			require.Zero(t, time.Since(began), "no request waits")
			_, err := c.get(c.Admin(), "/api/v1/namespaces", "")
			require.NoError(t, err)
			all, err := c.get(c.Admin(), "/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
			require.NoError(t, err)
			require.Contains(t, all, `"freshness":"Stale"`)
		}
		c.stop()
		require.Equal(t, http.StatusServiceUnavailable, c.once(flunders+"/flunders"), "the first request causes a check")
		refused("connection refused")
		c.down.Store(false)
		c.await(apiregistrationv1.ConditionTrue)
		require.Equal(t, http.StatusOK, c.once(flunders+"/flunders"))
		c.stalled.Store(true)
		refused("context deadline exceeded")
		c.stalled.Store(false)
		c.await(apiregistrationv1.ConditionTrue)
		const failed = "v1alpha1.wardle.example.com FailedDiscoveryCheck"
		require.Equal(t, []string{failed, failed}, seen.noted())
	})
}

// A server whose object has changed is as available as before until it has been checked, as the status says.
func TestChangedObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		c.register(nil)
		c.await(apiregistrationv1.ConditionTrue)
		c.stalled.Store(true) // the check after the change does not end
		o, err := c.api.Get(t.Context(), planetest.Key("", "v1alpha1.wardle.example.com"))
		require.NoError(t, err)
		o.Spec.CABundle, o.Spec.InsecureSkipTLSVerify = nil, true
		_, err = c.api.Update(t.Context(), o)
		require.NoError(t, err)
		synctest.Wait()
		c.stalled.Store(false)
		require.Equal(t, http.StatusOK, c.once(flunders+"/flunders"))
		all, err := c.get(c.Admin(), "/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		require.NoError(t, err)
		require.Contains(t, all, `"flunders"`)
	})
}

// The certificate of the other server is verified as the object says.
func TestCertificateOfTheOtherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		other, err := certs.NewAuthority("another")
		require.NoError(t, err)
		c.register(func(s *apiregistrationv1.APIServiceSpec) { s.CABundle = other.CertPEM() })
		c.await(apiregistrationv1.ConditionFalse)
		_, _, message := c.available()
		require.Contains(t, message, "certificate")
		update := func(change func(s *apiregistrationv1.APIServiceSpec)) {
			o, err := c.api.Get(t.Context(), planetest.Key("", "v1alpha1.wardle.example.com"))
			require.NoError(t, err)
			change(&o.Spec)
			_, err = c.api.Update(t.Context(), o)
			require.NoError(t, err)
		}
		update(func(s *apiregistrationv1.APIServiceSpec) { s.CABundle, s.InsecureSkipTLSVerify = nil, true })
		c.await(apiregistrationv1.ConditionTrue)
		update(func(s *apiregistrationv1.APIServiceSpec) {
			s.CABundle, s.InsecureSkipTLSVerify = other.CertPEM(), false
		})
		c.await(apiregistrationv1.ConditionFalse)
		update(func(s *apiregistrationv1.APIServiceSpec) { s.CABundle = c.ca.CertPEM() })
		c.await(apiregistrationv1.ConditionTrue)
	})
}

// After the front proxy's certificate has been replaced, the other server sees the new one, also while a
// watch keeps the connection with the previous one open, and that watch goes on.
func TestReplacedCertificateOfTheProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		c.register(nil)
		c.await(apiregistrationv1.ConditionTrue)
		events, err := c.Admin().Stream(t.Context(), &client.Request{Path: flunders + "/flunders", Query: url.Values{"watch": {"1"}}})
		require.NoError(t, err)
		_, err = io.ReadFull(events.Body, make([]byte, len(`{"type":"ADDED","object":{}}`)+1))
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, events.Body)
			ended <- err
		}()
		sender := func() string {
			_, err := c.get(c.Admin(), flunders+"/flunders", "")
			require.NoError(t, err)
			return c.last(flunders + "/flunders").TLS.PeerCertificates[0].Subject.CommonName
		}
		for _, name := range []string{"second", "third"} {
			require.NotEqual(t, name, sender())
			c.identify(name)
			require.Equal(t, name, sender())
		}
		synctest.Wait()
		require.Empty(t, ended, "the watch goes on")
		require.NoError(t, events.Body.Close())
		<-ended
	})
}

// A server that begins with the image of another one serves the other servers that were there already, and
// those that are registered later.
func TestImage(t *testing.T) {
	trusting := func(spec *apiregistrationv1.APIServiceSpec) { spec.CABundle, spec.InsecureSkipTLSVerify = nil, true }
	for _, before := range []bool{false, true} {
		t.Run(fmt.Sprintf("registered before %t", before), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New(memory.Options{})
				first := start(t, planetest.Over(s))
				if before {
					first.register(trusting)
					first.await(apiregistrationv1.ConditionTrue)
				}
				synctest.Wait()
				image := first.Image(t.Context(), s.Snapshot().Revision())
				require.NotNil(t, image)
				c := start(t, planetest.Over(memory.NewFromSnapshot(s.Snapshot(), memory.Options{})), func(o *controlplane.Options) { o.Image = image })
				if !before {
					require.Equal(t, http.StatusNotFound, c.once(flunders))
					c.register(trusting)
					c.await(apiregistrationv1.ConditionTrue)
				}
				synctest.Wait()
				require.Equal(t, http.StatusOK, c.once(flunders))
				require.NotNil(t, c.last(flunders))
			})
		})
	}
}
