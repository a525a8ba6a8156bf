package interop

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/informers"
)

// Widget is a program's type for a.test/v1 Widgets; the range of its size is smaller than the definition
// allows.
type Widget struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Size  int8   `json:"size"`
		Color string `json:"color,omitempty"`
	} `json:"spec"`
}

func widgetKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

// serveWidgets defines widgets and returns when they are served.
func serveWidgets(t *testing.T, c *controllertest.Cluster) schema.GroupVersionResource {
	define(t, c, widgetCRD)
	return schema.GroupVersionResource{Group: "a.test", Version: "v1", Resource: "widgets"}
}

// define creates a definition and waits until its resource is served.
func define(t *testing.T, c *controllertest.Cluster, definition string) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, codec.Unmarshal([]byte(definition), crd))
	crds := client.For[*apiextensionsv1.CustomResourceDefinition](c.Conn())
	_, err := crds.Create(t.Context(), crd)
	require.NoError(t, err)
	for ev, err := range crds.Watch(t.Context(), client.WatchOptions{}) {
		require.NoError(t, err)
		if slices.ContainsFunc(ev.Object.Status.Conditions, func(x apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return x.Type == apiextensionsv1.Established && x.Status == "True"
		}) {
			break
		}
	}
}

func makeWidget(t *testing.T, c *controllertest.Cluster, gvr schema.GroupVersionResource, name string, size int64) {
	u := &metav1.Unstructured{Fields: map[string]any{"spec": map[string]any{"size": size}}}
	u.APIVersion, u.Kind, u.Namespace, u.Name = "a.test/v1", "Widget", "default", name
	_, err := dynamic.For(c.Conn(), gvr).Create(t.Context(), u)
	require.NoError(t, err)
}

// A running program finds and uses a kind that is defined later.
func TestALateCustomResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		d := discovery.New(c.Conn(), discovery.Options{})
		kind := schema.GroupKind{Group: "a.test", Kind: "Widget"}
		_, err := d.ForKind(t.Context(), kind)
		require.True(t, discovery.IsNoMatch(err), "%v", err)
		gvr := serveWidgets(t, c)
		time.Sleep(time.Second) // after a miss the server is queried again once a second
		r, err := d.ForKind(t.Context(), kind)
		require.NoError(t, err)
		require.Equal(t, gvr, r.GVR)
		require.True(t, r.Namespaced)

		makeWidget(t, c, gvr, "w", 2)
		widgets := client.ForResource[*metav1.Unstructured](c.Conn(), r.Client())
		u, err := client.UpdateStatus(t.Context(), widgets, widgetKey("w"), func(u *metav1.Unstructured) error {
			u.Fields["status"] = map[string]any{"size": int64(1)}
			u.SetNested(int64(9), "spec", "size")
			return nil
		})
		require.NoError(t, err)
		size, _ := u.Nested("spec", "size")
		require.EqualValues(t, 2, size, "the status only")

		scales := dynamic.Scale(c.Conn(), gvr)
		s, err := scales.Get(t.Context(), widgetKey("w"))
		require.NoError(t, err)
		require.EqualValues(t, 2, s.Spec.Replicas)
		require.EqualValues(t, 1, s.Status.Replicas)
		s.Spec.Replicas = 5
		s, err = scales.Update(t.Context(), widgetKey("w"), s)
		require.NoError(t, err)
		require.EqualValues(t, 5, s.Spec.Replicas)
		s, err = scales.Patch(t.Context(), widgetKey("w"), client.Patch{Type: types.MergePatchType, Data: []byte(`{"spec":{"replicas":6}}`)})
		require.NoError(t, err)
		require.EqualValues(t, 6, s.Spec.Replicas)
		applied := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 7}}
		applied.Namespace, applied.Name = "default", "w"
		s, err = scales.Apply(t.Context(), widgetKey("w"), applied, client.ApplyOptions{FieldManager: "scaler", Force: true})
		require.NoError(t, err)
		require.EqualValues(t, 7, s.Spec.Replicas)
		u, err = widgets.Get(t.Context(), widgetKey("w"))
		require.NoError(t, err)
		size, _ = u.Nested("spec", "size")
		require.EqualValues(t, 7, size)
	})
}

// A stored object that does not fit a program's type is reported with its key, wherever it occurs, and the
// others are processed.
func TestACustomResourceThatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scheme.New()
		require.NoError(t, scheme.Add[*Widget](s, schema.GroupVersion{Group: "a.test", Version: "v1"}, scheme.Kind{Resource: "widgets", Namespaced: true}))
		require.NoError(t, scheme.Add[*apiextensionsv1.CustomResourceDefinition](s, apiextensionsv1.GroupVersion, scheme.Kind{Resource: "customresourcedefinitions"}))
		c := controllertest.Start(t, controllertest.Options{Scheme: s})
		gvr := serveWidgets(t, c)
		for name, size := range map[string]int64{"a": 1, "b": 1000, "c": 3} {
			makeWidget(t, c, gvr, name, size)
		}
		bad := func(err error) {
			t.Helper()
			one, ok := errors.AsType[*client.DecodeError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, widgetKey("b"), one.Key)
			require.Equal(t, "widgets", one.Resource.Resource)
		}
		ctx, cancel := context.WithCancel(t.Context())
		widgets := client.For[*Widget](c.Conn())
		l, err := widgets.List(ctx, client.ListOptions{})
		bad(err)
		require.Equal(t, []types.NamespacedName{widgetKey("a"), widgetKey("c")}, keysOf(l.Items))
		_, err = widgets.Get(ctx, widgetKey("b"))
		bad(err)
		var names []string
		for w, err := range widgets.All(ctx, client.ListOptions{Limit: 1}) {
			if err != nil {
				bad(err)
				continue
			}
			names = append(names, w.Name)
		}
		require.Equal(t, []string{"a", "c"}, names)

		// A controller of widgets, through an informer, from existing objects and from events.
		var mu sync.Mutex
		seen, failures := map[string]int8{}, 0
		set := informers.NewSet(c.Conn(), informers.SetOptions{OnError: func(_ string, err error) {
			mu.Lock()
			defer mu.Unlock()
			bad(err)
			failures++
		}})
		inf := informers.For[*Widget](set)
		inf.AddHandler(func(ev informers.Event[*Widget]) {
			w := ev.New()
			mu.Lock()
			defer mu.Unlock()
			if w != nil {
				seen[w.Name] = w.Spec.Size
			}
		}, informers.HandlerOptions{})
		done := make(chan error, 1)
		go func() { done <- set.Run(ctx) }()
		require.NoError(t, set.WaitForSync(ctx))
		makeWidget(t, c, gvr, "d", 4)
		time.Sleep(time.Second)
		mu.Lock()
		require.Equal(t, map[string]int8{"a": 1, "c": 3, "d": 4}, seen)
		require.Positive(t, failures)
		mu.Unlock()
		cancel()
		require.NoError(t, <-done)
	})
}
