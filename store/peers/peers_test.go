package peers_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/peers"
	"github.com/keelson-dev/keelson/store/registry"
)

const (
	things   = "/apis/demo.test/v1/namespaces/default/things"
	gadgets  = "/apis/demo.test/v1/namespaces/default/gadgets"
	accepted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)

// resources are those of a group in a discovery document, as version/resource, in their order.
func resources(t *testing.T, document, group string) (out []string) {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Versions []struct {
				Version   string
				Resources []struct{ Resource string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(document), &list))
	for _, g := range list.Items {
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				if g.Metadata.Name == group {
					out = append(out, v.Version+"/"+r.Resource)
				}
			}
		}
	}
	return out
}

// Each of two servers passes on requests for what only the other one serves.
func TestRequestsReachThePeerThatServesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a, b := c.start("a", "demo.test/v1/gadgets", "demo.test/v2/gadgets"), c.start("b", "demo.test/v1/things")
		time.Sleep(time.Second)

		require.Equal(t, 201, c.do(a, "POST", things, `{"metadata":{"name":"x"}}`).code)
		require.Equal(t, 201, c.do(b, "POST", gadgets, `{"metadata":{"name":"y"}}`).code)
		require.Contains(t, c.do(a, "GET", things+"/x", "").body, `"kind":"Thing"`)
		require.Equal(t, 200, c.do(a, "DELETE", things+"/x", "").code)
		require.Equal(t, 404, c.do(a, "GET", things+"/x", "").code)
		require.Equal(t, 404, c.do(a, "GET", "/apis/demo.test/v1/namespaces/default/none", "").code)

		// The peer sees the caller, by the name under which it was authorized here, and no credential.
		got := c.do(a, "GET", things+"?labelSelector=a%3Db", "", "Impersonate-User", "ann", "Impersonate-Uid", "7", "Impersonate-Group", "system:masters", "Impersonate-Extra-Scopes", "x", "Audit-Id", "the-audit-id", "X-Remote-User", "bob")
		require.Equal(t, 200, got.code, got.body)
		last := c.last("b")
		require.Equal(t, "ann", last.user.Name)
		require.Equal(t, "7", last.user.UID)
		require.Contains(t, last.user.Groups, "system:masters")
		require.Equal(t, []string{"x"}, last.user.Extra["scopes"])
		require.Equal(t, "true", last.header.Get("x-kubernetes-peer-proxied"))
		require.Equal(t, "the-audit-id", last.header.Get("Audit-Id"))
		require.Empty(t, last.header.Get("Authorization"))
		require.Empty(t, last.header.Get("Impersonate-User"))

		// A request that was passed on once is served here or not at all.
		require.Equal(t, 404, c.do(a, "GET", things, "", "X-Kubernetes-Peer-Proxied", "true").code)
		require.Equal(t, 200, c.do(b, "GET", things, "", "X-Kubernetes-Peer-Proxied", "true").code)

		// Those who may not do it are refused here.
		before := c.counted("OK things")
		require.Equal(t, 403, c.do(a, "GET", things, "", "Authorization", "Bearer bob-token").code)
		require.Equal(t, before, c.counted("OK things"))
		require.Positive(t, c.counted("Created gadgets"))
		require.Positive(t, c.counted("OK "), "discovery of peers")
	})
}

// A watch of a peer's resource delivers events, and ends when the client goes.
func TestWatchThroughAPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a, b := c.start("a"), c.start("b", "demo.test/v1/things")
		time.Sleep(time.Second)
		resp, err := client(a).Do(request(t, "GET", things+"?watch=1", ""))
		require.NoError(t, err)
		defer resp.Body.Close()
		events := bufio.NewScanner(resp.Body)
		for _, name := range []string{"x", "y"} {
			require.Equal(t, 201, c.do(b, "POST", things, `{"metadata":{"name":"`+name+`"}}`).code)
			require.True(t, events.Scan())
			require.Contains(t, events.Text(), `"name":"`+name+`"`)
			time.Sleep(5 * time.Minute) // longer than any request that is not a watch
		}
	})
}

// The discovery document of a server has what its peers serve, unless the client prefers that of the server
// alone.
func TestDiscoveryHasWhatPeersServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a, b := c.start("a", "demo.test/v1/gadgets"), c.start("b", "demo.test/v1/things", "demo.test/v2/things", "other.test/v1/things")
		time.Sleep(time.Second)
		one, two := c.do(a, "GET", "/apis", "", "Accept", accepted), c.do(b, "GET", "/apis", "", "Accept", accepted)
		require.JSONEq(t, one.body, two.body, "both servers have the same document")
		require.ElementsMatch(t, []string{"v1/gadgets", "v1/things", "v2/things"}, resources(t, one.body, "demo.test"))
		require.Equal(t, []string{"v1/things"}, resources(t, one.body, "other.test"))
		require.Equal(t, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", one.header.Get("Content-Type"))
		again := c.do(a, "GET", "/apis", "", "Accept", accepted, "If-None-Match", one.header.Get("Etag"))
		require.Equal(t, http.StatusNotModified, again.code)
		require.Positive(t, c.counted("hit"))
		require.Positive(t, c.counted("miss"))

		alone := c.counted("alone")
		require.Equal(t, []string{"v1/gadgets"}, resources(t, c.do(a, "GET", "/apis", "", "Accept", accepted+";profile=nopeer").body, "demo.test"))
		require.Equal(t, alone+1, c.counted("alone"))
		require.Equal(t, []string{"v1/gadgets"}, resources(t, c.do(a, "GET", "/apis", "", "Accept", strings.Replace(accepted, "v=v2", "v=v2beta1", 1)).body, "demo.test"))
		require.NotContains(t, c.do(a, "GET", "/apis", "").body, "other.test", "the older form is that of the server")
		require.Equal(t, 404, c.do(a, "GET", "/apis/demo.test/v2", "").code)
	})
}

// A server that crashed is unavailable as long as its lease is there, also if nothing listens at its address;
// one that was started again is read again, and one that has ended is forgotten.
func TestPeersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a")
		b := c.stranger(a, "b", c.serving, peers.ServerName, serves("demo.test/v1/things", says("thing")))
		time.Sleep(time.Second)
		require.Equal(t, "thing", c.do(a, "GET", things, "").body)

		// Its address has expired, its lease is valid for an hour.
		require.NoError(t, peers.Withdraw(t.Context(), c.store, identity("b")))
		require.NoError(t, peers.Withdraw(t.Context(), c.store, identity("b")), "there is none")
		got := c.do(a, "GET", things, "")
		require.Equal(t, 503, got.code)
		require.Contains(t, got.body, "Error getting ip and port info of the remote server while proxying")
		require.Equal(t, 1, c.counted("endpoint_resolution things"))
		time.Sleep(peers.Refresh) // written again
		require.Equal(t, 200, c.do(a, "GET", things, "").code)

		// Nothing listens there.
		require.NoError(t, b.server.Close())
		c.connect(address("b"), nil)
		got = c.do(a, "GET", things, "")
		require.Equal(t, 503, got.code)
		require.Contains(t, got.body, "error trying to reach service: connection refused")
		require.Equal(t, 1, c.counted("Service Unavailable things"))
		require.Equal(t, []string{"v1/things"}, resources(t, c.do(a, "GET", "/apis", "", "Accept", accepted).body, "demo.test"), "what it serves is remembered")

		// It is started again, with another set of APIs.
		c.listen("b", c.serving, peers.ServerName, serves("demo.test/v1/gadgets", says("gadget")))
		c.changeLease(a, "b", func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("2") })
		time.Sleep(time.Second)
		require.Equal(t, "gadget", c.do(a, "GET", gadgets, "").body)
		require.Equal(t, 404, c.do(a, "GET", things, "").code)

		// Its lease loses what makes it one of a server, and is deleted.
		c.changeLease(a, "b", func(l *coordinationv1.Lease) { l.Labels = nil })
		synctest.Wait()
		require.Equal(t, 404, c.do(a, "GET", gadgets, "").code)
		c.changeLease(a, "b", func(l *coordinationv1.Lease) { l.Labels = map[string]string{peers.IdentityLabel: peers.Component} })
		time.Sleep(time.Second)
		require.Equal(t, "gadget", c.do(a, "GET", gadgets, "").body)
		require.NoError(t, a.Server.Access().Delete(t.Context(), leases, planetest.Key("kube-system", identity("b")), nil, registry.Write{}))
		synctest.Wait()
		require.Equal(t, 404, c.do(a, "GET", gadgets, "").code)
		require.Empty(t, resources(t, c.do(a, "GET", "/apis", "", "Accept", accepted).body, "demo.test"))
	})
}

// A peer that accepts no connection is passed over for another one that serves the resource; a request of
// which something was sent is not sent twice.
func TestAnotherPeerIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a")
		var mu sync.Mutex
		var got []string
		received := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(got)
		}
		for _, host := range []string{"b", "c"} {
			c.stranger(a, host, c.serving, peers.ServerName, serves("demo.test/v1/things", func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				if got = append(got, host+" "+r.Host+" "+string(body)); len(got) > 20 {
					panic(http.ErrAbortHandler)
				}
			}))
		}
		time.Sleep(time.Second)
		down := c.network[address("b")]
		require.NoError(t, down.Close())
		c.connect(address("b"), nil)
		time.Sleep(2 * time.Minute) // idle connections are closed
		for range 20 {
			require.Equal(t, 200, c.do(a, "POST", things, "body").code)
		}
		require.Equal(t, slices.Repeat([]string{"c 10.0.0.3:6443 body"}, 20), received())
		require.Equal(t, 503, c.do(a, "POST", things, "body").code)
		require.Len(t, received(), 21)
	})
}

// Versions of CustomResourceDefinitions and of APIServices with a service are not looked for at peers, and
// for five minutes after their deletion neither.
func TestVersionsOfObjectsAreServedByEveryServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a")
		c.stranger(a, "b", c.serving, peers.ServerName, serves("demo.test/v1/things", says("thing")))
		time.Sleep(time.Second)
		elsewhere := func() bool {
			code := c.do(a, "GET", things, "").code
			listed := len(resources(t, c.do(a, "GET", "/apis", "", "Accept", accepted).body, "demo.test")) > 0
			require.Equal(t, code == 200, listed)
			return code == 200
		}
		require.True(t, elsewhere())
		for path, o := range map[string]string{
			"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": `{"metadata":{"name":"others.demo.test"},"spec":{"group":"demo.test","scope":"Namespaced","names":{"plural":"others","kind":"Other"},
				"versions":[{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}},{"name":"v1","served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`,
			"/apis/apiregistration.k8s.io/v1/apiservices": `{"metadata":{"name":"v1.demo.test"},"spec":{"group":"demo.test","version":"v1","groupPriorityMinimum":1000,"versionPriority":15,"insecureSkipTLSVerify":true,"service":{"namespace":"x","name":"y"}}}`,
		} {
			require.True(t, elsewhere(), path)
			got := c.do(a, "POST", path, o)
			require.Equal(t, 201, got.code, got.body)
			time.Sleep(time.Second)
			require.NotEqual(t, 200, c.do(a, "GET", things, "").code)
			var meta struct{ Metadata struct{ Name string } }
			require.NoError(t, json.Unmarshal([]byte(o), &meta))
			require.Equal(t, 200, c.do(a, "DELETE", path+"/"+meta.Metadata.Name, "").code)
			time.Sleep(4 * time.Minute)
			require.False(t, elsewhere())
			time.Sleep(2 * time.Minute)
			require.True(t, elsewhere())
		}
		// A version of the server's own kinds has an APIService without a service.
		got := c.do(a, "POST", "/apis/apiregistration.k8s.io/v1/apiservices", `{"metadata":{"name":"v1.demo.test"},"spec":{"group":"demo.test","version":"v1","groupPriorityMinimum":1000,"versionPriority":15}}`)
		require.Equal(t, 201, got.code, got.body)
		time.Sleep(time.Second)
		require.True(t, elsewhere())
	})
}
