package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/examples/internal/load"
)

// besides are the controllers that are compared, by the names that both programs use. The others need what a
// cluster of fake nodes does not have, or act by the clock alone.
const besides = "deployment-controller,replicaset-controller,replicationcontroller-controller,statefulset-controller,daemonset-controller," +
	"job-controller,cronjob-controller,disruption-controller,endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller," +
	"garbage-collector-controller,namespace-controller,resourcequota-controller,serviceaccount-controller,clusterrole-aggregation-controller," +
	"persistentvolume-binder-controller,persistentvolumeclaim-protection-controller,persistentvolume-protection-controller,service-cidr-controller," +
	"node-lifecycle-controller,taint-eviction-controller,horizontal-pod-autoscaler-controller,ttl-after-finished-controller,ephemeral-volume-controller"

// compared are the collections whose objects must be equal in the end.
var compared = []string{"/apis/apps/v1/deployments", "/apis/apps/v1/replicasets", "/apis/apps/v1/statefulsets", "/apis/apps/v1/daemonsets",
	"/apis/apps/v1/controllerrevisions", "/api/v1/replicationcontrollers", "/api/v1/pods", "/apis/batch/v1/jobs", "/apis/batch/v1/cronjobs",
	"/apis/policy/v1/poddisruptionbudgets", "/apis/discovery.k8s.io/v1/endpointslices", "/api/v1/endpoints", "/api/v1/services",
	"/api/v1/configmaps", "/api/v1/namespaces", "/api/v1/serviceaccounts", "/api/v1/resourcequotas", "/api/v1/persistentvolumes",
	"/api/v1/persistentvolumeclaims", "/apis/autoscaling/v2/horizontalpodautoscalers"}

// side is a cluster of our API server, scheduler and fake nodes with one of the two controller managers.
type side struct {
	t   *testing.T
	c   *controllertest.Cluster
	web *http.Client
	cmd *exec.Cmd
	log *bytes.Buffer // of the program
	// scaled is true if an autoscaler changes Deployments, in steps that depend on timing.
	scaled bool
	mu     sync.Mutex
	// sequences are the distinct states that the conditions of each Job, Namespace and claim went through.
	sequences map[string][]string
}

func startSide(t *testing.T, program string, nodes int) *side {
	return startSideWith(t, controllertest.Options{}, program, nodes)
}

// startSideWith is startSide with options of the cluster and further arguments of the program.
func startSideWith(t *testing.T, opts controllertest.Options, program string, nodes int, args ...string) *side {
	c := controllertest.Start(t, opts)
	s := &side{t: t, c: c, web: &http.Client{Transport: c.RoundTripper()}, log: &bytes.Buffer{}, sequences: map[string][]string{}}
	c.Run(c.Manager("nodes", func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{Count: nodes}) },
		func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) }))
	s.start(program, args...)
	return s
}

// programs are the two controller managers.
func programs(t *testing.T) (ours, theirs string) {
	return os.Args[0], seeds.Peer(t, "kube-controller-manager")
}

// asProgram is the variable of the environment that makes the test binary this program.
const asProgram = "KEELSON_CONTROLLER_MANAGER"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// start starts a controller manager that ends with the test.
func (s *side) start(program string, more ...string) {
	kubeconfig := s.c.Kubeconfig()
	args := []string{"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0", "--controllers=" + besides, "--kube-api-qps=100000", "--kube-api-burst=100000"}
	args = append(args, more...)
	s.cmd = exec.Command(program, args...)
	s.cmd.Env = append(os.Environ(), asProgram+"=1")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	require.NoError(s.t, s.cmd.Start())
	s.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("the end of the log of %s:\n%s", program, s.log.Bytes()[max(0, s.log.Len()-3000):])
		}
	})
}

// send sends a request of the workload; the same to both sides.
func (s *side) send(method, path string, body any) int {
	s.t.Helper()
	var data []byte
	if body != nil {
		var err error
		data, err = json.Marshal(body)
		require.NoError(s.t, err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, controllertest.Host+path, bytes.NewReader(data))
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := s.web.Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	return resp.StatusCode
}

type object = map[string]any

// list reads a collection.
func (s *side) list(path string) []object {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, controllertest.Host+path, nil)
	require.NoError(s.t, err)
	req.Header.Set("Accept", "application/json")
	resp, err := s.web.Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	require.Equal(s.t, http.StatusOK, resp.StatusCode, path)
	var list struct{ Items []object }
	require.NoError(s.t, json.NewDecoder(resp.Body).Decode(&list))
	return list.Items
}

func text(o any, path ...string) string {
	for _, p := range path {
		m, _ := o.(object)
		o = m[p]
	}
	s, _ := o.(string)
	return s
}

// foreign reports whether an object belongs to the cluster itself and not to the workload.
func foreign(o object) bool {
	namespace := cmp.Or(text(o, "metadata", "namespace"), text(o, "metadata", "name"))
	return strings.HasPrefix(namespace, "kube-") || namespace == "kubernetes"
}

// dropped are fields that differ between two runs of the same program.
var dropped = map[string]bool{"uid": true, "resourceVersion": true, "creationTimestamp": true, "managedFields": true, "startTime": true,
	"lastTransitionTime": true, "lastUpdateTime": true, "lastProbeTime": true, "startedAt": true, "finishedAt": true, "completionTime": true,
	"podIP": true, "podIPs": true, "ip": true, "addresses": true, "containerID": true, "nodeName": true, "hostIP": true, "hostIPs": true,
	"pod-template-hash": true, "controller-revision-hash": true, "clusterIP": true, "clusterIPs": true, "deletionTimestamp": true,
	"batch.kubernetes.io/controller-uid": true, "controller-uid": true, "currentRevision": true, "updateRevision": true, "zone": true,
	"endpoints.kubernetes.io/last-change-trigger-time": true, "lastScheduleTime": true, "lastScaleTime": true, "controller.kubernetes.io/hash": true, "lastPhaseTransitionTime": true, "lastSuccessfulTime": true, "podCIDR": true, "token": true}

// renamed returns the part of an object's name that does not depend on chance.
func renamed(o object) string {
	name := text(o, "metadata", "name")
	if prefix := text(o, "metadata", "generateName"); prefix != "" {
		return prefix + "*"
	}
	for _, label := range []string{"pod-template-hash", "controller-revision-hash", "controller.kubernetes.io/hash"} {
		if hash := text(o, "metadata", "labels", label); hash != "" && strings.HasSuffix(name, "-"+hash) {
			return strings.TrimSuffix(name, hash) + "*"
		}
	}
	return name
}

// plain returns a value without what depends on chance, with generated names replaced; lists of conditions
// and endpoints are put in order.
func plain(r *strings.Replacer, v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for key, value := range v {
			if value = plain(r, value); !dropped[key] && !isEmpty(value) {
				out[key] = value
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(r, v[i])
		}
		if len(out) > 0 {
			if m, ok := out[0].(object); ok && (m["type"] != nil && m["status"] != nil || m["targetRef"] != nil || m["conditions"] != nil) {
				slices.SortFunc(out, func(a, b any) int { return cmp.Compare(compact(a), compact(b)) })
			}
		}
		return out
	case string:
		return r.Replace(v)
	}
	return v
}

// isEmpty reports whether a value is an object without fields, such as annotations that were dropped.
func isEmpty(v any) bool {
	o, ok := v.(object)
	return ok && len(o) == 0
}

func compact(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// state is all that is compared: a line for each object and for each kind of event.
func (s *side) state() (lines []string) {
	s.t.Helper()
	all := map[string][]object{}
	names := map[string]string{}
	for _, path := range compared {
		all[path] = s.list(path)
		for _, o := range all[path] {
			if name, short := text(o, "metadata", "name"), renamed(o); name != short {
				names[name] = short
			}
		}
	}
	var pairs []string
	for _, name := range slices.SortedFunc(maps.Keys(names), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }) {
		pairs = append(pairs, name, names[name])
	}
	// What pods are renamed to has the name of their ReplicaSet.
	of := strings.NewReplacer(pairs...)
	for i := 1; i < len(pairs); i += 2 {
		pairs[i] = of.Replace(pairs[i])
	}
	r := strings.NewReplacer(pairs...)
	for _, path := range compared {
		for _, o := range all[path] {
			if foreign(o) {
				continue
			}
			meta, _ := o["metadata"].(object)
			meta["name"] = renamed(o)
			if strings.HasSuffix(path, "replicasets") || strings.HasSuffix(path, "endpointslices") || s.scaled && strings.HasSuffix(path, "deployments") {
				// How many steps there were depends on which changes came together.
				status, _ := o["status"].(object)
				delete(meta, "generation")
				delete(status, "observedGeneration")
			}
			lines = append(lines, path+" "+compact(plain(r, o)))
		}
	}
	events := s.list("/api/v1/events")
	for _, e := range events {
		of, _ := e["involvedObject"].(object)
		// The names of pods and of the ReplicaSets of Deployments are unknown after these have gone.
		kind, name := text(of, "kind"), text(of, "name")
		// Whether a write meets one of another controller depends on timing; it is made again.
		conflict := strings.Contains(text(e, "message"), "the object has been modified")
		// So does whether one deletes again, or misses, a Job that it has deleted, because its copy is old.
		old := text(e, "reason") == "FailedDelete" && strings.Contains(text(e, "message"), "not found") || text(e, "reason") == "MissingJob"
		conflict = conflict || old
		// So does whether pods are seen whose controller is gone already, and which are deleted with it.
		conflict = conflict || text(e, "reason") == "CalculateExpectedPodCountFailed" && strings.Contains(text(e, "message"), "found no controllers for pod")
		// Both drop events of an object after the 25th, which an autoscaler has soon; its conditions say the
		// same.
		conflict = conflict || s.scaled && kind == "HorizontalPodAutoscaler"
		if !conflict && kind != "Pod" && (kind != "ReplicaSet" || strings.HasPrefix(name, "replicaset-")) && !foreign(object{"metadata": of}) {
			lines = append(lines, strings.Join([]string{"event", kind, text(of, "namespace"), name, text(e, "type"), text(e, "reason"), text(e, "source", "component")}, " "))
		}
	}
	slices.Sort(lines)
	return slices.CompactFunc(lines, func(a, b string) bool { return a == b && strings.HasPrefix(a, "event ") })
}

// watch records the distinct states of what has a sequence of states that does not depend on timing: the
// conditions of Jobs, and the phases of claims and namespaces.
func (s *side) watch() {
	note := func(key, state string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if list := s.sequences[key]; len(list) == 0 || list[len(list)-1] != state {
			s.sequences[key] = append(list, state)
		}
	}
	controllertest.Watch(s.c, "", func(e client.Event[*batchv1.Job]) {
		var conditions []string
		for _, c := range e.Object.Status.Conditions {
			conditions = append(conditions, fmt.Sprintf("%s=%s:%s", c.Type, c.Status, c.Reason))
		}
		note("job "+e.Object.Name, strings.Join(conditions, " "))
	})
	controllertest.Watch(s.c, "", func(e client.Event[*corev1.PersistentVolumeClaim]) {
		note("claim "+e.Object.Name, string(e.Object.Status.Phase))
	})
	controllertest.Watch(s.c, "", func(e client.Event[*corev1.Namespace]) {
		note("namespace "+e.Object.Name, string(e.Object.Status.Phase))
	})
}

// besideWalk is a random workload that both sides get.
type besideWalk struct {
	*rand.Rand
	seed  uint64
	sides []*side
	there map[string]bool
	log   []string
}

func (w *besideWalk) pick(of ...string) string { return of[w.IntN(len(of))] }

// do sends one request to both sides, which must answer alike.
func (w *besideWalk) do(method, path string, body any) {
	w.log = append(w.log, fmt.Sprintf("%s %s %s", method, path, compact(body)))
	var codes []int
	for _, s := range w.sides {
		codes = append(codes, s.send(method, path, body))
	}
	require.Equal(w.sides[0].t, codes[0], codes[1], "%s", w.log)
}

func meta(name string) object { return object{"name": name} }

// template is one of pods with a label app.
func (w *besideWalk) template(app string) object {
	return object{"metadata": object{"labels": object{"app": app}},
		"spec": object{"containers": []any{object{"name": "main", "image": w.pick("app:1", "app:2"), "ports": []any{object{"name": "web", "containerPort": 8080}}}}}}
}

func selects(app string) object { return object{"matchLabels": object{"app": app}} }

// workload is a kind whose objects have pods.
type workload struct {
	path string
	spec func(w *besideWalk, app string) object
	// edit is a change of the spec.
	edit func(w *besideWalk, app string) object
}

var workloads = map[string]workload{
	"deployment": {"/apis/apps/v1/namespaces/default/deployments", func(w *besideWalk, app string) object {
		strategy := object{"type": "Recreate"}
		if w.IntN(3) > 0 {
			strategy = object{"type": "RollingUpdate", "rollingUpdate": object{"maxSurge": w.IntN(2) + 1, "maxUnavailable": w.pick("0%", "25%", "50%")}}
		}
		return object{"replicas": w.IntN(4), "selector": selects(app), "template": w.template(app), "strategy": strategy, "revisionHistoryLimit": w.IntN(3)}
	}, func(w *besideWalk, app string) object {
		switch w.IntN(4) {
		case 0:
			return object{"replicas": w.IntN(5)}
		case 1:
			return object{"paused": w.IntN(2) == 0}
		}
		return object{"template": w.template(app)}
	}},
	"replicaset": {"/apis/apps/v1/namespaces/default/replicasets", func(w *besideWalk, app string) object {
		return object{"replicas": w.IntN(4), "selector": selects(app), "template": w.template(app)}
	}, func(w *besideWalk, _ string) object { return object{"replicas": w.IntN(4)} }},
	"replicationcontroller": {"/api/v1/namespaces/default/replicationcontrollers", func(w *besideWalk, app string) object {
		return object{"replicas": w.IntN(4), "selector": object{"app": app}, "template": w.template(app)}
	}, func(w *besideWalk, _ string) object { return object{"replicas": w.IntN(4)} }},
	"statefulset": {"/apis/apps/v1/namespaces/default/statefulsets", func(w *besideWalk, app string) object {
		update := object{"type": w.pick("RollingUpdate", "OnDelete")}
		if update["type"] == "RollingUpdate" && w.IntN(2) == 0 {
			update["rollingUpdate"] = object{"partition": w.IntN(3)}
		}
		spec := object{"replicas": w.IntN(4), "selector": selects(app), "template": w.template(app), "serviceName": "web",
			"podManagementPolicy": w.pick("OrderedReady", "Parallel"), "updateStrategy": update, "minReadySeconds": w.IntN(2),
			"revisionHistoryLimit": w.IntN(3), "ordinals": object{"start": w.IntN(2)}}
		if w.IntN(2) == 0 {
			spec["volumeClaimTemplates"] = []any{object{"metadata": meta("data"), "spec": object{"accessModes": []any{"ReadWriteOnce"},
				"resources": object{"requests": object{"storage": "1Gi"}}, "storageClassName": "none"}}}
			spec["persistentVolumeClaimRetentionPolicy"] = object{"whenDeleted": w.pick("Retain", "Delete"), "whenScaled": w.pick("Retain", "Delete")}
		}
		return spec
	}, func(w *besideWalk, app string) object {
		switch w.IntN(4) {
		case 0, 1:
			return object{"replicas": w.IntN(4)}
		case 2:
			return object{"updateStrategy": object{"type": "RollingUpdate", "rollingUpdate": object{"partition": w.IntN(3)}}}
		}
		return object{"template": w.template(app)}
	}},
	"daemonset": {"/apis/apps/v1/namespaces/default/daemonsets", func(w *besideWalk, app string) object {
		update := object{"type": w.pick("RollingUpdate", "OnDelete")}
		if update["type"] == "RollingUpdate" {
			update["rollingUpdate"] = []object{{"maxSurge": 1, "maxUnavailable": 0}, {"maxSurge": 0, "maxUnavailable": 1}, {"maxSurge": 0, "maxUnavailable": "100%"}}[w.IntN(3)]
		}
		return object{"selector": selects(app), "template": w.template(app), "updateStrategy": update, "minReadySeconds": w.IntN(2), "revisionHistoryLimit": w.IntN(3)}
	}, func(w *besideWalk, app string) object {
		t := w.template(app)
		// No node has the label "rack"; null removes the selector.
		t["spec"].(object)["nodeSelector"] = []any{nil, object{"rack": nil}, object{"rack": "1"}}[w.IntN(3)]
		return object{"template": t}
	}},
	"job": {"/apis/batch/v1/namespaces/default/jobs", func(w *besideWalk, app string) object {
		t := w.template(app)
		t["metadata"].(object)["annotations"] = object{fakenode.ExitCodeAnnotation: w.pick("0", "0", "1")}
		t["spec"].(object)["restartPolicy"] = "Never"
		spec := object{"template": t, "completions": w.IntN(3) + 1, "parallelism": w.IntN(3) + 1, "backoffLimit": 0, "suspend": w.IntN(3) == 0}
		if w.IntN(2) == 0 {
			spec["completionMode"] = "Indexed"
		}
		return spec
	}, func(w *besideWalk, _ string) object { return object{"suspend": w.IntN(2) == 0} }},
}

// step is one request.
func (w *besideWalk) step() {
	switch w.IntN(10) {
	default:
		w.workload()
	case 0:
		w.service()
	case 1:
		w.budget()
	case 2:
		w.owners()
	case 3:
		w.namespace()
	case 4:
		w.volume()
	case 5:
		w.do(http.MethodDelete, "/api/v1/namespaces/default/serviceaccounts/default", nil)
	}
}

func (w *besideWalk) app() string {
	return w.pick(slices.Sorted(maps.Keys(workloads))...) + "-" + w.pick("a", "b")
}

func (w *besideWalk) workload() {
	app := w.app()
	kind := workloads[strings.Split(app, "-")[0]]
	switch n := w.IntN(6); {
	case !w.there[app]:
		w.there[app] = true
		w.do(http.MethodPost, kind.path, object{"metadata": meta(app), "spec": kind.spec(w, app)})
	case n == 0:
		delete(w.there, app)
		w.do(http.MethodDelete, kind.path+"/"+app, object{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": w.pick("Background", "Foreground")})
	default:
		w.do(http.MethodPatch, kind.path+"/"+app, object{"spec": kind.edit(w, app)})
	}
}

func (w *besideWalk) toggle(path, name string, body object) {
	if w.there[path+name] {
		delete(w.there, path+name)
		w.do(http.MethodDelete, path+"/"+name, nil)
		return
	}
	w.there[path+name] = true
	body["metadata"] = meta(name)
	w.do(http.MethodPost, path, body)
}

func (w *besideWalk) service() {
	w.toggle("/api/v1/namespaces/default/services", w.pick("web", "db"), object{"spec": object{"selector": object{"app": w.app()},
		"ports": []any{object{"name": "http", "port": 80, "targetPort": w.pick("web", "none")}}, "publishNotReadyAddresses": w.IntN(2) == 0}})
}

func (w *besideWalk) budget() {
	spec := object{"selector": selects(w.app())}
	spec[w.pick("minAvailable", "maxUnavailable")] = w.pick("0%", "50%", "100%")
	w.toggle("/apis/policy/v1/namespaces/default/poddisruptionbudgets", w.pick("x", "y"), object{"spec": spec})
}

// owners makes an object with two dependents, or deletes one.
func (w *besideWalk) owners() {
	const path = "/api/v1/namespaces/default/configmaps"
	if w.there["owner"] {
		delete(w.there, "owner")
		w.do(http.MethodDelete, path+"/owner", object{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": w.pick("Background", "Foreground", "Orphan")})
		return
	}
	w.there["owner"] = true
	w.do(http.MethodPost, path, object{"metadata": meta("owner")})
	for _, name := range []string{"first", "second"} {
		for _, s := range w.sides {
			items := s.list(path)
			i := slices.IndexFunc(items, func(o object) bool { return text(o, "metadata", "name") == "owner" })
			require.GreaterOrEqual(s.t, i, 0)
			m := meta(name)
			m["ownerReferences"] = []any{object{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": text(items[i], "metadata", "uid"), "blockOwnerDeletion": true}}
			s.send(http.MethodPost, path, object{"metadata": m})
		}
	}
}

func (w *besideWalk) namespace() {
	if !w.there["namespace"] {
		w.there["namespace"] = true
		w.do(http.MethodPost, "/api/v1/namespaces", object{"metadata": meta("extra")})
		w.do(http.MethodPost, "/api/v1/namespaces/extra/configmaps", object{"metadata": meta("content")})
		w.agree() // kube-controller-manager counts from copies, again after five minutes
		w.do(http.MethodPost, "/api/v1/namespaces/extra/resourcequotas", object{"metadata": meta("quota"), "spec": object{"hard": object{"count/configmaps": "5", "pods": "3"}}})
		return
	}
	delete(w.there, "namespace")
	w.do(http.MethodDelete, "/api/v1/namespaces/extra", nil)
}

func (w *besideWalk) volume() {
	switch w.IntN(2) {
	case 0:
		w.toggle("/api/v1/persistentvolumes", w.pick("small", "large"), object{"spec": object{"accessModes": []any{"ReadWriteOnce"},
			"capacity": object{"storage": w.pick("1Gi", "5Gi")}, "hostPath": object{"path": "/data"}, "storageClassName": "manual", "persistentVolumeReclaimPolicy": "Retain"}})
	default:
		w.toggle("/api/v1/namespaces/default/persistentvolumeclaims", w.pick("one", "two"), object{"spec": object{"accessModes": []any{"ReadWriteOnce"},
			"resources": object{"requests": object{"storage": w.pick("1Gi", "3Gi")}}, "storageClassName": "manual"}})
	}
}

// agree waits until both sides are the same and stay so for a second.
func (w *besideWalk) agree() {
	t := w.sides[0].t
	var states [2][]string
	last, since := "", time.Now()
	poll := time.NewTicker(200 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(90 * time.Second); ; <-poll.C {
		for i, s := range w.sides {
			states[i] = s.state()
		}
		now := strings.Join(states[0], "\n") + "\n" + strings.Join(states[1], "\n")
		if now != last {
			last, since = now, time.Now()
		}
		switch {
		case slices.Equal(states[0], states[1]) && time.Since(since) > time.Second:
			return
		case time.Now().After(deadline):
			t.Fatalf("seed %d: after\n%s\nthe sides differ:\n%s", w.seed, strings.Join(w.log, "\n"), difference(states[0], states[1]))
		}
	}
}

// difference lists the lines that only one side has.
func difference(ours, theirs []string) string {
	var b strings.Builder
	for _, part := range []struct {
		sign string
		a, b []string
	}{{"ours   ", ours, theirs}, {"theirs ", theirs, ours}} {
		left := slices.Clone(part.b)
		for _, line := range part.a {
			if i := slices.Index(left, line); i >= 0 {
				left = slices.Delete(left, i, i+1)
				continue
			}
			fmt.Fprintln(&b, part.sign, line)
		}
	}
	return b.String()
}

// TestWorkloadsBeside gives random workloads to two clusters of our API server, scheduler and fake nodes, one
// with this program and one with kube-controller-manager, and compares all objects, their status, which
// events there are, and the order of the states of Jobs, claims and namespaces.
func TestWorkloadsBeside(t *testing.T) {
	ours, theirs := programs(t)
	for _, seed := range seeds.Slow(t, 3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := &besideWalk{Rand: rand.New(rand.NewPCG(seed, 0)), seed: seed, sides: []*side{startSide(t, ours, 2), startSide(t, theirs, 2)}, there: map[string]bool{}}
			for _, s := range w.sides {
				s.watch()
			}
			w.agree()
			for range 40 {
				w.step()
				w.agree()
			}
			for _, s := range w.sides {
				s.mu.Lock()
				defer s.mu.Unlock()
			}
			require.Equal(t, w.sides[1].sequences, w.sides[0].sequences, "seed %d: after\n%s", seed, strings.Join(w.log, "\n"))
		})
	}
}

// figure is what a part of TestFiguresBeside took.
type figure struct {
	wall, cpu time.Duration // cpu is that of the controller manager
}

// usage is the processor time of the controller manager until now.
func (s *side) usage() time.Duration {
	u, err := load.UsageOf(s.cmd.Process.Pid)
	require.NoError(s.t, err)
	return u.CPU
}

// measure measures the work between begin and done.
func (s *side) measure(begin func(), done func() bool) figure {
	before, at := s.usage(), time.Now()
	begin()
	require.Eventually(s.t, done, 10*time.Minute, 10*time.Millisecond)
	return figure{time.Since(at), s.usage() - before}
}

// TestFiguresBeside measures both controller managers over our API server, scheduler and fake nodes, which
// are in the process of the test, and logs a table: 20 Deployments of 50 pods created, rolled out again and
// emptied, 200 owners with 10 dependents each collected, and a StatefulSet of 100 pods created in parallel.
func TestFiguresBeside(t *testing.T) {
	ours, theirs := programs(t)
	var table strings.Builder
	for _, program := range []string{ours, theirs} {
		t.Run(filepath.Base(program), func(t *testing.T) {
			s := startSide(t, program, 20)
			for _, part := range []struct {
				name string
				run  func(*side) figure
			}{{"1,000 pods of 20 Deployments", figureDeployments}, {"2,000 dependents", figureCollected}, {"a StatefulSet of 100", figureStatefulSet}} {
				f := part.run(s)
				fmt.Fprintf(&table, "%-30s %-25s %8.2f s %8.2f CPU-s\n", part.name, filepath.Base(program), f.wall.Seconds(), f.cpu.Seconds())
				t.Log("\n" + table.String()) // as far as it is
			}
		})
	}
}

func figureDeployments(s *side) (total figure) {
	const n, replicas = 20, 50
	api := client.For[*appsv1.Deployment](s.c.Admin())
	edit := func(f func(*appsv1.Deployment)) {
		for i := range n {
			controllertest.Update(s.c, "default", fmt.Sprint("web-", i), f)
		}
	}
	settled := func(want int32) func() bool {
		return func() bool {
			list, err := api.List(s.t.Context(), client.ListOptions{Namespace: "default"})
			return err == nil && len(list.Items) == n && !slices.ContainsFunc(list.Items, func(d *appsv1.Deployment) bool {
				return d.Status.ObservedGeneration != d.Generation || d.Status.Replicas != want || d.Status.UpdatedReplicas != want || d.Status.ReadyReplicas != want
			})
		}
	}
	for _, f := range []figure{
		s.measure(func() {
			for i := range n {
				d := &appsv1.Deployment{ObjectMeta: controllertest.Name("default", fmt.Sprint("web-", i))}
				d.Spec.Replicas, d.Spec.Selector = new(int32(replicas)), &metav1.LabelSelector{MatchLabels: map[string]string{"app": d.Name}}
				d.Spec.Template.Labels = d.Spec.Selector.MatchLabels
				d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
				controllertest.Create(s.c, d)
			}
		}, settled(replicas)),
		s.measure(func() {
			edit(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "app:2" })
		}, settled(replicas)),
		s.measure(func() { edit(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) }) }, settled(0)),
	} {
		total.wall, total.cpu = total.wall+f.wall, total.cpu+f.cpu
	}
	return total
}

func figureCollected(s *side) figure {
	const owners, dependents = 200, 10
	for i := range owners + 1 {
		o := controllertest.Create(s.c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", fmt.Sprint("owner-", i))})
		for j := range dependents {
			d := &corev1.Secret{ObjectMeta: controllertest.Name("default", fmt.Sprintf("dependent-%d-%d", i, j))}
			d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: o.Name, UID: o.UID}}
			controllertest.Create(s.c, d)
		}
	}
	// When the dependents of the last one are gone, the collector has read all others.
	api := client.For[*corev1.Secret](s.c.Admin())
	controllertest.Delete[*corev1.ConfigMap](s.c, "default", fmt.Sprint("owner-", owners))
	require.Eventually(s.t, func() bool {
		list, err := api.List(s.t.Context(), client.ListOptions{Namespace: "default"})
		return err == nil && len(list.Items) == owners*dependents
	}, time.Minute, 10*time.Millisecond)
	return s.measure(func() {
		for i := range owners {
			controllertest.Delete[*corev1.ConfigMap](s.c, "default", fmt.Sprint("owner-", i))
		}
	}, func() bool {
		list, err := api.List(s.t.Context(), client.ListOptions{Namespace: "default", Limit: 1})
		return err == nil && len(list.Items) == 0
	})
}

func figureStatefulSet(s *side) figure {
	api := client.For[*appsv1.StatefulSet](s.c.Admin())
	return s.measure(func() {
		o := &appsv1.StatefulSet{ObjectMeta: controllertest.Name("default", "db")}
		o.Spec.Replicas, o.Spec.Selector = new(int32(100)), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
		o.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		o.Spec.Template.Labels = o.Spec.Selector.MatchLabels
		o.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		controllertest.Create(s.c, o)
	}, func() bool {
		o, err := api.Get(s.t.Context(), types.NamespacedName{Namespace: "default", Name: "db"})
		return err == nil && o.Status.ReadyReplicas == 100
	})
}
