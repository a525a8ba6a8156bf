package apimetrics_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
)

// since returns by how much series change while do runs; a missing one counts as zero.
func (p *plane) since(do func(), series ...string) []float64 {
	p.t.Helper()
	read := func() []float64 {
		all := map[string]float64{}
		for _, f := range p.has() {
			for name, v := range f.Series {
				all[name] = v
			}
		}
		out := make([]float64, len(series))
		for i, s := range series {
			out[i] = all[s]
		}
		return out
	}
	before := read()
	do()
	after := read()
	for i := range after {
		after[i] -= before[i]
	}
	return after
}

// A list counts the objects it reads and returns, and whether it was a consistent read; a watch counts its
// initial events.
func TestListsAndWatchesCount(t *testing.T) {
	p := startPlane(t)
	for i := range 5 {
		p.do("root", "POST", configMaps, fmt.Sprintf(`{"metadata":{"name":"c%d","labels":{"even":"%t"}}}`, i, i%2 == 0), 201)
	}
	p.do("root", "GET", configMaps, "", 200) // fills the cache
	const of = `{group="",resource="configmaps"}`
	lists := []string{
		`apiserver_cache_list_total{group="",index="",resource="configmaps"}`,
		`apiserver_cache_list_fetched_objects_total{group="",index="",resource="configmaps"}`,
		`apiserver_cache_list_returned_objects_total` + of,
		`apiserver_watch_cache_consistent_read_total{fallback="false",group="",resource="configmaps",success="true"}`,
		`apiserver_watch_cache_read_wait_seconds_count` + of,
	}
	list := func(query string) func() { return func() { p.do("root", "GET", configMaps+query, "", 200) } }
	require.Equal(t, []float64{1, 5, 5, 1, 1}, p.since(list(""), lists...))
	require.Equal(t, []float64{1, 5, 3, 1, 1}, p.since(list("?labelSelector=even=true"), lists...))
	require.Equal(t, []float64{1, 3, 2, 1, 1}, p.since(list("?limit=2"), lists...), "and one to see that there are more")
	require.Equal(t, []float64{1, 5, 5, 0, 0}, p.since(list("?resourceVersion=0"), lists...))

	require.Equal(t, []float64{5, 1, 5, 5}, p.since(
		func() {
			p.do("root", "GET", configMaps+"?watch=1&timeoutSeconds=1&resourceVersion=0", "", 200)
		},
		`apiserver_init_events_total`+of, `apiserver_request_sli_duration_seconds_count{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"}`,
		`apiserver_watch_events_sizes_count{group="",resource="configmaps",version="v1"}`, `apiserver_watch_events_total{group="",resource="configmaps",version="v1"}`))
	require.Equal(t, []float64{1}, p.since(
		func() {
			p.do("root", "GET", configMaps+"?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "", 200)
		},
		`apiserver_watch_list_duration_seconds_count{group="",resource="configmaps",scope="namespace",version="v1"}`))
	for _, name := range []string{"apiserver_watch_cache_events_received_total", "apiserver_watch_cache_events_dispatched_total", "apiserver_storage_events_received_total"} {
		before := p.has()[name].Series[name+of]
		p.do("root", "PATCH", configMaps+"/c0", `{"data":{"of":"`+name+`"}}`, 200)
		require.Eventually(t, func() bool { return p.has()[name].Series[name+of] == before+1 }, time.Minute, time.Millisecond, "events come when they come")
	}

	secrets := []string{`apiserver_storage_list_total{group="",resource="secrets"}`, `apiserver_watch_cache_initializations_total{group="",resource="secrets"}`}
	p.do("root", "POST", "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"}}`, 201)
	all := p.since(func() { p.do("root", "GET", "/api/v1/secrets?limit=1", "", 200) }, secrets...)
	require.Contains(t, [][]float64{{1, 1}, {0, 0}}, all, "the first list fills the cache, unless somebody else has")
	require.Equal(t, []float64{0, 0}, p.since(func() { p.do("root", "GET", "/api/v1/secrets", "", 200) }, secrets...))
}

// The SLI of the duration of requests excludes the time of webhooks, and dry runs.
func TestTimeOfWebhooksIsNotTheServers(t *testing.T) {
	st := memory.New(memory.Options{})
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	p := startPlane(t, func(o *controlplane.Options) { o.Server.Store = st })
	hooks := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		_ = json.NewDecoder(r.Body).Decode(&review)
		fmt.Fprint(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"`+review.Request.UID+`","allowed":true}}`)
	}))
	defer hooks.Close()
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hooks.Certificate().Raw}))
	p.do("root", "POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", `{"metadata":{"name":"w"},
		"webhooks":[{"name":"w.a.test","clientConfig":{"url":"`+hooks.URL+`/w","caBundle":"`+bundle+`"},"failurePolicy":"Fail","sideEffects":"None",
		"admissionReviewVersions":["v1"],"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}]}`, 201)
	const post = `component="apiserver",%sgroup="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"}`
	const body = `{"metadata":{"name":"a"}}`
	got := p.since(func() { p.do("root", "POST", configMaps, body, 201) },
		"apiserver_request_duration_seconds_sum{"+fmt.Sprintf(post, `dry_run="",`),
		"apiserver_request_sli_duration_seconds_sum{"+fmt.Sprintf(post, ""),
		`apiserver_admission_webhook_admission_duration_seconds_sum{name="w.a.test",operation="CREATE",rejected="false",type="admit"}`,
		`apiserver_request_body_size_bytes_sum{group="",resource="configmaps",verb="create"}`)
	require.Positive(t, got[2])
	require.InDelta(t, got[2], got[0]-got[1], 1e-6)
	require.EqualValues(t, len(body), got[3])
	require.Equal(t, []float64{1, 0}, p.since(func() { p.do("root", "POST", configMaps+"?dryRun=All", `{"metadata":{"name":"b"}}`, 201) },
		"apiserver_request_duration_seconds_count{"+fmt.Sprintf(post, `dry_run="All",`), "apiserver_request_sli_duration_seconds_count{"+fmt.Sprintf(post, "")))
}

// Requests are counted by their flow: exempt ones that never wait, and others.
func TestFlowsCount(t *testing.T) {
	p := startPlane(t)
	const exempt, node = `flow_schema="exempt",priority_level="exempt"`, `flow_schema="global-default",priority_level="global-default"`
	series := []string{
		`apiserver_flowcontrol_dispatched_requests_total{` + node + `}`,
		`apiserver_flowcontrol_request_wait_duration_seconds_count{execute="true",` + node + `}`,
		`apiserver_flowcontrol_request_execution_seconds_count{` + node + `,type="regular"}`,
		`apiserver_flowcontrol_work_estimated_seats_sum{` + node + `}`,
		`apiserver_flowcontrol_request_wait_duration_seconds_count{execute="true",` + exempt + `}`,
		`apiserver_flowcontrol_request_execution_seconds_count{` + exempt + `,type="watch"}`,
		`apiserver_flowcontrol_current_inqueue_seats{` + node + `}`,
	}
	require.Equal(t, []float64{2, 2, 2, 2, 0, 0, 0}, p.since(func() {
		p.do("ann", "GET", "/version", "", 200)
		p.do("ann", "GET", configMaps, "", 403)
	}, series...))
	require.Equal(t, []float64{0, 0, 0, 0, 0, 1, 0}, p.since(func() { p.do("root", "GET", configMaps+"?watch=1&timeoutSeconds=1", "", 200) }, series...))
	before := `apiserver_flowcontrol_dispatched_requests_total{` + exempt + `}`
	require.Equal(t, []float64{3}, p.since(func() { p.do("root", "GET", configMaps, "", 200); p.do("root", "GET", configMaps, "", 200) }, before), "with the one that asks")
}

// A client that does not trust the server is counted.
func TestHandshakesCount(t *testing.T) {
	p := startPlane(t)
	ca, err := certs.NewAuthority("ca")
	require.NoError(t, err)
	pair, err := ca.Serving("127.0.0.1", "127.0.0.1")
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- p.Serve(ctx, l, &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}) }()
	const failed = "apiserver_tls_handshake_errors_total"
	require.Zero(t, p.has()[failed].Series[failed])
	conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: x509.NewCertPool()})
	require.Error(t, err, "%v", conn)
	require.Eventually(t, func() bool { return p.has()[failed].Series[failed] == 1 }, time.Minute, time.Millisecond)
	cancel()
	require.NoError(t, <-served)
}

// A request that waits for a seat is counted while it waits and afterwards, and so are the seats it demands.
func TestFlowsThatWait(t *testing.T) {
	held := slow{make(chan struct{}), make(chan struct{})}
	p := startPlane(t, func(o *controlplane.Options) {
		o.Plugins, o.AuthorizationModes = []admission.Plugin{held}, []string{"AlwaysAllow"}
		o.Server.MaxInFlight, o.Server.MaxMutatingInFlight = 1, 1
	})
	done := make(chan struct{})
	post := func(name string) {
		p.do("ann", "POST", configMaps, `{"metadata":{"name":"`+name+`"}}`, 201)
		done <- struct{}{}
	}
	go post("slow")
	<-held.arrived
	go post("next")
	const flow, level, prefix = `flow_schema="global-default",priority_level="global-default"`, `priority_level="global-default"`, "apiserver_flowcontrol_"
	waiting := prefix + "current_inqueue_requests{" + flow + "}"
	require.Eventually(t, func() bool { return p.has()[prefix+"current_inqueue_requests"].Series[waiting] == 1 }, time.Minute, time.Millisecond)
	f := p.has(
		`apiserver_current_inqueue_requests{request_kind="mutating"} 1`,
		`apiserver_current_inqueue_requests{request_kind="readOnly"} 0`,
		prefix+"request_dispatch_no_accommodation_total{"+flow+"} 1",
		prefix+`request_queue_length_after_enqueue_sum{`+flow+`} 2`,
	)
	for _, name := range []string{"next_s_bounds", "next_discounted_s_bounds"} {
		for _, bound := range []string{"min", "max"} {
			require.Contains(t, f[prefix+name].Series, prefix+name+`{bound="`+bound+`",`+level+`}`)
		}
	}
	close(held.release)
	<-done
	<-done
	watching, enough := context.WithCancel(t.Context())
	var watches sync.WaitGroup
	defer watches.Wait()
	defer enough()
	for range 3 {
		watches.Go(func() {
			r := httptest.NewRequestWithContext(watching, "GET", configMaps+"?watch=1", nil)
			r.Header.Set("Authorization", "Bearer ann")
			p.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	open := `apiserver_longrunning_requests{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"}`
	require.Eventually(t, func() bool {
		f := p.has()["apiserver_longrunning_requests"]
		return f != nil && f.Series[open] == 3
	}, time.Minute, time.Millisecond)
	p.do("ann", "DELETE", configMaps+"/slow", "", 200)
	f = p.has(
		prefix+`watch_count_samples_bucket{`+flow+`,le="0"} 2`, // the creates
		prefix+`watch_count_samples_sum{`+flow+`} 3`,
		prefix+"current_inqueue_requests{"+flow+"} 0",
		prefix+"current_limit_seats{"+level+"} 1",
	)
	for name, more := range map[string]string{"demand_seats": "", "priority_level_seat_utilization": `phase="executing",`, "priority_level_request_utilization": `phase="waiting",`} {
		require.Positive(t, f[prefix+name].Series[prefix+name+"_sum{"+more+level+"}"], name)
	}
	require.Positive(t, f[prefix+"read_vs_write_current_requests"].Series[prefix+`read_vs_write_current_requests_sum{phase="waiting",request_kind="mutating"}`])
	require.Positive(t, f[prefix+"read_vs_write_current_requests"].Series[prefix+`read_vs_write_current_requests_sum{phase="executing",request_kind="readOnly"}`])
}

// Writes are timed by how unknown fields are treated; requests of the server itself and responses that end
// early are counted.
func TestRequestsCountBy(t *testing.T) {
	p := startPlane(t, func(o *controlplane.Options) {
		o.Server.Handlers = map[string]http.Handler{"/aborts": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })}
		tokens, err := authn.TokenFile(strings.NewReader("root,admin,1,system:masters\nself,system:apiserver,2,system:masters\n"))
		require.NoError(t, err)
		o.StaticTokens = tokens
	})
	p.do("root", "POST", configMaps+"?fieldValidation=Strict", `{"metadata":{"name":"a"}}`, 201)
	p.do("root", "POST", configMaps+"?fieldValidation=Odd", `{"metadata":{"name":"b"}}`, 422)
	p.do("self", "GET", configMaps, "", 200)
	for range 2 { // the second one is the first again
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/apis", nil)
		r.Header.Set("Authorization", "Bearer root")
		r.Header.Set("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		p.ServeHTTP(httptest.NewRecorder(), r)
	}
	require.Panics(t, func() { p.do("root", "GET", "/aborts", "", 200) })
	p.has(
		`field_validation_request_duration_seconds_count{field_validation="Strict"} 1`,
		`field_validation_request_duration_seconds_count{field_validation="invalid"} 1`,
		"aggregator_discovery_aggregation_count_total 1",
		`apiserver_selfrequest_total{group="",resource="configmaps",subresource="",verb="LIST"} 1`,
		`apiserver_request_aborts_total{group="",resource="",scope="",subresource="/aborts",verb="GET",version=""} 1`,
	)
}

// Addresses and ports of services are counted as they are allocated, by who chose them; a dry run allocates
// none.
func TestServicesCount(t *testing.T) {
	p := startPlane(t)
	const cluster, node, cidr = "kube_apiserver_clusterip_allocator_", "kube_apiserver_nodeport_allocator_", `cidr="10.96.0.0/16"`
	series := []string{
		cluster + "allocation_total{" + cidr + `,scope="dynamic"}`, cluster + "allocation_total{" + cidr + `,scope="static"}`,
		cluster + "allocation_errors_total{" + cidr + `,scope="static"}`, cluster + "allocation_duration_seconds_count{" + cidr + "}",
		cluster + "allocated_ips{" + cidr + "}", cluster + "available_ips{" + cidr + "}",
		node + `allocation_total{scope="dynamic"}`, node + `allocation_total{scope="static"}`, node + `allocation_errors_total{scope="static"}`,
		node + "allocated_ports", node + "available_ports",
	}
	const services = "/api/v1/namespaces/default/services"
	post := func(query, name, spec string, code int) {
		t.Helper()
		p.do("root", "POST", services+query, `{"metadata":{"name":"`+name+`"},"spec":{`+spec+`}}`, code)
	}
	require.Equal(t, []float64{1, 1, 1, 3, 2, -2, 1, 1, 1, 2, -2}, p.since(func() {
		post("", "a", `"type":"NodePort","ports":[{"port":80}]`, 201)
		post("", "b", `"type":"NodePort","clusterIP":"10.96.0.77","ports":[{"port":80,"nodePort":30001}]`, 201)
		post("", "c", `"clusterIP":"10.96.0.77","ports":[{"port":80}]`, 422)
		post("?dryRun=All", "d", `"type":"NodePort","ports":[{"port":80}]`, 201)
		p.do("root", "PUT", services+"/a", strings.Replace(p.do("root", "GET", services+"/a", "", 200), `"nodePort":`, `"nodePort":30001,"x":`, 1), 422)
	}, series...))
	require.Equal(t, []float64{0, 0, 0, 0, -1, 1, 0, 0, 0, -1, 1}, p.since(func() { p.do("root", "DELETE", services+"/a", "", 200) }, series...))
}
