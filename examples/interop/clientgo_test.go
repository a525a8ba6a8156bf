package interop

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	openapiv3 "github.com/google/gnostic-models/openapiv3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/tools/record"
	toolswatch "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"

	"github.com/keelson-dev/keelson/controllers/controllertest"
)

func deployment(name string, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}, Spec: pod(name).Spec}}}
}

func TestWatch(t *testing.T) {
	bothTypes(t, func(t *testing.T, contentType string) {
		ctx := t.Context()
		c := controllertest.Start(t, controllertest.Options{})
		cms := clientset(t, clientGo(c, contentType)).CoreV1().ConfigMaps("default")
		first, err := cms.Create(ctx, configMap("a", nil), metav1.CreateOptions{})
		require.NoError(t, err)
		w, err := cms.Watch(ctx, metav1.ListOptions{ResourceVersion: first.ResourceVersion, AllowWatchBookmarks: true})
		require.NoError(t, err)
		defer w.Stop()
		next := func(want watch.EventType) *corev1.ConfigMap {
			select {
			case e := <-w.ResultChan():
				require.Equal(t, want, e.Type, "%v", e.Object)
				return e.Object.(*corev1.ConfigMap)
			case <-time.After(time.Minute):
				require.Fail(t, "no event")
				return nil
			}
		}
		second, err := cms.Create(ctx, configMap("b", map[string]string{"k": "1"}), metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, second, next(watch.Added))
		second.Data["k"] = "2"
		second, err = cms.Update(ctx, second, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.Equal(t, second, next(watch.Modified))
		require.NoError(t, cms.Delete(ctx, "b", metav1.DeleteOptions{}))
		gone := next(watch.Deleted)
		require.Equal(t, "2", gone.Data["k"])
		require.NotEqual(t, second.ResourceVersion, gone.ResourceVersion, "a deletion has its own version")

		// A watch by name and by label, and one from the beginning.
		for i, o := range []metav1.ListOptions{{FieldSelector: "metadata.name=x"}, {LabelSelector: "want in (yes)"}} {
			w, err := cms.Watch(ctx, o)
			require.NoError(t, err)
			name := []string{"x", "y"}[i]
			for _, n := range []string{"other" + name, name} {
				cm := configMap(n, nil)
				if n == "y" {
					cm.Labels = map[string]string{"want": "yes"}
				}
				_, err = cms.Create(ctx, cm, metav1.CreateOptions{})
				require.NoError(t, err)
			}
			e := <-w.ResultChan()
			require.Equal(t, name, e.Object.(*corev1.ConfigMap).Name)
			w.Stop()
		}
	})
}

// client-go's reflector streams the initial state (WatchList) from our server, and lists and watches if
// configured to.
func TestSharedInformers(t *testing.T) {
	bothTypes(t, func(t *testing.T, contentType string) {
		ctx, cancel := context.WithCancel(t.Context())
		c := controllertest.Start(t, controllertest.Options{})
		cs := clientset(t, clientGo(c, contentType))
		for i := range 300 {
			_, err := cs.CoreV1().ConfigMaps("default").Create(ctx, configMap(fmt.Sprintf("c%03d", i), nil), metav1.CreateOptions{})
			require.NoError(t, err)
		}
		f := informers.NewSharedInformerFactoryWithOptions(cs, 0, informers.WithNamespace("default"))
		defer f.Shutdown()
		defer cancel()
		inf := f.Core().V1().ConfigMaps()
		var mu sync.Mutex
		seen := map[string]int{}
		count := func(what string) { mu.Lock(); seen[what]++; mu.Unlock() }
		_, err := inf.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { count("add") },
			UpdateFunc: func(any, any) { count("update") },
			DeleteFunc: func(any) { count("delete") },
		})
		require.NoError(t, err)
		inf.Lister()
		f.Start(ctx.Done())
		for typ, ok := range f.WaitForCacheSync(ctx.Done()) {
			require.True(t, ok, "%v", typ)
		}
		list, err := inf.Lister().ConfigMaps("default").List(labels.Everything())
		require.NoError(t, err)
		require.Len(t, list, 300)
		for i := range 100 {
			name := fmt.Sprintf("c%03d", i)
			_, err := cs.CoreV1().ConfigMaps("default").Patch(ctx, name, types.MergePatchType, []byte(`{"data":{"x":"y"}}`), metav1.PatchOptions{})
			require.NoError(t, err)
			require.NoError(t, cs.CoreV1().ConfigMaps("default").Delete(ctx, name, metav1.DeleteOptions{}))
		}
		eventually(t, "events", func() bool {
			mu.Lock()
			defer mu.Unlock()
			// Changes in quick succession may be merged.
			return seen["add"] == 300 && seen["delete"] == 100 && seen["update"] == 100
		})
		list, err = inf.Lister().List(labels.Everything())
		require.NoError(t, err)
		require.Len(t, list, 200)
	})
}

func TestPagination(t *testing.T) {
	bothTypes(t, func(t *testing.T, contentType string) {
		ctx := t.Context()
		c := controllertest.Start(t, controllertest.Options{})
		cs := clientset(t, clientGo(c, contentType))
		cms := cs.CoreV1().ConfigMaps("default")
		for i := range 57 {
			_, err := cms.Create(ctx, configMap(fmt.Sprintf("c%02d", i), nil), metav1.CreateOptions{})
			require.NoError(t, err)
		}
		pages, names, version := 0, map[string]bool{}, ""
		o := metav1.ListOptions{Limit: 10}
		for {
			list, err := cms.List(ctx, o)
			require.NoError(t, err)
			pages++
			require.LessOrEqual(t, len(list.Items), 10)
			if version == "" {
				version = list.ResourceVersion
				require.EqualValues(t, 47, *list.RemainingItemCount)
				// An object created meanwhile is on no page.
				_, err := cms.Create(ctx, configMap("c99", nil), metav1.CreateOptions{})
				require.NoError(t, err)
			}
			require.Equal(t, version, list.ResourceVersion, "one state on all pages")
			for _, i := range list.Items {
				names[i.Name] = true
			}
			if o.Continue = list.Continue; o.Continue == "" {
				break
			}
		}
		require.Equal(t, 6, pages)
		require.Len(t, names, 57)
		n := 0
		p := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return cms.List(ctx, o) })
		p.PageSize = 7
		require.NoError(t, p.EachListItem(ctx, metav1.ListOptions{}, func(runtime.Object) error { n++; return nil }))
		require.Equal(t, 58, n)
		require.NoError(t, cms.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: fields.OneTermNotEqualSelector("metadata.name", "c99").String()}))
		list, err := cms.List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
	})
}

func TestApplyConfigurations(t *testing.T) {
	ctx := t.Context()
	c := controllertest.Start(t, controllertest.Options{})
	cs := clientset(t, clientGo(c, jsonType))
	web := func(image string, replicas ...int32) *applyappsv1.DeploymentApplyConfiguration {
		d := applyappsv1.Deployment("web", "default").WithSpec(applyappsv1.DeploymentSpec().
			WithSelector(applymetav1.LabelSelector().WithMatchLabels(map[string]string{"app": "web"})).
			WithTemplate(applycorev1.PodTemplateSpec().WithLabels(map[string]string{"app": "web"}).
				WithSpec(applycorev1.PodSpec().WithContainers(applycorev1.Container().WithName("c").WithImage(image)))))
		for _, r := range replicas {
			d.Spec.WithReplicas(r)
		}
		return d
	}
	d, err := cs.AppsV1().Deployments("default").Apply(ctx, web("app:1", 3), metav1.ApplyOptions{FieldManager: "one"})
	require.NoError(t, err)
	require.EqualValues(t, 3, *d.Spec.Replicas)
	_, err = cs.AppsV1().Deployments("default").Apply(ctx, web("app:2"), metav1.ApplyOptions{FieldManager: "two"})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	st := err.(apierrors.APIStatus).Status()
	require.NotEmpty(t, st.Details.Causes)
	require.Equal(t, metav1.CauseTypeFieldManagerConflict, st.Details.Causes[0].Type)
	require.Contains(t, st.Details.Causes[0].Field, `.spec.template.spec.containers[name="c"].image`)
	d, err = cs.AppsV1().Deployments("default").Apply(ctx, web("app:2"), metav1.ApplyOptions{FieldManager: "two", Force: true})
	require.NoError(t, err)
	require.Equal(t, "app:2", d.Spec.Template.Spec.Containers[0].Image)
	// Fields that an applier no longer sets are removed; replicas returns to the default.
	d, err = cs.AppsV1().Deployments("default").Apply(ctx, web("app:2"), metav1.ApplyOptions{FieldManager: "one", Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, *d.Spec.Replicas)
	// The extracted configuration equals the applied one.
	x, err := applyappsv1.ExtractDeployment(d, "two")
	require.NoError(t, err)
	require.Equal(t, "app:2", *x.Spec.Template.Spec.Containers[0].Image)
	require.Nil(t, x.Spec.Replicas)
	// Status through its own subresource.
	_, err = cs.AppsV1().Deployments("default").ApplyStatus(ctx, applyappsv1.Deployment("web", "default").
		WithStatus(applyappsv1.DeploymentStatus().WithReadyReplicas(0).WithReplicas(1)), metav1.ApplyOptions{FieldManager: "ctrl"})
	require.NoError(t, err)
}

func TestPatchTypes(t *testing.T) {
	ctx := t.Context()
	c := controllertest.Start(t, controllertest.Options{})
	cs := clientset(t, clientGo(c, protoType))
	ds := cs.AppsV1().Deployments("default")
	_, err := ds.Create(ctx, deployment("web", 1), metav1.CreateOptions{})
	require.NoError(t, err)
	d, err := ds.Patch(ctx, "web", types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s:1"}]}}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Len(t, d.Spec.Template.Spec.Containers, 2, "merged by name")
	d, err = ds.Patch(ctx, "web", types.MergePatchType, []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"only","image":"o:1"}]}}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Len(t, d.Spec.Template.Spec.Containers, 1, "replaced")
	d, err = ds.Patch(ctx, "web", types.JSONPatchType, []byte(`[{"op":"test","path":"/spec/replicas","value":1},{"op":"replace","path":"/spec/replicas","value":4}]`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 4, *d.Spec.Replicas)
	_, err = ds.Patch(ctx, "web", types.JSONPatchType, []byte(`[{"op":"test","path":"/spec/replicas","value":1}]`), metav1.PatchOptions{})
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	d, err = ds.Patch(ctx, "web", types.MergePatchType, []byte(`{"status":{"replicas":4}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.EqualValues(t, 4, d.Status.Replicas)
	d, err = ds.Patch(ctx, "web", types.MergePatchType, []byte(`{"spec":{"replicas":9}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	require.EqualValues(t, 9, *d.Spec.Replicas)
	d, err = ds.Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 4, *d.Spec.Replicas, "a dry run stores nothing")
}

var widgets = schema.GroupVersionResource{Group: "a.test", Version: "v1", Resource: "widgets"}

const widgetCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.a.test"},
"spec":{"group":"a.test","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}},
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","required":["size"],"properties":{"size":{"type":"integer","minimum":0},"color":{"type":"string","default":"red"}}},
"status":{"type":"object","properties":{"size":{"type":"integer"}}}}}}}]}}`

func TestDynamicClientAndCustomResources(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	cfg := clientGo(c, jsonType)
	dyn, err := dynamic.NewForConfig(cfg)
	require.NoError(t, err)
	dynamicClient(t, cfg, dyn)
}

// dynamicClient uses all verbs of a dynamic client on a custom resource, which it defines.
func dynamicClient(t *testing.T, cfg *rest.Config, dyn *dynamic.DynamicClient) {
	ctx := t.Context()
	crd := &unstructured.Unstructured{}
	require.NoError(t, crd.UnmarshalJSON([]byte(widgetCRD)))
	crds := dyn.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err := crds.Create(ctx, crd, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, "the definition is established", func() bool {
		got, err := crds.Get(ctx, "widgets.a.test", metav1.GetOptions{})
		require.NoError(t, err)
		conditions, _, _ := unstructured.NestedSlice(got.Object, "status", "conditions")
		for _, x := range conditions {
			if m := x.(map[string]any); m["type"] == "Established" {
				return m["status"] == "True"
			}
		}
		return false
	})
	ws := dyn.Resource(widgets).Namespace("default")
	widget := func(name string, size any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "a.test/v1", "kind": "Widget",
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": size}}}
	}
	made, err := ws.Create(ctx, widget("w", int64(2)), metav1.CreateOptions{})
	require.NoError(t, err)
	color, _, _ := unstructured.NestedString(made.Object, "spec", "color")
	require.Equal(t, "red", color, "defaulted")
	_, err = ws.Create(ctx, widget("bad", "two"), metav1.CreateOptions{})
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	made, err = ws.Apply(ctx, "w", widget("w", int64(3)), metav1.ApplyOptions{FieldManager: "m", Force: true})
	require.NoError(t, err)
	_, err = ws.UpdateStatus(ctx, func() *unstructured.Unstructured {
		made.Object["status"] = map[string]any{"size": int64(3)}
		return made
	}(), metav1.UpdateOptions{})
	require.NoError(t, err)
	scale, err := ws.Get(ctx, "w", metav1.GetOptions{}, "scale")
	require.NoError(t, err)
	replicas, _, _ := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	require.EqualValues(t, 3, replicas)

	// Its informer, and metadata only.
	stop, cancel := context.WithCancel(ctx)
	f := dynamicinformer.NewDynamicSharedInformerFactory(dyn, 0)
	inf := f.ForResource(widgets)
	inf.Informer()
	f.Start(stop.Done())
	defer f.Shutdown()
	defer cancel()
	f.WaitForCacheSync(stop.Done())
	obj, err := inf.Lister().ByNamespace("default").Get("w")
	require.NoError(t, err)
	require.Equal(t, "w", obj.(*unstructured.Unstructured).GetName())
	meta, err := metadata.NewForConfig(cfg)
	require.NoError(t, err)
	for _, gvr := range []schema.GroupVersionResource{widgets, {Version: "v1", Resource: "services"}} {
		list, err := meta.Resource(gvr).Namespace("default").List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		require.NotEmpty(t, list.Items[0].UID)
	}
	require.NoError(t, ws.Delete(ctx, "w", metav1.DeleteOptions{}))
	// Built-in kinds, unstructured.
	u, err := dyn.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Get(ctx, "default", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "Namespace", u.GetKind())
}

func TestDiscovery(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	d := clientset(t, clientGo(c, jsonType)).Discovery()
	v, err := d.ServerVersion()
	require.NoError(t, err)
	require.Equal(t, "1", v.Major)
	groups, lists, err := d.ServerGroupsAndResources()
	require.NoError(t, err)
	require.Greater(t, len(groups), 15)
	names := map[string]bool{}
	for _, l := range lists {
		for _, r := range l.APIResources {
			names[l.GroupVersion+" "+r.Name] = true
		}
	}
	for _, want := range []string{"v1 pods", "v1 pods/eviction", "apps/v1 deployments/scale", "apiextensions.k8s.io/v1 customresourcedefinitions", "coordination.k8s.io/v1 leases"} {
		require.True(t, names[want], want)
	}
	pref, err := d.ServerPreferredResources()
	require.NoError(t, err)
	require.NotEmpty(t, pref)
	_, err = d.OpenAPISchema()
	require.NoError(t, err)
	paths, err := d.OpenAPIV3().Paths()
	require.NoError(t, err)
	doc, err := paths["apis/apps/v1"].Schema("application/json")
	require.NoError(t, err)
	require.Contains(t, string(doc), "io.k8s.api.apps.v1.Deployment")
	doc, err = paths["apis/apps/v1"].Schema(openapi.ContentTypeOpenAPIV3PB)
	require.NoError(t, err)
	parsed := &openapiv3.Document{}
	require.NoError(t, proto.Unmarshal(doc, parsed))
	require.Equal(t, "3.0.0", parsed.Openapi)
	list, err := d.ServerResourcesForGroupVersion("batch/v1")
	require.NoError(t, err)
	require.Len(t, list.APIResources, 4)
}

func TestConflictAndRetry(t *testing.T) {
	ctx := t.Context()
	c := controllertest.Start(t, controllertest.Options{})
	cms := clientset(t, clientGo(c, protoType)).CoreV1().ConfigMaps("default")
	_, err := cms.Create(ctx, configMap("n", map[string]string{"n": ""}), metav1.CreateOptions{})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 10 {
				err := retry.OnError(retry.DefaultBackoff, func(err error) bool { return apierrors.IsConflict(err) }, func() error {
					for {
						cm, err := cms.Get(ctx, "n", metav1.GetOptions{})
						if err != nil {
							return err
						}
						cm.Data["n"] += "."
						if _, err = cms.Update(ctx, cm, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
							return err
						}
					}
				})
				if err != nil {
					t.Errorf("writer %d, round %d: %v", w, i, err)
				}
			}
		})
	}
	wg.Wait()
	cm, err := cms.Get(ctx, "n", metav1.GetOptions{})
	require.NoError(t, err)
	require.Len(t, cm.Data["n"], 40, "no update is lost")
}

func TestEviction(t *testing.T) {
	ctx := t.Context()
	c := controllertest.Start(t, controllertest.Options{})
	cs := clientset(t, clientGo(c, jsonType))
	for _, name := range []string{"free", "held"} {
		_, err := cs.CoreV1().Pods("default").Create(ctx, pod(name), metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = cs.CoreV1().Pods("default").Patch(ctx, name, types.MergePatchType,
			[]byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status")
		require.NoError(t, err)
	}
	one := intstr.FromInt32(1)
	pdb, err := cs.PolicyV1().PodDisruptionBudgets("default").Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "held"}}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	pdb.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: pdb.Generation, CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 1}
	_, err = cs.PolicyV1().PodDisruptionBudgets("default").UpdateStatus(ctx, pdb, metav1.UpdateOptions{})
	require.NoError(t, err)
	evict := func(ctx context.Context, name string) error {
		zero := int64(0)
		return cs.PolicyV1().Evictions("default").Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &zero}})
	}
	require.NoError(t, evict(ctx, "free"))
	_, err = cs.CoreV1().Pods("default").Get(ctx, "free", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	// client-go retries requests that are refused with Retry-After.
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	require.Error(t, evict(short, "held"))
	_, err = cs.CoreV1().Pods("default").Get(ctx, "held", metav1.GetOptions{})
	require.NoError(t, err, "the budget holds it")
}

func TestScale(t *testing.T) {
	bothTypes(t, func(t *testing.T, contentType string) {
		ctx := t.Context()
		c := controllertest.Start(t, controllertest.Options{})
		ds := clientset(t, clientGo(c, contentType)).AppsV1().Deployments("default")
		_, err := ds.Create(ctx, deployment("web", 1), metav1.CreateOptions{})
		require.NoError(t, err)
		s, err := ds.GetScale(ctx, "web", metav1.GetOptions{})
		require.NoError(t, err)
		require.EqualValues(t, 1, s.Spec.Replicas)
		require.Equal(t, "app=web", s.Status.Selector)
		s.Spec.Replicas = 7
		s, err = ds.UpdateScale(ctx, "web", s, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.Equal(t, autoscalingv1.ScaleSpec{Replicas: 7}, s.Spec)
		d, err := ds.Get(ctx, "web", metav1.GetOptions{})
		require.NoError(t, err)
		require.EqualValues(t, 7, *d.Spec.Replicas)
	})
}

func TestEventRecorder(t *testing.T) {
	ctx := t.Context()
	c := controllertest.Start(t, controllertest.Options{})
	cs := clientset(t, clientGo(c, protoType))
	p, err := cs.CoreV1().Pods("default").Create(ctx, pod("p"), metav1.CreateOptions{})
	require.NoError(t, err)
	b := record.NewBroadcaster()
	defer b.Shutdown()
	sink := &typedcorev1.EventSinkImpl{Interface: cs.CoreV1().Events("")}
	b.StartRecordingToSink(sink)
	s := upstreamScheme(t)
	r := b.NewRecorder(s, corev1.EventSource{Component: "interop"})
	for range 3 {
		r.Eventf(p, corev1.EventTypeNormal, "Tried", "attempt of %s", p.Name)
	}
	eventually(t, "one event with a count", func() bool {
		list, err := cs.CoreV1().Events("default").Search(s, p)
		require.NoError(t, err)
		return len(list.Items) == 1 && list.Items[0].Count == 3 && list.Items[0].Reason == "Tried"
	})
	// The other API shows the same event.
	es, err := cs.EventsV1().Events("default").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, es.Items, 1)
	require.Equal(t, "attempt of p", es.Items[0].Note)
	require.EqualValues(t, 3, es.Items[0].DeprecatedCount)
}

// RetryWatcher and Until resume from the versions of our server.
func TestUntil(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := controllertest.Start(t, controllertest.Options{})
	cms := clientset(t, clientGo(c, protoType)).CoreV1().ConfigMaps("default")
	lw := &cache.ListWatch{
		ListFunc:  func(o metav1.ListOptions) (runtime.Object, error) { return cms.List(ctx, o) },
		WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) { return cms.Watch(ctx, o) },
	}
	made := make(chan error, 1)
	go func() {
		_, err := cms.Create(ctx, configMap("late", nil), metav1.CreateOptions{})
		made <- err
	}()
	e, err := toolswatch.UntilWithSync(ctx, lw, &corev1.ConfigMap{}, nil, func(e watch.Event) (bool, error) {
		return e.Object.(*corev1.ConfigMap).Name == "late", nil
	})
	require.NoError(t, err)
	require.NoError(t, <-made)
	require.Equal(t, watch.Added, e.Type)
}

func TestLeaderElectionOfClientGo(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	var mu sync.Mutex
	var order []string
	var led []context.Context // those of the leaders, in the same order
	elect := func(ctx context.Context, id string) {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "lock"},
				Client: clientset(t, clientGo(c, protoType)).CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: id}},
			ReleaseOnCancel: true, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 100 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) {
					mu.Lock()
					defer mu.Unlock()
					// OnStoppedLeading may come later: client-go gives the lease back first.
					for i, before := range led {
						if before.Err() == nil {
							t.Errorf("%s leads beside %s", id, order[i])
						}
					}
					order, led = append(order, id), append(led, ctx)
				},
				OnStoppedLeading: func() {},
			},
		})
	}
	ctx1, stop1 := context.WithCancel(t.Context())
	ctx2, stop2 := context.WithCancel(t.Context())
	defer stop2()
	var wg sync.WaitGroup
	wg.Go(func() { elect(ctx1, "one") })
	has := func(n int) func() bool {
		return func() bool { mu.Lock(); defer mu.Unlock(); return len(order) == n }
	}
	eventually(t, "the first leads", has(1))
	wg.Go(func() { elect(ctx2, "two") })
	stop1()
	eventually(t, "the second takes over", has(2))
	mu.Lock()
	require.Equal(t, []string{"one", "two"}, order)
	mu.Unlock()
	stop2()
	wg.Wait()
}
