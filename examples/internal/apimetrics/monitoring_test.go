package apimetrics_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/familytest"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
)

// Existing rules and dashboards for Kubernetes find the metrics they use.
func TestMonitoring(t *testing.T) {
	ca, err := certs.NewAuthority("ca")
	require.NoError(t, err)
	client, err := ca.Client("bob")
	require.NoError(t, err)
	held := slow{make(chan struct{}), make(chan struct{})}
	st := memory.New(memory.Options{})
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	p := startPlane(t, func(o *controlplane.Options) {
		o.Plugins, o.AuthorizationModes = []admission.Plugin{held}, []string{"AlwaysAllow"}
		o.ClientCAs = func() *x509.CertPool { return ca.Pool() }
		o.Server.Store, o.Server.NoPriorityAndFairness, o.Server.MaxMutatingInFlight = st, true, 1
	})
	r := httptest.NewRequestWithContext(t.Context(), "GET", configMaps, nil)
	leaf, err := x509.ParseCertificate(client.TLS().Certificate[0])
	require.NoError(t, err)
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	require.Equal(t, 200, w.Code)

	p.do("root", "POST", configMaps, `{"metadata":{"name":"a"}}`, 201)
	p.do("root", "PUT", configMaps+"/a", `{"metadata":{"name":"a"},"data":{"k":"v"}}`, 200)
	p.do("root", "GET", configMaps+"/a", "", 200)
	p.do("root", "GET", configMaps+"/none", "", 404)
	p.do("root", "GET", "/api/v1/configmaps", "", 200)
	p.do("root", "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"things.a.test"},"spec":{"group":"a.test","scope":"Cluster",
		"names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, 201)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.do("ann", "POST", configMaps, `{"metadata":{"name":"slow"}}`, 201)
	}()
	<-held.arrived
	p.do("ann", "POST", configMaps, `{"metadata":{"name":"late"}}`, 429)
	close(held.release)
	<-done
	hooks := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			http.Error(w, "broken", http.StatusBadGateway)
		}
	}))
	defer hooks.Close()
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hooks.Certificate().Raw}))
	for _, name := range []string{"broken", "empty"} {
		p.do("root", "POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", `{"metadata":{"name":"`+name+`"},
			"webhooks":[{"name":"`+name+`.a.test","clientConfig":{"url":"`+hooks.URL+`/`+name+`","caBundle":"`+bundle+`"},"failurePolicy":"Fail","sideEffects":"None",
			"admissionReviewVersions":["v1"],"rules":[{"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}]}`, 201)
	}
	p.do("root", "DELETE", configMaps+"/a", "", 500)

	served := p.has()
	asked, err := os.ReadFile("testdata/monitoring.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(asked)) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		found := slices.ContainsFunc(seriesOf(served, f[0]), func(labels map[string]string) bool {
			return !slices.ContainsFunc(f[1:], func(want string) bool {
				label, expression, some := strings.Cut(want, "=")
				value, has := labels[label]
				return !has || some && !regexp.MustCompile("^(?:"+expression+")$").MatchString(value)
			})
		})
		require.True(t, found, line)
	}

	health := familytest.RequireUpstreams(t, p.do("root", "GET", "/metrics/slis", "", 200))
	require.Empty(t, health["kubernetes_healthcheck"])
	p.do("root", "GET", "/livez", "", 200)
	health = familytest.RequireUpstreams(t, p.do("root", "GET", "/metrics/slis", "", 200))
	require.Equal(t, 1.0, health["kubernetes_healthcheck"].Series[`kubernetes_healthcheck{name="ping",type="livez"}`])
	require.Equal(t, 1.0, health["kubernetes_healthchecks_total"].Series[`kubernetes_healthchecks_total{name="ping",status="success",type="livez"}`])
}

// seriesOf are the labels of the series of a name, which may be that of a part of a histogram.
func seriesOf(served map[string]*familytest.Family, name string) []map[string]string {
	f := served[name]
	for _, part := range []string{"_bucket", "_count", "_sum"} {
		if f == nil {
			f = served[strings.TrimSuffix(name, part)]
		}
	}
	var out []map[string]string
	if f != nil {
		for i, labels := range f.Parts {
			if strings.HasPrefix(f.Lines[i], name+"{") || f.Lines[i] == name {
				out = append(out, labels)
			}
		}
	}
	return out
}
