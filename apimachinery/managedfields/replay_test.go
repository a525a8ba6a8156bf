package managedfields_test

import (
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

type step struct {
	Step          string                      `json:"step"`
	Method        string                      `json:"method"`
	Path          string                      `json:"path"`
	ContentType   string                      `json:"contentType"`
	Request       metav1.RawExtension         `json:"request"`
	Status        int                         `json:"status"`
	ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
	Causes        []struct {
		Type  metav1.CauseType `json:"type"`
		Field string           `json:"field"`
	} `json:"causes"`
}

// server implements the parts of an API server that the recorded sequence needs: objects by path, defaults,
// field ownership.
type server struct {
	t       *testing.T
	scheme  *scheme.Scheme
	objects map[string]metav1.Object
}

func (s *server) typeOf(obj metav1.Object) *managedfields.Type {
	s.t.Helper()
	if _, custom := obj.(*metav1.Unstructured); custom {
		size := managedfields.Member{Name: "spec", Type: managedfields.StructOf([]managedfields.Member{{Name: "size", Type: managedfields.Atomic}}, nil)}
		typ, err := managedfields.ObjectOf([]managedfields.Member{size}, nil)
		require.NoError(s.t, err)
		return typ
	}
	typ, err := managedfields.ForType(reflect.TypeOf(obj))
	require.NoError(s.t, err)
	return typ
}

func (s *server) blank(version, kind string) metav1.Object {
	gvk := schema.FromAPIVersionAndKind(version, kind)
	if info := s.scheme.ForKind(gvk); info != nil {
		return info.New()
	}
	return &metav1.Unstructured{}
}

func (s *server) defaults(obj metav1.Object) {
	if info := s.scheme.ForObject(obj); info != nil && info.Rules.Default != nil {
		info.Rules.Default(obj)
	}
}

// do performs a step and returns the resulting managed fields.
func (s *server) do(st step) ([]metav1.ManagedFieldsEntry, error) {
	u, err := url.Parse(st.Path)
	require.NoError(s.t, err)
	var request map[string]any
	if len(st.Request.Raw) > 0 {
		require.NoError(s.t, codec.Unmarshal(st.Request.Raw, &request))
	}
	path, sub := u.Path, ""
	for _, name := range []string{"status", "scale"} {
		if p, ok := strings.CutSuffix(path, "/"+name); ok {
			path, sub = p, name
		}
	}
	version, _ := request["apiVersion"].(string)
	w := managedfields.Write{Manager: u.Query().Get("fieldManager"), Subresource: sub, APIVersion: version}
	force := u.Query().Get("force") == "true"
	switch {
	case st.Method == "GET":
		return metav1.MetaOf(s.objects[path]).ManagedFields, nil
	case st.Method == "POST":
		obj := s.blank(version, request["kind"].(string))
		require.NoError(s.t, codec.Unmarshal(st.Request.Raw, obj))
		s.defaults(obj)
		require.NoError(s.t, s.typeOf(obj).Update(nil, obj, w))
		s.objects[path+"/"+obj.GetName()] = obj
		return metav1.MetaOf(obj).ManagedFields, nil
	case st.ContentType == "application/merge-patch+json":
		live := s.objects[path].(*appsv1.Deployment)
		obj := codec.DeepCopy(live)
		obj.Spec.Replicas = new(int32(5))
		obj.Annotations = map[string]string{"x": "y"}
		w.APIVersion = "apps/v1"
		require.NoError(s.t, s.typeOf(obj).Update(live, obj, w))
		s.objects[path] = obj
		return obj.ManagedFields, nil
	case sub == "scale":
		return nil, s.scale(path, request, w, force)
	}
	live := s.objects[path]
	if live == nil {
		live = s.blank(version, request["kind"].(string))
	}
	merged, changed, err := s.typeOf(live).Apply(live, request, w, force)
	if err != nil {
		return nil, err
	}
	require.True(s.t, changed)
	s.defaults(merged)
	s.objects[path] = merged
	// The same apply again changes nothing.
	again, changed, err := s.typeOf(live).Apply(merged, request, w, false)
	require.NoError(s.t, err)
	require.False(s.t, changed)
	require.Same(s.t, merged, again)
	return metav1.MetaOf(merged).ManagedFields, nil
}

func (s *server) scale(path string, request map[string]any, w managedfields.Write, force bool) error {
	parent := codec.DeepCopy(s.objects[path].(*appsv1.Deployment))
	replicas := managedfields.FieldPath("spec", "replicas")
	live := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: *parent.Spec.Replicas}}
	live.Name, live.Namespace = parent.Name, parent.Namespace
	live.ManagedFields = managedfields.ScaleEntries(parent.ManagedFields, replicas)
	merged, _, err := s.typeOf(live).Apply(live, request, w, force)
	if err != nil {
		return err
	}
	sc := merged.(*autoscalingv1.Scale)
	parent.Spec.Replicas = &sc.Spec.Replicas
	parent.ManagedFields = managedfields.FromScale(parent.ManagedFields, sc.ManagedFields, replicas, "apps/v1")
	s.objects[path] = parent
	return nil
}

// The recorded sequence of the real server gives the same managed fields here.
func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data, err := os.ReadFile("testdata/managed_fields.json")
		require.NoError(t, err)
		var steps []step
		require.NoError(t, codec.Unmarshal(data, &steps))
		require.NotEmpty(t, steps)
		s := &server{t: t, scheme: scheme.New(), objects: map[string]metav1.Object{}}
		require.NoError(t, api.AddToScheme(s.scheme))
		require.NoError(t, api.AddRules(s.scheme))
		for _, st := range steps {
			if st.Step == "second manager forces" {
				// A second began here in the recording; entries are in the order of their times.
				time.Sleep(time.Second)
			}
			got, err := s.do(st)
			st.check(t, got, err)
		}
	})
}

func (st *step) check(t *testing.T, got []metav1.ManagedFieldsEntry, err error) {
	t.Helper()
	if st.Status == 409 {
		var conflicts *managedfields.ConflictError
		require.ErrorAs(t, err, &conflicts, st.Step)
		causes := conflicts.Causes()
		require.Len(t, causes, len(st.Causes))
		for i, c := range st.Causes {
			require.Equal(t, c.Type, causes[i].Type)
			require.Equal(t, c.Field, causes[i].Field)
		}
		return
	}
	require.NoError(t, err, st.Step)
	require.Len(t, got, len(st.ManagedFields), st.Step)
	for i, want := range st.ManagedFields {
		g := got[i]
		g.Time = nil
		require.Equal(t, string(want.FieldsV1.Raw), string(g.FieldsV1.Raw), "%s, entry %d", st.Step, i)
		require.Equal(t, want, g, "%s, entry %d", st.Step, i)
	}
}
