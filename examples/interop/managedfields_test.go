package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	k8sappsv1 "k8s.io/api/apps/v1"
	k8scorev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	k8smetav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	k8sschema "k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apimachinery/pkg/util/managedfields"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	ourerrors "github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/registry"
)

// converter gives upstream's field manager the types of our OpenAPI documents, so these are compared too.
func converter(t testing.TB) upstream.TypeConverter {
	t.Helper()
	docs := openapi.New(api.Scheme(), openapi.Options{})
	schemas := map[string]*spec.Schema{}
	for _, path := range []string{"api/v1", "apis/apps/v1"} {
		doc, ok := docs.V3(path)
		require.True(t, ok)
		var parsed struct {
			Components struct {
				Schemas map[string]*spec.Schema `json:"schemas"`
			} `json:"components"`
		}
		require.NoError(t, json.Unmarshal(doc.Body, &parsed))
		for name, s := range parsed.Components.Schemas {
			schemas[name] = s
		}
	}
	c, err := upstream.NewTypeConverter(schemas, false)
	require.NoError(t, err)
	return c
}

// noDefaults leaves objects as they are.
type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

func fieldManager(t testing.TB, c upstream.TypeConverter, gvk k8sschema.GroupVersionKind, sub string) *upstream.FieldManager {
	t.Helper()
	s := clientscheme.Scheme
	m, err := upstream.NewDefaultFieldManager(c, runtime.UnsafeObjectConvertor(s), noDefaults{}, s, gvk, gvk.GroupVersion(), sub, nil)
	require.NoError(t, err)
	return m
}

// pick returns one of the values, or false for none.
func pick[T any](r *rand.Rand, values ...T) (T, bool) {
	i := r.IntN(len(values) + 1)
	if i == len(values) {
		var none T
		return none, false
	}
	return values[i], true
}

func set[T any](r *rand.Rand, m map[string]any, name string, values ...T) {
	if v, ok := pick(r, values...); ok {
		m[name] = v
	}
}

// randomContainer returns a container with fields of every kind of ownership: scalars, maps, keyed lists,
// sets, atomic lists and structs.
func randomContainer(r *rand.Rand, name string) map[string]any {
	c := map[string]any{"name": name}
	set(r, c, "image", "a:1", "a:2")
	set(r, c, "command", []any{"a"}, []any{"a", "b"})
	set(r, c, "imagePullPolicy", "Always", "Never")
	set(r, c, "env",
		[]any{map[string]any{"name": "A", "value": "1"}},
		[]any{map[string]any{"name": "B", "value": "2"}, map[string]any{"name": "A", "value": "2"}},
		[]any{map[string]any{"name": "C", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "s", "key": "k"}}}})
	set(r, c, "ports",
		[]any{map[string]any{"containerPort": int64(80)}},
		[]any{map[string]any{"containerPort": int64(80), "protocol": "UDP"}, map[string]any{"containerPort": int64(443), "protocol": "TCP", "name": "x"}})
	set(r, c, "resources", map[string]any{"limits": map[string]any{"cpu": "1", "memory": "1Gi"}}, map[string]any{"requests": map[string]any{"cpu": "500m"}})
	set(r, c, "livenessProbe", map[string]any{"httpGet": map[string]any{"path": "/", "port": int64(80)}, "periodSeconds": int64(5)}, map[string]any{"exec": map[string]any{"command": []any{"x"}}})
	set(r, c, "securityContext", map[string]any{"runAsUser": int64(1), "capabilities": map[string]any{"add": []any{"X"}}}, map[string]any{})
	set(r, c, "stdin", true, false)
	return c
}

func randomMeta(r *rand.Rand) map[string]any {
	m := map[string]any{"name": "x", "namespace": "default"}
	set(r, m, "labels", map[string]any{"a": "1"}, map[string]any{"a": "2", "b": "1"}, map[string]any{"c": "1"})
	set(r, m, "annotations", map[string]any{"x/y": "1"}, map[string]any{"x/y": "2", "z": ""})
	set(r, m, "finalizers", []any{"a.test/x"}, []any{"a.test/y", "a.test/x"})
	return m
}

func randomPodSpec(r *rand.Rand) map[string]any {
	s := map[string]any{}
	switch r.IntN(3) {
	case 0:
		s["containers"] = []any{randomContainer(r, "c")}
	case 1:
		s["containers"] = []any{randomContainer(r, "d"), randomContainer(r, "c")}
	case 2:
		s["containers"] = []any{randomContainer(r, "c"), randomContainer(r, "e")}
	}
	set(r, s, "nodeSelector", map[string]any{"a": "b"}, map[string]any{"c": "d"})
	set(r, s, "tolerations", []any{map[string]any{"key": "k", "operator": "Exists"}}, []any{map[string]any{"key": "l"}})
	set(r, s, "volumes", []any{map[string]any{"name": "v", "emptyDir": map[string]any{}}}, []any{map[string]any{"name": "w", "configMap": map[string]any{"name": "m"}}, map[string]any{"name": "v", "emptyDir": map[string]any{"medium": "Memory"}}})
	set(r, s, "restartPolicy", "Always", "Never")
	set(r, s, "hostAliases", []any{map[string]any{"ip": "1.2.3.4", "hostnames": []any{"a"}}})
	set(r, s, "terminationGracePeriodSeconds", int64(0), int64(5))
	set(r, s, "topologySpreadConstraints", []any{map[string]any{"maxSkew": int64(1), "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": map[string]any{"matchLabels": map[string]any{"a": "b"}}}})
	return s
}

func randomDeployment(r *rand.Rand) map[string]any {
	s := map[string]any{}
	set(r, s, "replicas", int64(0), int64(1), int64(2))
	set(r, s, "selector", map[string]any{"matchLabels": map[string]any{"a": "1"}})
	set(r, s, "paused", true, false)
	set(r, s, "strategy", map[string]any{"type": "Recreate"}, map[string]any{"rollingUpdate": map[string]any{"maxSurge": "50%", "maxUnavailable": int64(1)}})
	template := map[string]any{"spec": randomPodSpec(r)}
	set(r, template, "metadata", map[string]any{"labels": map[string]any{"a": "1"}}, map[string]any{"labels": map[string]any{"a": "2", "b": "1"}, "annotations": map[string]any{"q": "1"}})
	s["template"] = template
	out := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": randomMeta(r), "spec": s}
	set(r, out, "status", map[string]any{"replicas": int64(1), "conditions": []any{map[string]any{"type": "Available", "status": "True"}}})
	return out
}

func randomPod(r *rand.Rand) map[string]any {
	out := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": randomMeta(r), "spec": randomPodSpec(r)}
	set(r, out, "status", map[string]any{"podIP": "1.2.3.4", "podIPs": []any{map[string]any{"ip": "1.2.3.4"}}, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
		map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "False"}, map[string]any{"type": "X", "status": "True"}}})
	return out
}

func randomService(r *rand.Rand) map[string]any {
	s := map[string]any{}
	set(r, s, "ports", []any{map[string]any{"name": "a", "port": int64(80)}}, []any{map[string]any{"name": "b", "port": int64(80), "protocol": "UDP"}, map[string]any{"name": "a", "port": int64(80), "targetPort": "http"}})
	set(r, s, "selector", map[string]any{"a": "b"}, map[string]any{"a": "c"})
	set(r, s, "type", "ClusterIP", "NodePort")
	set(r, s, "externalIPs", []any{"1.2.3.4"}, []any{"1.2.3.4", "5.6.7.8"})
	set(r, s, "clusterIPs", []any{"10.0.0.1"})
	return map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": randomMeta(r), "spec": s}
}

func jsonText(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

// plain is an object as JSON values, without managed fields and nulls, which typed objects write in different
// places.
func plain(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(text, &v))
	if m, ok := v.(map[string]any)["metadata"].(map[string]any); ok {
		delete(m, "managedFields")
	}
	return dropNulls(v)
}

func dropNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, c := range v {
			if c = dropNulls(c); c == nil {
				delete(v, k)
			} else {
				v[k] = c
			}
		}
	case []any:
		for i := range v {
			v[i] = dropNulls(v[i])
		}
	}
	return v
}

// twin is one object, managed by upstream's code and by ours.
type twin struct {
	t      *testing.T
	field  *upstream.FieldManager
	theirs runtime.Object
	ours   metav1.Object
	typ    *managedfields.Type
	empty  func() (runtime.Object, metav1.Object)
}

func (w *twin) compare(at string) {
	w.t.Helper()
	theirs, ours := jsonText(w.t, w.theirs), []byte(nil)
	ours, err := codec.Marshal(w.ours)
	require.NoError(w.t, err)
	require.Equal(w.t, plain(w.t, theirs), plain(w.t, ours), at)
	type entry struct{ Manager, Operation, APIVersion, FieldsType, Subresource, Fields string }
	var a, b []entry
	for _, e := range reflect.ValueOf(w.theirs).Elem().FieldByName("ObjectMeta").FieldByName("ManagedFields").Interface().([]k8smetav1.ManagedFieldsEntry) {
		a = append(a, entry{e.Manager, string(e.Operation), e.APIVersion, e.FieldsType, e.Subresource, string(e.FieldsV1.Raw)})
	}
	for _, e := range metav1.MetaOf(w.ours).ManagedFields {
		b = append(b, entry{e.Manager, string(e.Operation), e.APIVersion, e.FieldsType, e.Subresource, string(e.FieldsV1.Raw)})
	}
	order := func(x, y entry) int {
		return strings.Compare(x.Operation+x.Manager+x.Subresource, y.Operation+y.Manager+y.Subresource)
	}
	slices.SortFunc(a, order)
	slices.SortFunc(b, order)
	require.Equal(w.t, a, b, at)
}

func (w *twin) update(body map[string]any, manager, at string) {
	w.t.Helper()
	theirs, ours := w.empty()
	require.NoError(w.t, json.Unmarshal(jsonText(w.t, body), theirs))
	require.NoError(w.t, codec.Unmarshal(jsonText(w.t, body), ours))
	before, live := w.theirs, w.ours
	if before == nil {
		before, _ = w.empty()
		live = nil
	} else {
		reflect.ValueOf(theirs).Elem().FieldByName("UID").SetString("u")
		metav1.MetaOf(ours).UID = "u"
	}
	got, err := w.field.Update(before, theirs, manager)
	require.NoError(w.t, err, at)
	if live == nil {
		require.NoError(w.t, w.typ.Update(nil, ours, managedfields.Write{Manager: manager, APIVersion: body["apiVersion"].(string)}), at)
	} else {
		require.NoError(w.t, w.typ.Update(live, ours, managedfields.Write{Manager: manager, APIVersion: body["apiVersion"].(string)}), at)
	}
	w.theirs, w.ours = got, ours
	reflect.ValueOf(w.theirs).Elem().FieldByName("UID").SetString("u")
	metav1.MetaOf(w.ours).UID = "u"
	w.compare(at)
}

func (w *twin) apply(body map[string]any, manager string, force bool, at string) {
	w.t.Helper()
	var patch map[string]any
	require.NoError(w.t, codec.Unmarshal(jsonText(w.t, body), &patch))
	before, live := w.theirs, w.ours
	if before == nil {
		before, live = w.empty()
	}
	got, err := w.field.Apply(before, &unstructured.Unstructured{Object: patch}, manager, force)
	merged, _, oursErr := w.typ.Apply(live, body, managedfields.Write{Manager: manager, APIVersion: body["apiVersion"].(string)}, force)
	if err != nil {
		status, ok := err.(apierrors.APIStatus) //nolint:errorlint // returned unwrapped
		require.True(w.t, ok, "%s: %v", at, err)
		var theirs, mine k8smetav1.Status
		require.NoError(w.t, json.Unmarshal(jsonText(w.t, status.Status()), &theirs))
		answer, ok := registry.ApplyError(oursErr).(*ourerrors.StatusError) //nolint:errorlint // returned unwrapped
		require.True(w.t, ok, "%s: upstream: %v, ours: %v", at, err, oursErr)
		text, marshalErr := codec.Marshal(&answer.ErrStatus)
		require.NoError(w.t, marshalErr)
		require.NoError(w.t, json.Unmarshal(text, &mine))
		mine.TypeMeta = k8smetav1.TypeMeta{}
		// Upstream's causes have the order of a Go map of managers; ours that of the message.
		slices.SortStableFunc(theirs.Details.Causes, func(a, b k8smetav1.StatusCause) int { return strings.Compare(a.Message, b.Message) })
		slices.SortStableFunc(mine.Details.Causes, func(a, b k8smetav1.StatusCause) int { return strings.Compare(a.Message, b.Message) })
		require.Equal(w.t, theirs, mine, at)
		return
	}
	require.NoError(w.t, oursErr, at)
	if got == nil {
		got = before
	}
	w.theirs, w.ours = got, merged
	reflect.ValueOf(w.theirs).Elem().FieldByName("UID").SetString("u")
	metav1.MetaOf(w.ours).UID = "u"
	w.compare(at)
}

// annotated is body as "kubectl apply" sends it, with the body itself in an annotation.
func annotated(t *testing.T, body map[string]any) map[string]any {
	t.Helper()
	meta := maps.Clone(body["metadata"].(map[string]any))
	notes := map[string]any{managedfields.LastAppliedAnnotation: string(jsonText(t, body))}
	if old, ok := meta["annotations"].(map[string]any); ok {
		maps.Copy(notes, old)
	}
	meta["annotations"] = notes
	out := maps.Clone(body)
	out["metadata"] = meta
	return out
}

// Random histories of updates and applies give the same objects, the same fieldsV1 bytes and the same
// conflicts as upstream's field manager over structured-merge-diff.
func TestManagedFieldsAsUpstream(t *testing.T) {
	types := converter(t)
	for _, kind := range []struct {
		gvk    k8sschema.GroupVersionKind
		random func(*rand.Rand) map[string]any
		empty  func() (runtime.Object, metav1.Object)
	}{
		{k8sappsv1.SchemeGroupVersion.WithKind("Deployment"), randomDeployment, func() (runtime.Object, metav1.Object) { return &k8sappsv1.Deployment{}, &appsv1.Deployment{} }},
		{k8scorev1.SchemeGroupVersion.WithKind("Pod"), randomPod, func() (runtime.Object, metav1.Object) { return &k8scorev1.Pod{}, &corev1.Pod{} }},
		{k8scorev1.SchemeGroupVersion.WithKind("Service"), randomService, func() (runtime.Object, metav1.Object) { return &k8scorev1.Service{}, &corev1.Service{} }},
	} {
		t.Run(kind.gvk.Kind, func(t *testing.T) {
			field := fieldManager(t, types, kind.gvk, "")
			_, ours := kind.empty()
			typ, err := managedfields.ForType(reflect.TypeOf(ours))
			require.NoError(t, err)
			for _, seed := range seeds.Of(t, 60) {
				r := seeds.Rand(seed)
				w := &twin{t: t, field: field, typ: typ, empty: kind.empty}
				for step := range 8 {
					manager := []string{"one", "two", "three", "kubectl"}[r.IntN(4)]
					at := fmt.Sprintf("seed %d, step %d by %s", seed, step, manager)
					switch r.IntN(5) {
					case 0, 1:
						w.update(kind.random(r), manager, at+" (update)")
					case 2:
						w.update(annotated(t, kind.random(r)), "kubectl-client-side-apply", at+" (update with annotation)")
					default:
						w.apply(kind.random(r), manager, r.IntN(2) == 0, at+" (apply)")
					}
				}
			}
		})
	}
}
