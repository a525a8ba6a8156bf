package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/admission"
)

// besidePlugins is what both servers start with: all optional plugins that refuse or change one thing.
const besidePlugins = "AlwaysPullImages,DenyServiceExternalIPs,EventRateLimit,ExtendedResourceToleration,ImagePolicyWebhook,LimitPodHardAntiAffinityTopology,NamespaceAutoProvision,NamespaceExists,PodNodeSelector,PodTolerationRestriction"

// step is a request to both servers. Of a response that is no refusal, the fields at shown are compared.
type step struct {
	method, path, body  string
	shown               []string
	contentType, accept string
}

// pod is the create of a pod with a spec beside its container.
func (step) pod(namespace, name, meta, spec string) step {
	return step{method: "POST", path: "/api/v1/namespaces/" + namespace + "/pods", body: fmt.Sprintf(`{"metadata":{"name":%q%s},"spec":{"containers":[{"name":"c","image":"x","imagePullPolicy":"Never"}]%s}}`, name, meta, spec),
		shown: []string{"metadata.labels", "spec.nodeSelector", "spec.tolerations", "spec.containers"}}
}

// TestPluginsBeside runs the same requests against both servers with the optional plugins on, and compares
// code, reason and message of refusals, and what plugins set in what is stored.
func TestPluginsBeside(t *testing.T) {
	images := reviewServer(t, func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Spec struct{ Containers []struct{ Image string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"imagepolicy.k8s.io/v1alpha1","kind":"ImageReview","status":{"allowed":%t,"reason":"no bad images"}}`, !strings.Contains(fmt.Sprint(review.Spec), "bad"))
	})
	file := filepath.Join(t.TempDir(), "admission.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodNodeSelector
  configuration: {podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: "env=any", fenced: "env=any,team=a"}}
- name: PodTolerationRestriction
  configuration:
    apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1
    kind: Configuration
    default: [{key: cluster, operator: Exists}]
    whitelist: [{key: cluster, operator: Exists}, {key: example.com/gpu, operator: Exists}, {key: node.kubernetes.io/not-ready, operator: Exists},
      {key: node.kubernetes.io/unreachable, operator: Exists}, {key: node.kubernetes.io/memory-pressure, operator: Exists}, {key: slow, operator: Exists, effect: NoExecute, tolerationSeconds: 10}]
- name: EventRateLimit
  configuration: {apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration, limits: [{type: Namespace, qps: 1, burst: 3}]}
- name: ImagePolicyWebhook
  configuration: {imagePolicy: {kubeConfigFile: "`+images+`", allowTTL: -1, denyTTL: -1}}
`), 0o600))
	flags := []string{"--enable-admission-plugins=" + besidePlugins, "--admission-control-config-file=" + file, "--runtime-config=certificates.k8s.io/v1beta1=true", "--feature-gates=ClusterTrustBundle=true"}
	theirs, ours := startUpstream(t, flags...), startLive(t, flags...)
	for _, l := range []*live{theirs, ours} {
		l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
	}

	var s step
	namespace := func(name, annotation, value string) step {
		meta, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": name, "annotations": map[string]string{annotation: value}}})
		require.NoError(t, err)
		return step{method: "POST", path: "/api/v1/namespaces", body: string(meta)}
	}
	account := func(namespace string) step {
		return step{method: "POST", path: "/api/v1/namespaces/" + namespace + "/serviceaccounts", body: `{"metadata":{"name":"default"}}`}
	}
	const own, selector, defaults, allowed = "own", "scheduler.alpha.kubernetes.io/node-selector", "scheduler.alpha.kubernetes.io/defaultTolerations", "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
	merge := func(path, body string, shown ...string) step {
		return step{method: "PATCH", path: path, body: body, contentType: "application/merge-patch+json", shown: shown}
	}
	node := func(name, labels, allocatable string) []step {
		return []step{{method: "POST", path: "/api/v1/nodes", body: fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%s}}}`, name, labels)},
			merge("/api/v1/nodes/"+name+"/status", `{"status":{"allocatable":{`+allocatable+`},"capacity":{`+allocatable+`}}}`)}
	}
	bind := func(pod, node, meta string) step {
		return step{method: "POST", path: "/api/v1/namespaces/default/pods/" + pod + "/binding", body: fmt.Sprintf(`{"metadata":{"name":%q%s},"target":{"kind":"Node","name":%q}}`, pod, meta, node)}
	}
	resize := func(pod, cpu string) step {
		return merge("/api/v1/namespaces/default/pods/"+pod+"/resize", `{"spec":{"containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"`+cpu+`"}}}]}}`, "spec.containers")
	}
	// The requests are the init container's until a resize sets those of the container.
	const requesting = `,"initContainers":[{"name":"i","image":"x","resources":{"requests":{"cpu":"500m"}}}]`
	event := step{method: "POST", path: "/api/v1/namespaces/default/events", body: `{"metadata":{"generateName":"e-"},"involvedObject":{"kind":"Pod","namespace":"default","name":"x"},"type":"Normal","reason":"R"}`}
	steps := slices.Concat([]step{
		namespace("fenced", "a", "b"), namespace(own, selector, "env=prod, disk=ssd"), namespace("broken", selector, "env in (a)"),
		namespace("tolerant", defaults, `[{"key":"cluster","operator":"Equal","value":"1","effect":"NoSchedule"}]`), namespace("open", allowed, `[]`), namespace("wrong", defaults, `{`),
		account("default"), account("fenced"), account(own), account("broken"), account("tolerant"), account("open"), account("wrong"),
		s.pod("default", "plain", "", ""), s.pod("default", "other", "", `,"nodeSelector":{"env":"prod"}`), s.pod("default", "more", "", `,"nodeSelector":{"zone":"b"}`),
		s.pod("fenced", "a", "", `,"nodeSelector":{"team":"a"}`), s.pod("fenced", "b", "", `,"nodeSelector":{"team":"b"}`), s.pod(own, "a", "", `,"nodeSelector":{"env":"prod"}`), s.pod(own, "b", "", `,"nodeSelector":{"env":"x"}`),
		s.pod("broken", "a", "", ""), s.pod("tolerant", "a", "", ""), s.pod("tolerant", "b", "", `,"tolerations":[{"key":"cluster","operator":"Exists"}]`), s.pod("open", "a", "", `,"tolerations":[{"key":"x"}]`), s.pod("wrong", "a", "", ""),
		s.pod("default", "slow", "", `,"tolerations":[{"key":"slow","operator":"Exists","effect":"NoExecute","tolerationSeconds":10}]`),
		s.pod("default", "slower", "", `,"tolerations":[{"key":"slow","operator":"Exists","effect":"NoExecute","tolerationSeconds":11}]`), s.pod("default", "unknown", "", `,"tolerations":[{"key":"x","operator":"Exists"}]`),
		s.pod("default", "gpu", "", `,"initContainers":[{"name":"i","image":"x","resources":{"limits":{"example.com/gpu":"1"}}}]`), s.pod("default", "burst", "", `,"initContainers":[{"name":"i","image":"x","resources":{"requests":{"cpu":"1"}}}]`),
		s.pod("default", "apart", "", `,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"topology.kubernetes.io/zone","labelSelector":{}}]}}`),
		s.pod("default", "bad", "", `,"initContainers":[{"name":"i","image":"bad"}]`), s.pod("made", "x", "", ""),
		{method: "GET", path: "/api/v1/namespaces/made", shown: []string{"metadata.labels"}}, {method: "POST", path: "/api/v1/namespaces/tried/configmaps?dryRun=All", body: `{"metadata":{"name":"x"}}`},
		{method: "POST", path: "/api/v1/namespaces/default/services", body: `{"metadata":{"name":"x"},"spec":{"ports":[{"port":80}],"externalIPs":["192.0.2.1"]}}`},
	}, node("n1", `"topology.kubernetes.io/zone":"z","topology.kubernetes.io/region":"r","kubernetes.io/os":"linux","topology.kubernetes.io/rack":"1"`, `"cpu":"2","memory":"1Gi"`),
		node("w1", `"kubernetes.io/os":"windows"`, `"cpu":"2","memory":"1Gi"`), []step{
			s.pod("default", "r1", `,"labels":{"topology.kubernetes.io/zone":"mine","a":"b"}`, requesting), s.pod("default", "r2", "", requesting), s.pod("default", "r3", "", requesting),
			s.pod("default", "r4", "", ""), bind("r4", "n1", ""), resize("r4", "1"),
			s.pod("default", "static", "", `,"nodeName":"n1"`), bind("r1", "n1", `,"labels":{"of":"the-binding"}`), bind("r2", "w1", ""), bind("r3", "missing", ""), bind("r1", "n1", ""),
			{method: "GET", path: "/api/v1/namespaces/default/pods/r1", shown: []string{"metadata.labels"}}, {method: "GET", path: "/api/v1/namespaces/default/pods/r2", shown: []string{"metadata.labels"}},
			resize("r1", "1"), resize("r1", "2"), resize("r1", "3"), resize("r2", "1"), resize("r3", "1"),
			event, event, event,
		})
	for i, r := range steps {
		compareStep(t, theirs, ours, i, r)
	}
	for _, l := range []*live{theirs, ours} { // a second may have given both another event
		var last verdict
		l.until("there are too many events", func() bool {
			last = l.verdict(event.method, event.path, event.body)
			return last.Code != http.StatusCreated
		})
		require.Equal(t, verdict{http.StatusTooManyRequests, "TooManyRequests", "Too many requests: limit reached on type Namespace for key default"}, last)
	}
}

// wrongField finds the fields that a message names, with what is wrong with each.
var wrongField = regexp.MustCompile(`(<nil>|[][A-Za-z0-9.-]+): (Invalid value|Forbidden|Required|Unsupported|Duplicate|Too (long|many))`)

// named returns the message, or of one about an invalid object the fields that it names, sorted: upstream's
// shows values as its internal types have them, and the order of its errors follows its code.
func (v verdict) named() string {
	if v.Code != http.StatusUnprocessableEntity || !strings.Contains(v.Message, "a.test") {
		return v.Message
	}
	return strings.Join(slices.Sorted(slices.Values(wrongField.FindAllString(v.Message, -1))), "; ")
}

// TestResizeBeside resizes pods on both servers, and compares codes, refusals and what is stored.
func TestResizeBeside(t *testing.T) {
	theirs, ours := startUpstream(t), startLive(t)
	for _, l := range []*live{theirs, ours} {
		l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
	}
	const pods = "/api/v1/namespaces/default/pods"
	steps := []step{{method: "POST", path: "/api/v1/namespaces/default/serviceaccounts", body: `{"metadata":{"name":"default"}}`}}
	for name, spec := range map[string]string{
		"plain": `{"name":"c","image":"x","resources":{"requests":{"cpu":"1"}}}]`,
		"whole": `{"name":"c","image":"x"}],"resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"2"}}`,
		"init":  `{"name":"c","image":"x"}],"initContainers":[{"name":"i","image":"x","resources":{"requests":{"cpu":"1"}}}]`,
		"other": `{"name":"c","image":"x"}],"os":{"name":"windows"}`,
		"equal": `{"name":"c","image":"x"}],"resources":{"limits":{"cpu":"2","memory":"1Gi"}}`,
	} {
		steps = append(steps, step{method: "POST", path: pods, body: fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"containers":[%s}}`, name, spec)})
		for _, change := range []string{
			`"resources":{"requests":{"cpu":"1500m"}}`, `"resources":{"limits":{"cpu":"3"}}`, `"resources":{"limits":{"memory":"2Gi"}}`,
			`"resources":{"requests":{"memory":"2Gi"}}`, `"resources":null`, `"resources":{}`, `"resources":{"limits":{"cpu":null}}`,
			`"resources":{"requests":{"hugepages-2Mi":"2Mi"},"limits":{"hugepages-2Mi":"2Mi"}}`, `"resources":{"requests":{"cpu":"9"}}`,
			`"resources":{"requests":{"example.com/a":"1"}}`, `"resources":{"requests":{"cpu":"-1"}}`,
			`"containers":[{"name":"d","image":"x"}]`, `"containers":[{"name":"c","image":"x"},{"name":"d","image":"x"}]`, `"containers":[{"name":"c","image":"y"}]`,
			`"containers":[{"name":"c","image":"x","resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}]}]`,
			`"containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"1200m","memory":"1Mi"}}}]`,
			`"initContainers":[{"name":"i","image":"x","resources":{"requests":{"cpu":"2"}}}]`, `"initContainers":null`,
			`"initContainers":[{"name":"i","image":"x","resources":{"requests":{"ephemeral-storage":"2","cpu":"1"}}}]`,
		} {
			steps = append(steps, step{method: "PATCH", path: pods + "/" + name + "/resize", body: `{"spec":{` + change + `}}`,
				contentType: "application/merge-patch+json", shown: []string{"spec.resources", "spec.containers", "spec.initContainers"}})
		}
	}
	for i, r := range steps {
		compareStep(t, theirs, ours, i, r)
	}
}

// TestNodeFeaturesBeside resizes pods on nodes that declare no feature, one or all, and on one that does not
// exist, and changes what is no resize.
func TestNodeFeaturesBeside(t *testing.T) {
	theirs, ours := startUpstream(t), startLive(t)
	for _, l := range []*live{theirs, ours} {
		l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
	}
	const pods, merge = "/api/v1/namespaces/default/pods", "application/merge-patch+json"
	const whole, inits = "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"
	steps := []step{{method: "POST", path: "/api/v1/namespaces/default/serviceaccounts", body: `{"metadata":{"name":"default"}}`}}
	nodes := map[string][]string{"none": nil, "whole": {whole}, "inits": {inits}, "all": {whole, inits}, "other": {"Other"}, "ghost": nil}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		if node != "ghost" {
			features, err := json.Marshal(nodes[node])
			require.NoError(t, err)
			steps = append(steps, step{method: "POST", path: "/api/v1/nodes", body: fmt.Sprintf(`{"metadata":{"name":%q}}`, node)},
				step{method: "PATCH", path: "/api/v1/nodes/" + node + "/status", body: `{"status":{"declaredFeatures":` + string(features) + `,"allocatable":{"cpu":"9","memory":"9Gi"},"capacity":{"cpu":"9","memory":"9Gi"}}}`, contentType: merge, shown: []string{"status.declaredFeatures"}})
		}
		for name, spec := range map[string]string{
			"total":   `"containers":[{"name":"c","image":"x"}],"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}`,
			"plain":   `"containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"1"}}}],"initContainers":[{"name":"i","image":"x","resources":{"requests":{"cpu":"1"}}}]`,
			"sidecar": `"containers":[{"name":"c","image":"x"}],"initContainers":[{"name":"i","image":"x","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}]`,
		} {
			pod := name + "-" + node
			steps = append(steps, step{method: "POST", path: pods, body: fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"nodeName":%q,%s}}`, pod, node, spec)})
			for _, change := range []string{`"resources":{"requests":{"cpu":"1500m"}}`, `"resources":{"requests":{"cpu":"1.5"}}`, `"resources":null`,
				`"initContainers":[{"name":"i","image":"x","resources":{"requests":{"cpu":"2"}}}]`, `"containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"2"}}}]`,
				`"resources":{"requests":{"cpu":"1600m"}},"containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"1200m"}}}]`, `"activeDeadlineSeconds":60`} {
				for _, sub := range []string{"/resize", ""} {
					if sub == "" && !strings.Contains(change, "active") {
						continue // the error shows all of the pod: it cannot be changed otherwise
					}
					steps = append(steps, step{method: "PATCH", path: pods + "/" + pod + sub, body: `{"spec":{` + change + `}}`, contentType: merge, shown: []string{"spec.resources", "spec.containers", "spec.initContainers", "metadata.generation"}})
				}
			}
			steps = append(steps, step{method: "PATCH", path: pods + "/" + pod, body: `{"metadata":{"labels":{"a":"b"}}}`, contentType: merge})
		}
	}
	refusals := 0
	for i, r := range steps {
		tried := r
		tried.path += "?dryRun=All"
		if v, _ := ours.do(tried); strings.Contains(v.Message, "which are not available on node") {
			refusals++
		}
		compareStep(t, theirs, ours, i, r)
	}
	require.Positive(t, refusals, "requests that a feature is missing for")
}

// TestLimitedResourcesBeside consumes on both servers what a ResourceQuotaConfiguration limits, without a
// quota and with one, and what quotas with scopes count of a change.
func TestLimitedResourcesBeside(t *testing.T) {
	file := filepath.Join(t.TempDir(), "admission.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources:
    - {resource: pods, matchContains: [limits., requests.memory], matchScopes: [{scopeName: PriorityClass, operator: In, values: [system-cluster-critical]}]}
    - {apiGroup: apps, resource: deployments, matchContains: [count/]}
    - {resource: persistentvolumeclaims, matchContains: [gold.storageclass.storage.k8s.io/], matchScopes: [{scopeName: VolumeAttributesClass, operator: Exists}]}
`), 0o600))
	theirs, ours := startUpstream(t, "--admission-control-config-file="+file), startLive(t, "--admission-control-config-file="+file)
	var s step
	const namespace = "/api/v1/namespaces/default"
	post := func(path, body string) step { return step{method: "POST", path: path, body: body} }
	quota := func(name, spec, status string) []step {
		return []step{post(namespace+"/resourcequotas", fmt.Sprintf(`{"metadata":{"name":%q},"spec":%s}`, name, spec)),
			{method: "PATCH", path: namespace + "/resourcequotas/" + name + "/status", body: `{"status":` + status + `}`, contentType: "application/merge-patch+json", shown: []string{"status"}}}
	}
	claim := func(name, spec string) step {
		return post(namespace+"/persistentvolumeclaims", fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1500m"}}%s}}`, name, spec))
	}
	deployment := post("/apis/apps/v1"+namespace[len("/api/v1"):]+"/deployments", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}}`)
	// Which of several quotas refuses a pod is a matter of chance in upstream's server: one limits it.
	const ending = `,"activeDeadlineSeconds":60`
	const limits = `,"initContainers":[{"name":"i","image":"x","resources":{"limits":{"cpu":"600m","memory":"1Mi"}}}]`
	used := func(name string) step {
		return step{method: "GET", path: namespace + "/resourcequotas/" + name, shown: []string{"status"}}
	}
	consume := []step{s.pod("default", "plain", "", ""), s.pod("default", "limits", "", limits), deployment, claim("plain", ""), claim("gold", `,"storageClassName":"gold"`),
		s.pod("default", "critical", "", `,"priorityClassName":"system-cluster-critical"`), s.pod("default", "node", "", `,"priorityClassName":"system-node-critical"`), claim("classed", `,"volumeAttributesClassName":"silver"`)}
	merge := func(path, body string) step {
		return step{method: "PATCH", path: path, body: body, contentType: "application/merge-patch+json"}
	}
	steps := slices.Concat([]step{post(namespace+"/serviceaccounts", `{"metadata":{"name":"default"}}`)}, consume,
		quota("cpu", `{"hard":{"limits.cpu":"1"}}`, `{"hard":{"limits.cpu":"1"},"used":{"limits.cpu":"0"}}`), consume,
		[]step{used("cpu"), {method: "DELETE", path: namespace + "/resourcequotas/cpu"}}, quota("some", `{"hard":{"limits.cpu":"1","requests.memory":"1Gi","limits.memory":"1Gi","count/deployments.apps":"1","gold.storageclass.storage.k8s.io/requests.storage":"5"}}`,
			`{"hard":{"limits.cpu":"1","requests.memory":"1Gi","limits.memory":"1Gi","count/deployments.apps":"1","gold.storageclass.storage.k8s.io/requests.storage":"5"},"used":{"limits.cpu":"0","limits.memory":"0","count/deployments.apps":"0","gold.storageclass.storage.k8s.io/requests.storage":"0","requests.memory":"0"}}`), consume,
		[]step{used("some"), {method: "DELETE", path: namespace + "/resourcequotas/some"}},
		quota("ending", `{"hard":{"pods":"1"},"scopes":["Terminating"]}`, `{"hard":{"pods":"1"},"used":{"pods":"0"}}`),
		quota("uncounted", `{"hard":{"configmaps":"1"}}`, `{"hard":{"configmaps":"1"}}`),
		[]step{post(namespace+"/configmaps", `{"metadata":{"name":"a"}}`), merge(namespace+"/pods/plain", `{"spec":{"activeDeadlineSeconds":60}}`), merge(namespace+"/pods/node", `{"spec":{"activeDeadlineSeconds":60}}`),
			merge(namespace+"/pods/plain", `{"metadata":{"labels":{"a":"b"}}}`), s.pod("default", "ending", "", ending), used("ending"), used("uncounted")})
	for _, l := range []*live{theirs, ours} {
		l.until("the namespace default is there", func() bool { return l.code(l.http2, namespace) == http.StatusOK })
	}
	// Both servers read quotas from a cache: a refusal by one shows that it, and those before it, are there.
	seen := map[string]step{"cpu": s.pod("default", "x", "", ""), "some": s.pod("default", "x", "", ""), "uncounted": post(namespace+"/configmaps", `{"metadata":{"name":"x"}}`)}
	for i, r := range steps {
		compareStep(t, theirs, ours, i, r)
		name := strings.TrimSuffix(strings.TrimPrefix(r.path, namespace+"/resourcequotas/"), "/status")
		probe, ok := seen[name]
		if !ok || r.method != "PATCH" {
			continue
		}
		for _, l := range []*live{theirs, ours} {
			l.until("the quota is in force", func() bool {
				return strings.Contains(l.verdict(probe.method, probe.path+"?dryRun=All", probe.body).Message, "quota: "+name)
			})
		}
	}
}

// compareStep sends a request to both servers and compares what they answer.
func compareStep(t *testing.T, theirs, ours *live, i int, r step) {
	t.Helper()
	want, wantShown := theirs.do(r)
	got, gotShown := ours.do(r)
	if want.Code == http.StatusInternalServerError && want.Reason == "" && got.Code == http.StatusForbidden {
		return // docs/differences.md
	}
	if want.Code != got.Code || want.Reason != got.Reason || want.named() != got.named() || wantShown != gotShown {
		t.Errorf("step %d: %s %s %s\n  theirs %+v %s\n  ours   %+v %s", i, r.method, r.path, r.body, want, wantShown, got, gotShown)
	}
}

// do sends a request, and returns the fields of the answer that are to be compared, as JSON.
func (l *live) do(r step) (verdict, string) {
	l.t.Helper()
	req := l.request("admin", r.method, r.path, r.body)
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	resp, err := l.http2.Do(req)
	require.NoError(l.t, err, "%s %s", r.method, r.path)
	defer resp.Body.Close()
	v := verdict{Code: resp.StatusCode}
	var answer map[string]any
	require.NoError(l.t, json.NewDecoder(resp.Body).Decode(&answer))
	if answer["kind"] == "Status" && resp.StatusCode >= 400 {
		v.Reason, _ = answer["reason"].(string)
		v.Message, _ = answer["message"].(string)
		return v, ""
	}
	shown := map[string]any{}
	for _, path := range r.shown {
		var at any = answer
		for _, field := range strings.Split(path, ".") {
			switch in := at.(type) {
			case map[string]any:
				at = in[field]
			case []any: // the first element stands for all
				at = nil
				if len(in) > 0 {
					at = in[0]
				}
			default:
				at = nil
			}
		}
		shown[path] = withoutTokens(at)
	}
	text, err := json.Marshal(shown)
	require.NoError(l.t, err)
	return v, string(text)
}

// withoutTokens leaves out the mounts of service account tokens, whose names are random.
func withoutTokens(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "volumeMounts")
		for _, inner := range v {
			withoutTokens(inner)
		}
	case []any:
		for _, inner := range v {
			withoutTokens(inner)
		}
	}
	return v
}

// TestPluginOrderBeside compares the names and the order of the plugins with what Kubernetes' server logs at
// its start, by default and with all but AlwaysDeny, with which it does not start.
func TestPluginOrderBeside(t *testing.T) {
	config := filepath.Join(t.TempDir(), "admission.yaml")
	require.NoError(t, os.WriteFile(config, []byte(`apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: EventRateLimit
  configuration: {apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration, limits: [{type: Server, qps: 1000, burst: 1000}]}
- name: ImagePolicyWebhook
  configuration: {imagePolicy: {kubeConfigFile: "`+reviewServer(t, func(http.ResponseWriter, *http.Request) {})+`"}}
`), 0o600))
	loaded := regexp.MustCompile(`Loaded \d+ (mutating|validating) admission controller\(s\) successfully in the following order: ([A-Za-z,]+)`)
	for _, all := range []bool{false, true} {
		var want, enabled []string
		for _, f := range admission.Factories() {
			if f.Name != "AlwaysDeny" && (f.Default || all) {
				want = append(want, f.Name)
			}
			if f.Name != "AlwaysDeny" && !f.Default {
				enabled = append(enabled, f.Name)
			}
		}
		flags := []string{"--admission-control-config-file=" + config}
		if all {
			flags = append(flags, "--enable-admission-plugins="+strings.Join(enabled, ","))
		}
		l := startUpstream(t, flags...)
		require.NoError(t, l.cmd.Process.Kill())
		<-l.ended
		lists := loaded.FindAllStringSubmatch(l.log.String(), -1)
		require.Len(t, lists, 2, "one list for each step")
		var got []string
		for _, list := range lists {
			names := strings.Split(list[2], ",")
			got = append(got, names...)
			inOrder := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return !slices.Contains(names, name) })
			require.Equal(t, names, inOrder, list[1])
		}
		require.ElementsMatch(t, want, slices.Compact(slices.Sorted(slices.Values(got))))
	}
}
