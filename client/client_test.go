package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
)

func TestApplyBody(t *testing.T) {
	d := &appsv1.Deployment{}
	d.Name, d.Namespace = "web", "default"
	d.Spec.Replicas = new(int32(0))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "c", Env: []corev1.EnvVar{{Name: "A"}}, Ports: []corev1.ContainerPort{{ContainerPort: 80}},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("0")}},
	}}
	d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	b, err := client.ApplyBody(d, appsv1.GroupVersion.WithKind("Deployment"))
	require.NoError(t, err)
	require.JSONEq(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},
		"spec":{"replicas":0,"selector":{"matchLabels":{}},"template":{"spec":{
			"containers":[{"name":"c","env":[{"name":"A"}],"ports":[{"containerPort":80}],"resources":{"limits":{"cpu":"0"}}}],
			"volumes":[{"name":"v","emptyDir":{}}]}}}}`, string(b))

	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	hpa.Name = "h"
	gvk := autoscalingv2.GroupVersion.WithKind("HorizontalPodAutoscaler")
	b, err = client.ApplyBody(hpa, gvk)
	require.NoError(t, err)
	require.JSONEq(t, `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h"}}`, string(b), "no zero that nobody set")
	b, err = client.ApplyBody(hpa, gvk, "spec.maxReplicas")
	require.NoError(t, err)
	require.JSONEq(t, `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h"},"spec":{"maxReplicas":0}}`, string(b))

	u := &metav1.Unstructured{Fields: map[string]any{"spec": map[string]any{"a": int64(0), "b": nil}}}
	u.Name, u.APIVersion, u.Kind = "u", "example.com/v1", "Website"
	b, err = client.ApplyBody(u, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Website"})
	require.NoError(t, err)
	require.JSONEq(t, `{"apiVersion":"example.com/v1","kind":"Website","metadata":{"name":"u"},"spec":{"a":0,"b":null}}`, string(b))
}

func TestExtractListItems(t *testing.T) {
	p := &corev1.Pod{}
	p.Name, p.Namespace = "p", "default"
	p.Finalizers = []string{"a", "b"}
	p.Spec.Containers = []corev1.Container{{Name: "x", Image: "i", WorkingDir: "/"}, {Name: "y", Image: "j"}}
	p.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "me", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: &metav1.FieldsV1{Raw: []byte(
			`{"f:metadata":{"f:finalizers":{"v:\"b\"":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:image":{}}}}}`)}},
		{Manager: "other", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:hostname":{}}}`)}},
	}
	got, err := client.Extract(p, "me", "")
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, got.Finalizers)
	require.Len(t, got.Spec.Containers, 1)
	require.Equal(t, corev1.Container{Name: "x", Image: "i"}, got.Spec.Containers[0])
	none, err := client.Extract(p, "nobody", "")
	require.NoError(t, err)
	require.Equal(t, "p", none.Name)
	require.Empty(t, none.Spec.Containers)
}

// stub serves requests in memory, by method and path.
type stub struct {
	do     func(r *client.Request) (*client.Response, error)
	stream func(r *client.Request) (*client.Stream, error)
}

func (stub) Scheme() *scheme.Scheme { return api.Scheme() }
func (s stub) Do(_ context.Context, r *client.Request) (*client.Response, error) {
	return s.do(r)
}
func (s stub) Stream(_ context.Context, r *client.Request) (*client.Stream, error) {
	return s.stream(r)
}

func jsonReply(v any) (*client.Response, error) {
	b, err := codec.Marshal(v)
	return &client.Response{Code: 200, ContentType: client.MediaJSON, Body: b}, err
}

func TestAServerWithoutProtobufIsAskedInJSON(t *testing.T) {
	var sent []string
	c := client.For[*corev1.ConfigMap](stub{do: func(r *client.Request) (*client.Response, error) {
		sent = append(sent, r.Method+" "+r.ContentType+" "+r.Accept)
		if r.ContentType == client.MediaProtobuf || r.Method == "GET" && strings.Contains(r.Accept, "protobuf") {
			return nil, apierrors.NewUnsupportedMediaType("json only")
		}
		return jsonReply(&corev1.ConfigMap{})
	}})
	for range 2 {
		_, err := c.Create(t.Context(), configMap("a", nil))
		require.NoError(t, err)
	}
	require.Equal(t, []string{
		"POST application/vnd.kubernetes.protobuf application/vnd.kubernetes.protobuf,application/json",
		"POST application/json application/json", "POST application/json application/json",
	}, sent)
}

func TestAllReadsAgainWhenTheTokenExpires(t *testing.T) {
	n := 0
	c := client.For[*corev1.ConfigMap](stub{do: func(r *client.Request) (*client.Response, error) {
		n++
		l := &corev1.ConfigMapList{}
		l.ResourceVersion = fmt.Sprint(n)
		add := func(names ...string) {
			for _, name := range names {
				l.Items = append(l.Items, configMap(name, nil))
			}
		}
		switch {
		case r.Query.Get("continue") == "t":
			return nil, apierrors.NewResourceExpired("compacted")
		case r.Query.Get("limit") == "2":
			add("a", "c")
			l.Continue = "t"
		default:
			add("a", "b", "c", "d", "e")
		}
		return jsonReply(l)
	}})
	var names []string
	for cm, err := range c.All(t.Context(), client.ListOptions{Limit: 2}) {
		require.NoError(t, err)
		names = append(names, cm.Name)
	}
	require.Equal(t, []string{"a", "c", "d", "e"}, names, "each key once")
}

// An object that does not fit its type is reported with its key, and the others are read.
func TestOneBadItemDoesNotHideTheOthers(t *testing.T) {
	const items = `{"metadata":{"name":"a","namespace":"n"}},{"metadata":{"name":"b","namespace":"n"},"data":7},{"metadata":{"labels":{}}},{"metadata":{"name":"d","namespace":"n"}}`
	asked := 0
	c := client.For[*corev1.ConfigMap](stub{do: func(r *client.Request) (*client.Response, error) {
		asked++
		body := `{"metadata":{"resourceVersion":"3","continue":"more"},"items":[` + items + `]}`
		if r.Query.Get("continue") != "" {
			body = `{"metadata":{"resourceVersion":"3"},"items":[{"metadata":{"name":"e","namespace":"n"}}]}`
		}
		return &client.Response{ContentType: client.MediaJSON, Body: []byte(body)}, nil
	}})
	l, err := c.List(t.Context(), client.ListOptions{})
	var partial *client.PartialError
	require.ErrorAs(t, err, &partial)
	require.Equal(t, "more", l.Continue)
	require.Equal(t, []string{"a", "d"}, []string{l.Items[0].Name, l.Items[1].Name})
	require.Len(t, l.Items, 2)
	require.Len(t, partial.Items, 2)
	require.Equal(t, types.NamespacedName{}, partial.Items[0].Key, "its key is unknown")
	require.Equal(t, types.NamespacedName{Namespace: "n", Name: "b"}, partial.Items[1].Key)
	require.ErrorContains(t, err, "and 1 more")
	var one *client.DecodeError
	require.ErrorAs(t, err, &one)

	asked = 0
	var names []string
	bad := 0
	for cm, err := range c.All(t.Context(), client.ListOptions{}) {
		if errors.As(err, &one) {
			bad++
			continue
		}
		require.NoError(t, err)
		names = append(names, cm.Name)
	}
	require.Equal(t, []string{"a", "d", "e"}, names)
	require.Equal(t, 2, bad)
	require.Equal(t, 2, asked)
	for _, err := range c.All(t.Context(), client.ListOptions{}) {
		if err != nil {
			break // the caller may stop at an error
		}
	}
}

// An object that is deleted while a watch lists, and whose pages expire, is reported as deleted.
func TestExistingObjectsThatGoBetweenPagesAreDeleted(t *testing.T) {
	with := func(name, version, uid string) *corev1.ConfigMap {
		cm := versioned(name, version)
		cm.UID = types.UID(uid)
		return cm
	}
	c := client.For[*corev1.ConfigMap](stub{do: func(r *client.Request) (*client.Response, error) {
		l := &corev1.ConfigMapList{}
		switch {
		case r.Query.Get("continue") != "":
			return nil, apierrors.NewResourceExpired("compacted")
		case r.Query.Get("limit") != "":
			l.ResourceVersion, l.Continue = "5", "t"
			l.Items = []*corev1.ConfigMap{with("a", "1", "a"), with("b", "2", "b"), with("c", "3", "c"), with("d", "4", "d")}
		default:
			l.ResourceVersion = "9"
			l.Items = []*corev1.ConfigMap{with("a", "1", "a"), with("b", "7", "b"), with("d", "8", "another"), with("e", "9", "e")}
		}
		return jsonReply(l)
	}, stream: func(r *client.Request) (*client.Stream, error) {
		require.Equal(t, "9", r.Query.Get("resourceVersion"))
		return text(event("ERROR", apierrors.NewResourceExpired("the end").Status())), nil
	}})
	var got []string
	for ev, err := range c.Watch(t.Context(), client.WatchOptions{}) {
		if err != nil {
			require.True(t, apierrors.IsExpired(err), "%v", err)
			break
		}
		got = append(got, string(ev.Type)+" "+ev.Object.Name+ev.Object.ResourceVersion)
	}
	require.Equal(t, []string{"ADDED a1", "ADDED b2", "ADDED c3", "ADDED d4", "MODIFIED b7", "DELETED d4", "ADDED d8", "ADDED e9", "DELETED c3"}, got)
}

func event(typ string, obj any) string {
	b, _ := codec.Marshal(obj)
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", typ, b)
}

func versioned(name, version string) *corev1.ConfigMap {
	cm := configMap(name, nil)
	cm.ResourceVersion = version
	return cm
}

func TestWatchGoesOnOverBadEventsAndResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var from []string
		bookmark := &corev1.ConfigMap{}
		bookmark.ResourceVersion = "9"
		replies := []func() (*client.Stream, error){
			func() (*client.Stream, error) {
				return text(event("ADDED", versioned("a", "6")) + `{"type":"ADDED","object":{"metadata":{"name":"x"},"data":7}}` + "\n" +
					"not json\n" + `{"type":"WHAT","object":{}}` + "\n" + event("BOOKMARK", bookmark) + `{"type":"ADD`), nil
			},
			func() (*client.Stream, error) { return nil, errors.New("connection refused") },
			func() (*client.Stream, error) { return nil, apierrors.NewTooManyRequests("slow", 3) },
			func() (*client.Stream, error) { return text(""), nil },
			func() (*client.Stream, error) {
				return text(event("MODIFIED", versioned("a", "10")) + event("ERROR", apierrors.NewResourceExpired("old").Status())), nil
			},
		}
		c := client.For[*corev1.ConfigMap](stub{stream: func(r *client.Request) (*client.Stream, error) {
			from = append(from, r.Query.Get("resourceVersion"))
			next := replies[0]
			replies = replies[1:]
			return next()
		}})
		var got []string
		var bad, retries int
		for ev, err := range c.Watch(t.Context(), client.WatchOptions{ResourceVersion: "5", OnRetry: func(error, time.Duration) { retries++ }}) {
			var de *client.DecodeError
			switch {
			case errors.As(err, &de):
				bad++
			case err != nil:
				require.True(t, apierrors.IsExpired(err), "%v", err)
				got = append(got, "expired")
			default:
				got = append(got, string(ev.Type)+ev.Object.ResourceVersion)
			}
		}
		require.Equal(t, []string{"ADDED6", "MODIFIED10", "expired"}, got)
		require.Equal(t, 3, bad)
		require.Equal(t, []string{"5", "9", "9", "9", "9"}, from)
		require.Equal(t, 3, retries)
	})
}

func text(s string) *client.Stream {
	return &client.Stream{ContentType: "application/json;stream=watch", Body: io.NopCloser(strings.NewReader(s))}
}

func TestSilentWatchesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set(metav1.BookmarkHeader, r.Header.Get(metav1.BookmarkHeader))
			fmt.Fprint(w, event("ADDED", versioned("a", "6")))
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})})
		c := client.For[*corev1.ConfigMap](s.Conn(t, rest.Options{}))
		w, err := c.WatchEncoded(t.Context(), client.EncodedWatchOptions{})
		require.NoError(t, err)
		defer w.Close()
		_, err = w.Next()
		require.NoError(t, err)
		time.Sleep(time.Hour) // a slow consumer is not silence of the server
		start := time.Now()
		_, err = w.Next()
		require.ErrorIs(t, err, client.ErrSilent)
		require.LessOrEqual(t, time.Since(start), 10*time.Second)
	})
}

func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		var writes []client.Write
		c := client.Observe(s.Conn(t, rest.Options{}), func(w client.Write) { writes = append(writes, w) })
		cms := client.For[*corev1.ConfigMap](c)
		cm := configMap("", nil)
		cm.GenerateName, cm.Finalizers = "gen-", []string{"example.com/keep"}
		made, err := cms.Create(t.Context(), cm)
		require.NoError(t, err)
		_, err = cms.Create(t.Context(), configMap("dry", nil), client.CreateOptions{DryRun: true})
		require.NoError(t, err)
		_, err = cms.Get(t.Context(), metav1.KeyOf(made))
		require.NoError(t, err)
		require.NoError(t, cms.Delete(t.Context(), metav1.KeyOf(made)))
		_, err = client.Update(t.Context(), cms, metav1.KeyOf(made), func(cm *corev1.ConfigMap) error { cm.Finalizers = nil; return nil })
		require.NoError(t, err)
		require.Len(t, writes, 3)
		require.Equal(t, []string{"create", "delete", "update"}, []string{writes[0].Verb, writes[1].Verb, writes[2].Verb})
		for _, w := range writes {
			require.Equal(t, metav1.KeyOf(made), w.Key)
			require.Equal(t, made.UID, w.UID)
		}
		require.False(t, writes[1].Removed, "a finalizer keeps it")
		require.True(t, writes[1].Object.Terminating)
		_, err = cms.Create(t.Context(), configMap("plain", nil))
		require.NoError(t, err)
		require.NoError(t, cms.Delete(t.Context(), key("plain")))
		require.True(t, writes[4].Removed)
		require.True(t, writes[2].Removed, "it took the last finalizer")
	})
}

func TestRequestsBuilt(t *testing.T) {
	gvr := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	require.Equal(t, "/apis/apps/v1/namespaces/n%2Fs/deployments/a%20b/status", client.ResourcePath(gvr, "n/s", "a b", "status"))
	gvr.Group = ""
	require.Equal(t, "/api/v1/deployments", client.ResourcePath(gvr, "", "", ""))
	var q string
	c := client.For[*corev1.Pod](stub{do: func(r *client.Request) (*client.Response, error) {
		q = r.Query.Encode()
		return jsonReply(&corev1.PodList{})
	}})
	_, err := c.List(t.Context(), client.ListOptions{LabelSelector: labels.MustParse("a in (b,c),!d"), FieldSelector: fields.OneEqual("spec.nodeName", "n,1"), Limit: 5, ResourceVersion: "7", ResourceVersionMatch: "Exact"})
	require.NoError(t, err)
	require.Equal(t, `fieldSelector=spec.nodeName%3Dn%5C%2C1&labelSelector=a+in+%28b%2Cc%29%2C%21d&limit=5&resourceVersion=7&resourceVersionMatch=Exact`, q)
	_, err = c.Get(t.Context(), types.NamespacedName{})
	require.Error(t, err)
	require.Error(t, c.Delete(t.Context(), types.NamespacedName{}))
}

func TestUndecodableReplies(t *testing.T) {
	for _, r := range []*client.Response{
		{ContentType: client.MediaJSON, Body: []byte(`{"metadata":7}`)},
		{ContentType: client.MediaProtobuf, Body: []byte("k8s\x00\x12\xff\xff")},
		{ContentType: client.MediaProtobuf, Body: []byte("junk")},
		{ContentType: "text/html", Body: []byte("<html>")},
	} {
		c := client.For[*corev1.ConfigMap](stub{do: func(*client.Request) (*client.Response, error) { return r, nil }})
		_, err := c.Get(t.Context(), key("a"))
		var de *client.DecodeError
		require.ErrorAs(t, err, &de)
		require.Equal(t, "configmaps", de.Resource.Resource)
		_, err = c.List(t.Context(), client.ListOptions{})
		require.Error(t, err)
	}
	c := client.For[*corev1.ConfigMap](stub{do: func(*client.Request) (*client.Response, error) {
		return &client.Response{ContentType: client.MediaJSON, Body: []byte(`{"metadata":{"resourceVersion":"3"},"items":[{"metadata":{"name":"a"}},{"metadata":{}},{"metadata":{"name":"c"}}]}`)}, nil
	}})
	l, err := c.ListEncoded(t.Context(), client.ListOptions{}, client.EncodedOptions{})
	require.NoError(t, err)
	require.Len(t, l.Items, 2, "the rest goes on")
	require.Len(t, l.Errors, 1)
}

func TestUnregistered(t *testing.T) {
	type Gadget struct {
		metav1.TypeMeta
		metav1.ObjectMeta
	}
	c := client.For[*Gadget](stub{})
	_, err := c.Get(t.Context(), key("a"))
	require.True(t, scheme.IsUnregistered(err))
	require.ErrorContains(t, err, "scheme.Add")
	for _, err := range c.Watch(t.Context(), client.WatchOptions{}) {
		require.True(t, scheme.IsUnregistered(err))
	}
	_, err = client.Subresource[*corev1.Pod](c, "status").Get(t.Context(), key("a"))
	require.True(t, scheme.IsUnregistered(err))
}

func FuzzWatchFrames(f *testing.F) {
	f.Add([]byte(event("ADDED", versioned("a", "6"))), false)
	f.Add([]byte("\x00\x00\x00\x05\n\x03ADD"), true)
	f.Fuzz(func(t *testing.T, b []byte, proto bool) {
		media := client.MediaJSON
		if proto {
			media = client.MediaProtobuf
		}
		c := client.For[*corev1.ConfigMap](stub{stream: func(*client.Request) (*client.Stream, error) {
			return &client.Stream{ContentType: media, Body: io.NopCloser(strings.NewReader(string(b)))}, nil
		}})
		w, err := c.WatchEncoded(t.Context(), client.EncodedWatchOptions{Silence: -1, DropManagedFields: true})
		require.NoError(t, err)
		defer w.Close()
		for {
			ev, err := w.Next()
			if err != nil {
				return
			}
			if ev.Type != client.Error {
				_, _ = c.Decode(ev.Object)
			}
		}
	})
}

func Example() {
	var conn client.Conn = stub{do: func(r *client.Request) (*client.Response, error) {
		fmt.Println(r.Method, r.URLPath())
		cm := configMap("settings", map[string]string{"color": "green"})
		b, _ := json.Marshal(cm)
		return &client.Response{Code: 200, ContentType: client.MediaJSON, Body: b}, nil
	}}
	ctx := context.Background()
	maps := client.For[*corev1.ConfigMap](conn)
	cm, err := maps.Get(ctx, types.NamespacedName{Namespace: "default", Name: "settings"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cm.Data["color"])
	// Output:
	// GET /api/v1/namespaces/default/configmaps/settings
	// green
}

// A second value of options would be ignored, and with it a dry run.
func TestTwoOptionsAreRefused(t *testing.T) {
	c := client.For[*corev1.ConfigMap](clienttest.Start(t, clienttest.Options{}).Conn(t, rest.Options{}))
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "two"}}
	require.Panics(t, func() {
		_, _ = c.Create(t.Context(), cm, client.CreateOptions{FieldManager: "me"}, client.CreateOptions{DryRun: true})
	})
	_, err := c.Get(t.Context(), cm.Key())
	require.True(t, apierrors.IsNotFound(err), "nothing was sent")
}
