package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store/apiserver"
)

func TestCreateGetUpdateDelete(t *testing.T) {
	s := start(t, apiserver.Options{})
	made := s.do("POST", configMaps, configMap("a", "k", "v")).ok(201)
	require.NotEmpty(t, made.str("metadata.uid"))
	require.NotEmpty(t, made.str("metadata.resourceVersion"))
	require.NotEmpty(t, made.str("metadata.creationTimestamp"))
	require.Equal(t, "default", made.str("metadata.namespace"))
	require.Equal(t, made, s.do("GET", configMaps+"/a", nil).ok(200))

	// A stale version conflicts; the current one, or none, succeeds.
	stale := configMap("a", "k", "2")
	stale["metadata"].(map[string]any)["resourceVersion"] = made.str("metadata.resourceVersion")
	second := s.do("PUT", configMaps+"/a", stale).ok(200)
	require.Equal(t, "2", second.str("data.k"))
	require.Equal(t, "Conflict", s.do("PUT", configMaps+"/a", stale).ok(409).str("reason"))
	require.Equal(t, "3", s.do("PUT", configMaps+"/a", configMap("a", "k", "3")).ok(200).str("data.k"))

	// A write that changes nothing stores nothing.
	before := s.do("GET", configMaps+"/a", nil).ok(200)
	after := s.do("PUT", configMaps+"/a", before).ok(200)
	require.Equal(t, before.str("metadata.resourceVersion"), after.str("metadata.resourceVersion"))

	require.Equal(t, "Success", s.do("DELETE", configMaps+"/a", nil).ok(200).str("status"))
	require.Equal(t, "NotFound", s.do("GET", configMaps+"/a", nil).ok(404).str("reason"))
	require.Equal(t, "NotFound", s.do("PUT", configMaps+"/a", configMap("a")).ok(404).str("reason"))
}

func TestGenerateName(t *testing.T) {
	s := start(t, apiserver.Options{})
	seen := map[string]bool{}
	for range 20 {
		o := s.do("POST", configMaps, object{"metadata": map[string]any{"generateName": "web-"}}).ok(201)
		require.Regexp(t, `^web-[bcdfghjklmnpqrstvwxz2456789]{5}$`, o.str("metadata.name"))
		seen[o.str("metadata.name")] = true
	}
	require.Len(t, seen, 20)
}

// An object that is created has no resourceVersion. Zero, which kubeadm's manifest of the DNS service has, is
// none.
func TestCreateWithVersion(t *testing.T) {
	s := start(t, apiserver.Options{})
	made := s.do("POST", configMaps, `{"metadata":{"name":"zero","resourceVersion":"0"}}`).ok(201)
	require.NotEqual(t, "0", made.str("metadata.resourceVersion"))
	s.do("POST", configMaps, `{"metadata":{"name":"one","resourceVersion":"1"}}`).ok(400)
	s.do("POST", configMaps, `{"metadata":{"name":"none","resourceVersion":"x"}}`).ok(400)
}

func TestCreateOnUpdate(t *testing.T) {
	s := start(t, apiserver.Options{})
	leases := "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	require.Equal(t, "l", s.do("PUT", leases+"/l", `{"metadata":{"name":"l"},"spec":{"holderIdentity":"me"}}`).ok(201).str("metadata.name"))
	require.Equal(t, "Invalid", s.do("PUT", leases+"/l", `{"metadata":{"name":"l"},"spec":{"holderIdentity":"you"}}`).ok(422).str("reason"), "a lease requires a version")
	s.do("PUT", configMaps+"/x", configMap("x")).ok(404)
}

func TestSpecAndStatusAreSeparate(t *testing.T) {
	s := start(t, apiserver.Options{})
	deployments := "/apis/apps/v1/namespaces/default/deployments"
	d := s.do("POST", deployments, `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}},"status":{"replicas":9}}`).ok(201)
	require.Nil(t, d.at("status.replicas"), "a status is not created")
	require.EqualValues(t, 1, d.at("metadata.generation"))
	patch := func(path, body string) object {
		return s.do("PATCH", path, body, "Content-Type", "application/merge-patch+json").ok(200)
	}
	st := patch(deployments+"/d/status", `{"spec":{"replicas":7},"status":{"replicas":3}}`)
	require.EqualValues(t, 1, st.at("spec.replicas"))
	require.EqualValues(t, 3, st.at("status.replicas"))
	require.EqualValues(t, 1, st.at("metadata.generation"))
	sp := patch(deployments+"/d", `{"spec":{"replicas":7},"status":{"replicas":1}}`)
	require.EqualValues(t, 7, sp.at("spec.replicas"))
	require.EqualValues(t, 3, sp.at("status.replicas"))
	require.EqualValues(t, 2, sp.at("metadata.generation"))
	require.EqualValues(t, 2, patch(deployments+"/d", `{"metadata":{"labels":{"x":"y"}}}`).at("metadata.generation"), "labels do not count")
	require.EqualValues(t, 3, patch(deployments+"/d", `{"metadata":{"annotations":{"x":"y"}}}`).at("metadata.generation"), "annotations of a Deployment do")
	require.EqualValues(t, 2, patch(deployments+"/d/scale", `{"spec":{"replicas":2}}`).at("spec.replicas"))
	require.EqualValues(t, 4, s.do("GET", deployments+"/d", nil).ok(200).at("metadata.generation"))
}

func TestDryRunStoresNothing(t *testing.T) {
	s := start(t, apiserver.Options{})
	o := s.do("POST", configMaps+"?dryRun=All", configMap("a")).ok(201)
	require.NotEmpty(t, o.str("metadata.uid"))
	require.Nil(t, o.at("metadata.resourceVersion"))
	s.do("GET", configMaps+"/a", nil).ok(404)
	s.do("POST", configMaps, configMap("a", "k", "1")).ok(201)
	require.Equal(t, "AlreadyExists", s.do("POST", configMaps+"?dryRun=All", configMap("a")).ok(409).str("reason"))
	s.do("PUT", configMaps+"/a?dryRun=All", configMap("a", "k", "2")).ok(200)
	s.do("DELETE", configMaps+"/a?dryRun=All", nil).ok(200)
	require.Equal(t, "1", s.do("GET", configMaps+"/a", nil).ok(200).str("data.k"))
	svc := s.do("POST", "/api/v1/namespaces/default/services?dryRun=All", `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`).ok(201)
	require.Regexp(t, `^10\.96\.`, svc.str("spec.clusterIP"))
	require.Empty(t, s.do("GET", "/apis/networking.k8s.io/v1/ipaddresses", nil).ok(200).items())
}

func TestGracefulDeletionOfPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, apiserver.Options{})
		p := pod("p")
		p["spec"].(map[string]any)["nodeName"] = "n1"
		s.do("POST", pods, p).ok(201)
		begun := time.Now()
		o := s.do("DELETE", pods+"/p", nil).ok(200)
		at, err := time.Parse(time.RFC3339, o.str("metadata.deletionTimestamp"))
		require.NoError(t, err)
		require.Equal(t, 30*time.Second, at.Sub(begun))
		time.Sleep(10 * time.Second)
		require.Equal(t, o.str("metadata.deletionTimestamp"), s.do("DELETE", pods+"/p?gracePeriodSeconds=60", nil).ok(200).str("metadata.deletionTimestamp"), "never longer")
		o = s.do("DELETE", pods+"/p?gracePeriodSeconds=5", nil).ok(200)
		at, err = time.Parse(time.RFC3339, o.str("metadata.deletionTimestamp"))
		require.NoError(t, err)
		require.Equal(t, 5*time.Second, at.Sub(begun), "a shorter period counts from the first delete")
		s.do("DELETE", pods+"/p?gracePeriodSeconds=0", nil).ok(200)
		s.do("GET", pods+"/p", nil).ok(404)
		s.stop()
	})
}

func TestPreconditions(t *testing.T) {
	s := start(t, apiserver.Options{})
	o := s.do("POST", configMaps, configMap("a")).ok(201)
	s.do("DELETE", configMaps+"/a", `{"preconditions":{"uid":"nope"}}`).ok(409)
	s.do("DELETE", configMaps+"/a", `{"preconditions":{"resourceVersion":"1"}}`).ok(409)
	s.do("DELETE", configMaps+"/a", object{"preconditions": map[string]any{"uid": o.str("metadata.uid"), "resourceVersion": o.str("metadata.resourceVersion")}}).ok(200)
}

func TestListSemantics(t *testing.T) {
	s := start(t, apiserver.Options{})
	var versions []string
	for i := range 5 {
		cm := configMap(fmt.Sprintf("c%d", i))
		cm["metadata"].(map[string]any)["labels"] = map[string]any{"n": fmt.Sprint(i), "odd": fmt.Sprint(i % 2)}
		versions = append(versions, s.do("POST", configMaps, cm).ok(201).str("metadata.resourceVersion"))
	}
	all := s.do("GET", configMaps, nil).ok(200)
	require.Equal(t, []string{"c0", "c1", "c2", "c3", "c4"}, all.names())
	require.Equal(t, "ConfigMapList", all.str("kind"))
	require.Nil(t, all.items()[0].(map[string]any)["kind"], "items have no kind of their own")
	require.Equal(t, []string{"c1", "c3"}, s.do("GET", configMaps+"?labelSelector=odd%3D1", nil).ok(200).names())
	require.Equal(t, []string{"c2"}, s.do("GET", configMaps+"?fieldSelector=metadata.name%3Dc2", nil).ok(200).names())
	require.Equal(t, []string{"c2"}, s.do("GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Dc2,metadata.namespace%3Ddefault", nil).ok(200).names())

	exact := s.do("GET", configMaps+"?resourceVersionMatch=Exact&resourceVersion="+versions[1], nil).ok(200)
	require.Equal(t, []string{"c0", "c1"}, exact.names())
	require.Equal(t, versions[1], exact.str("metadata.resourceVersion"))
	require.Len(t, s.do("GET", configMaps+"?resourceVersion=0", nil).ok(200).items(), 5)
	require.Len(t, s.do("GET", configMaps+"?resourceVersion="+versions[0], nil).ok(200).items(), 5, "not older than")
	require.Equal(t, []string{"c0"}, s.do("GET", configMaps+"?limit=2&resourceVersion="+versions[0], nil).ok(200).names(), "a limit makes it exact")

	page := s.do("GET", configMaps+"?limit=2", nil).ok(200)
	require.Equal(t, []string{"c0", "c1"}, page.names())
	require.EqualValues(t, 3, page.at("metadata.remainingItemCount"))
	s.do("DELETE", configMaps+"/c3", nil).ok(200)
	next := s.do("GET", configMaps+"?limit=2&continue="+page.str("metadata.continue"), nil).ok(200)
	require.Equal(t, []string{"c2", "c3"}, next.names(), "pages are of one state")
	require.Equal(t, page.str("metadata.resourceVersion"), next.str("metadata.resourceVersion"))
	last := s.do("GET", configMaps+"?limit=2&continue="+next.str("metadata.continue"), nil).ok(200)
	require.Equal(t, []string{"c4"}, last.names())
	require.Nil(t, last.at("metadata.continue"))
	s.do("GET", configMaps+"?resourceVersion=5&continue="+page.str("metadata.continue"), nil).ok(400)

	selected := s.do("GET", configMaps+"?limit=1&labelSelector=odd%3D0", nil).ok(200)
	require.Nil(t, selected.at("metadata.remainingItemCount"), "unknown with a selector")
	require.NotEmpty(t, selected.str("metadata.continue"))
}

func TestForms(t *testing.T) {
	s := start(t, apiserver.Options{})
	made := s.do("POST", pods, pod("p")).ok(201)
	got := s.do("GET", pods+"/p", nil, "Accept", "application/vnd.kubernetes.protobuf")
	var p corev1.Pod
	_, kind, err := codec.UnmarshalEnvelope(got.body, &p)
	require.NoError(t, err)
	require.Equal(t, "Pod", kind)
	require.Equal(t, made.str("metadata.resourceVersion"), p.ResourceVersion)
	require.Equal(t, made.str("metadata.uid"), string(p.UID))

	yaml := s.do("GET", pods+"/p", nil, "Accept", "application/yaml")
	require.Contains(t, string(yaml.body), "\nkind: Pod\n")
	require.Contains(t, string(s.do("GET", pods, nil, "Accept", "application/yaml").body), "\nkind: PodList\n")

	table := "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	one := s.do("GET", pods+"/p", nil, "Accept", table).ok(200)
	require.Equal(t, "Table", one.str("kind"))
	row := one["rows"].([]any)[0].(map[string]any)
	require.Equal(t, "p", row["cells"].([]any)[0])
	require.Equal(t, "PartialObjectMetadata", object(row).str("object.kind"))
	require.Equal(t, "Pod", object(s.do("GET", pods+"?includeObject=Object", nil, "Accept", table).ok(200)["rows"].([]any)[0].(map[string]any)).str("object.kind"))

	meta := "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	m := s.do("GET", pods+"/p", nil, "Accept", meta).ok(200)
	require.Equal(t, "PartialObjectMetadata", m.str("kind"))
	require.Nil(t, m["spec"])
	list := s.do("GET", pods, nil, "Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io").ok(200)
	require.Equal(t, "PartialObjectMetadataList", list.str("kind"))
	require.Equal(t, []string{"p"}, list.names())

	proto, err := codec.MarshalEnvelope("v1", "ConfigMap", &corev1.ConfigMap{Data: map[string]string{"a": "b"}})
	require.NoError(t, err)
	require.Equal(t, "Invalid", s.do("POST", configMaps, proto, "Content-Type", "application/vnd.kubernetes.protobuf").ok(422).str("reason"), "no name")
	s.do("POST", configMaps, "metadata:\n  name: fromyaml\ndata:\n  a: b\n", "Content-Type", "application/yaml").ok(201)
	require.Contains(t, string(s.do("GET", configMaps+"/fromyaml?pretty=1", nil).body), "\n  \"data\": {\n")
}

func TestGzip(t *testing.T) {
	s := start(t, apiserver.Options{})
	for i := range 3 {
		s.do("POST", configMaps, configMap(fmt.Sprintf("c%d", i), "k", strings.Repeat("x", 60<<10))).ok(201)
	}
	got := s.do("GET", configMaps, nil, "Accept-Encoding", "gzip")
	require.Equal(t, "gzip", got.header.Get("Content-Encoding"))
	require.Less(t, len(got.body), 10<<10)
	require.Empty(t, s.do("GET", configMaps+"/c0", nil, "Accept-Encoding", "gzip").header.Get("Content-Encoding"), "too small")
}

func TestBodyLimit(t *testing.T) {
	s := start(t, apiserver.Options{})
	before := s.do("GET", configMaps, nil).ok(200).str("metadata.resourceVersion")
	require.Equal(t, "RequestEntityTooLarge", s.do("POST", configMaps, configMap("big", "k", strings.Repeat("x", 3<<20))).ok(413).str("reason"))
	require.Equal(t, before, s.do("GET", configMaps, nil).ok(200).str("metadata.resourceVersion"))
}

func TestEventsInBothGroups(t *testing.T) {
	s := start(t, apiserver.Options{})
	s.do("POST", "/api/v1/namespaces/default/events", `{"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"x","namespace":"default"},"reason":"Started","message":"m","type":"Normal","source":{"component":"kubelet"}}`).ok(201)
	newer := s.do("GET", "/apis/events.k8s.io/v1/namespaces/default/events/e", nil).ok(200)
	require.Equal(t, "m", newer.str("note"))
	require.Equal(t, "events.k8s.io/v1", newer.str("apiVersion"))
	require.Equal(t, []string{"e"}, s.do("GET", "/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name%3Dx", nil).ok(200).names())
	require.Empty(t, s.do("GET", "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dx,type%3DWarning", nil).ok(200).names())
	s.do("GET", "/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dx", nil).ok(400)
	key := "/events/default/e"
	kv, _, err := s.Registry().Store().Get(t.Context(), key)
	require.NoError(t, err)
	apiVersion, _, _, err := codec.DecodeEnvelope(kv.Value)
	require.NoError(t, err)
	require.Equal(t, "v1", apiVersion)
}

func TestEventsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, apiserver.Options{})
		s.do("POST", "/api/v1/namespaces/default/events", `{"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"x","namespace":"default"}}`).ok(201)
		time.Sleep(59 * time.Minute)
		require.Len(t, s.do("GET", "/api/v1/events", nil).ok(200).items(), 1)
		time.Sleep(3 * time.Minute)
		require.Empty(t, s.do("GET", "/api/v1/events", nil).ok(200).items())
		s.stop()
	})
}

func TestScalersInBothVersions(t *testing.T) {
	s := start(t, apiserver.Options{})
	base := "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
	s.do("POST", base, `{"metadata":{"name":"h"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"maxReplicas":5,"targetCPUUtilizationPercentage":70}}`).ok(201)
	v2 := s.do("GET", strings.Replace(base, "/v1/", "/v2/", 1)+"/h", nil).ok(200)
	metric := v2.at("spec.metrics").([]any)[0].(map[string]any)
	require.EqualValues(t, 70, object(metric).at("resource.target.averageUtilization"))
	s.do("PATCH", strings.Replace(base, "/v1/", "/v2/", 1)+"/h", `{"spec":{"metrics":[{"type":"Resource","resource":{"name":"memory","target":{"type":"Utilization","averageUtilization":50}}}]}}`, "Content-Type", "application/merge-patch+json").ok(200)
	v1 := s.do("GET", base+"/h", nil).ok(200)
	require.Nil(t, v1.at("spec.targetCPUUtilizationPercentage"))
	require.Contains(t, fmt.Sprint(v1.at("metadata.annotations")), "memory")
}

// A write of the status leaves the metadata of some kinds, and changes that of others.
func TestMetadataOfStatusWrites(t *testing.T) {
	s := start(t, apiserver.Options{})
	for path, c := range map[string]struct {
		spec  string
		stays bool
	}{
		"/apis/storage.k8s.io/v1/volumeattachments":                         {`{"attacher":"a.test","nodeName":"n","source":{"persistentVolumeName":"v"}}`, true},
		"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies": {`{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}]},"validations":[{"expression":"true"}]}`, true},
		"/apis/networking.k8s.io/v1/servicecidrs":                           {`{"cidrs":["10.7.0.0/24"]}`, true},
		"/apis/apps/v1/namespaces/default/deployments":                      {`{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}`, false},
	} {
		s.do("POST", path, `{"metadata":{"name":"x"},"spec":`+c.spec+`}`).ok(201)
		got := s.do("PATCH", path+"/x/status", `{"metadata":{"annotations":{"new":"one"}}}`, "Content-Type", "application/merge-patch+json").ok(200)
		require.Equal(t, !c.stays, got.str("metadata.annotations.new") == "one", path)
	}
}
