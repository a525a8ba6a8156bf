package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// knownPeers are peers of which only the documents are known.
type knownPeers struct{ apiserver.PeerDiscovery }

// Run implements apiserver.Peers.
func (*knownPeers) Run(ctx context.Context, _ *apiserver.Server) { <-ctx.Done() }

// Peer implements apiserver.Peers.
func (*knownPeers) Peer(context.Context, schema.GroupVersionResource) (to http.RoundTripper, host string, err error) {
	return nil, "", nil
}

// Discovery implements apiserver.Peers.
func (p *knownPeers) Discovery() *apiserver.PeerDiscovery { return &p.PeerDiscovery }

// groupOf is a group with versions, each as v1:resource/verb+verb,resource.
func groupOf(name string, versions ...string) apidiscoveryv2.APIGroupDiscovery {
	g := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, v := range versions {
		version, list, _ := strings.Cut(v, ":")
		entry := apidiscoveryv2.APIVersionDiscovery{Version: version}
		for r := range strings.SplitSeq(list, ",") {
			resource, verbs, _ := strings.Cut(r, "/")
			entry.Resources = append(entry.Resources, apidiscoveryv2.APIResourceDiscovery{Resource: resource, Verbs: strings.Split(verbs, "+")})
		}
		g.Versions = append(g.Versions, entry)
	}
	return g
}

// The merged document keeps the order of the servers' documents as far as they agree, and has the verbs of
// all. With contradicting orders it is that of the names.
func TestPeersAreMergedIntoDiscovery(t *testing.T) {
	for name, c := range map[string]struct {
		peers map[string][]apidiscoveryv2.APIGroupDiscovery
		want  string
	}{
		"a group before and one after": {map[string][]apidiscoveryv2.APIGroupDiscovery{"b": {groupOf("first", "v1:x/get"), groupOf("apps", "v1:deployments/get"), groupOf("zlast", "v1:x/get")}},
			"first[v1:x/get] apps[v1:deployments/create+delete+deletecollection+get+list+patch+update+watch] zlast[v1:x/get]"},
		"a choice is by name": {map[string][]apidiscoveryv2.APIGroupDiscovery{"b": {groupOf("apps", "v1:deployments/get"), groupOf("q", "v1:x/get")}, "c": {groupOf("apps", "v1:deployments/get"), groupOf("p", "v1:x/get")}},
			"apps[v1:deployments/create+delete+deletecollection+get+list+patch+update+watch] p[v1:x/get] q[v1:x/get]"},
		"contradicting orders": {map[string][]apidiscoveryv2.APIGroupDiscovery{"b": {groupOf("y", "v1:x/get"), groupOf("x", "v1:x/get")}, "c": {groupOf("x", "v1:x/get"), groupOf("y", "v1:x/get")}},
			"apps[v1:deployments/create+delete+deletecollection+get+list+patch+update+watch] x[v1:x/get] y[v1:x/get]"},
		"versions, resources and verbs": {map[string][]apidiscoveryv2.APIGroupDiscovery{"b": {groupOf("g", "v2:x/get,y/list", "v1:x/get")}, "c": {groupOf("g", "v2:x/watch+create", "v1beta1:z/get", "v1:x/get")}},
			"apps[v1:deployments/create+delete+deletecollection+get+list+patch+update+watch] g[v2:x/create+get+watch,y/list v1beta1:z/get v1:x/get]"},
		"the same twice": {map[string][]apidiscoveryv2.APIGroupDiscovery{"b": {groupOf("g", "v1:x/watch+get")}, "c": {groupOf("g", "v1:x/watch+get")}},
			"apps[v1:deployments/create+delete+deletecollection+get+list+patch+update+watch] g[v1:x/watch+get]"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &knownPeers{apiserver.PeerDiscovery{Own: "a", Peers: c.peers}}
			s := start(t, apiserver.Options{Peers: p})
			got := s.do("GET", "/apis", nil, "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
			require.Equal(t, 200, got.code)
			require.Equal(t, c.want, shown(t, got.body))
		})
	}
}

// shown are the groups of a document that no server has, and deployments of apps.
func shown(t *testing.T, document []byte) string {
	t.Helper()
	var list apidiscoveryv2.APIGroupDiscoveryList
	require.NoError(t, json.Unmarshal(document, &list))
	var out []string
	for _, g := range list.Items {
		if strings.Contains(g.Name, ".") || len(g.Name) > 5 || g.Name == "batch" {
			continue
		}
		var versions []string
		for _, v := range g.Versions {
			var resources []string
			for _, r := range v.Resources {
				if g.Name != "apps" || r.Resource == "deployments" {
					resources = append(resources, r.Resource+"/"+strings.Join(r.Verbs, "+"))
				}
			}
			versions = append(versions, v.Version+":"+strings.Join(resources, ","))
		}
		out = append(out, fmt.Sprintf("%s%v", g.Name, versions))
	}
	return strings.Join(out, " ")
}
