package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/client/rest"
)

// trace records the requests of clients to a handler and its replies.
type trace struct {
	http.Handler
	mu       sync.Mutex
	requests []*http.Request
	replies  bytes.Buffer
	// gate, if set, may answer a request itself; it reports whether it has.
	gate func(w http.ResponseWriter, r *http.Request) bool
}

type tee struct {
	http.ResponseWriter
	t *trace
}

func (w tee) Write(p []byte) (int, error) {
	w.t.mu.Lock()
	w.t.replies.Write(p)
	w.t.mu.Unlock()
	return w.ResponseWriter.Write(p)
}

func (w tee) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (t *trace) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	t.requests = append(t.requests, r)
	t.mu.Unlock()
	if t.gate != nil && t.gate(w, r) {
		return
	}
	t.Handler.ServeHTTP(tee{w, t}, r)
}

func (t *trace) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests, t.replies = nil, bytes.Buffer{}
}

// traced runs f in a bubble with a server and a record of what its clients send.
func traced(t *testing.T, f func(t *testing.T, tr *trace, c *rest.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		tr := &trace{}
		s := clienttest.Start(t, clienttest.Options{Wrap: func(h http.Handler) http.Handler { tr.Handler = h; return tr }})
		f(t, tr, s.Conn(t, rest.Options{}))
	})
}

func TestAMetadataClientGetsNoData(t *testing.T) {
	traced(t, func(t *testing.T, tr *trace, c *rest.Conn) {
		const needle = "the-needle-in-the-secret"
		for i := range 3 {
			s := &corev1.Secret{Data: map[string][]byte{"k": []byte(needle)}}
			s.Namespace, s.Name = "default", fmt.Sprintf("s%d", i)
			_, err := client.For[*corev1.Secret](c).Create(t.Context(), s)
			require.NoError(t, err)
		}
		tr.reset()
		_, err := client.For[*corev1.Secret](c).List(t.Context(), client.ListOptions{})
		require.NoError(t, err)
		require.Contains(t, tr.replies.String(), needle)
		tr.reset()
		meta := dynamic.Metadata(c, corev1.GroupVersion.WithResource("secrets"))
		l, err := meta.List(t.Context(), client.ListOptions{})
		require.NoError(t, err)
		require.Len(t, l.Items, 3)
		n := 0
		for ev, err := range meta.Watch(t.Context(), client.WatchOptions{Namespace: "default"}) {
			require.NoError(t, err)
			require.NotEmpty(t, ev.Object.UID)
			if n++; n == 3 {
				break
			}
		}
		_, err = meta.Patch(t.Context(), key("s0"), client.Patch{Type: types.MergePatchType, Data: []byte(`{"metadata":{"labels":{"a":"b"}}}`)})
		require.NoError(t, err)
		got, err := meta.Get(t.Context(), key("s0"))
		require.NoError(t, err)
		require.Equal(t, "b", got.Labels["a"])
		require.NoError(t, meta.Delete(t.Context(), key("s1")))
		require.NotContains(t, tr.replies.String(), needle)
		require.NotEmpty(t, tr.replies.String())
	})
}

func TestMediaTypesOnTheWire(t *testing.T) {
	traced(t, func(t *testing.T, tr *trace, c *rest.Conn) {
		_, err := client.For[*corev1.ConfigMap](c).Create(t.Context(), configMap("a", nil))
		require.NoError(t, err)
		_, err = dynamic.For(c, corev1.GroupVersion.WithResource("configmaps")).Get(t.Context(), key("a"))
		require.NoError(t, err)
		require.Len(t, tr.requests, 2)
		require.Equal(t, client.MediaProtobuf, tr.requests[0].Header.Get("Content-Type"))
		require.Contains(t, tr.requests[0].Header.Get("Accept"), client.MediaProtobuf)
		require.Equal(t, client.MediaJSON, tr.requests[1].Header.Get("Accept"), "of a type without a protobuf form")
	})
}

func TestScaleOfEveryKindThatHasOne(t *testing.T) {
	traced(t, func(t *testing.T, _ *trace, c *rest.Conn) {
		template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		template.Labels = map[string]string{"app": "web"}
		selector := &metav1.LabelSelector{MatchLabels: template.Labels}
		meta := metav1.ObjectMeta{Namespace: "default", Name: "web"}
		_, err := client.For[*appsv1.Deployment](c).Create(t.Context(), &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}})
		require.NoError(t, err)
		_, err = client.For[*appsv1.StatefulSet](c).Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}})
		require.NoError(t, err)
		_, err = client.For[*corev1.ReplicationController](c).Create(t.Context(), &corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Selector: template.Labels, Template: &template}})
		require.NoError(t, err)
		for _, gvr := range []struct {
			name  string
			scale *client.Sub[*autoscalingv1.Scale]
		}{
			{"deployments", dynamic.Scale(c, appsv1.GroupVersion.WithResource("deployments"))},
			{"statefulsets", dynamic.Scale(c, appsv1.GroupVersion.WithResource("statefulsets"))},
			{"replicationcontrollers", dynamic.Scale(c, corev1.GroupVersion.WithResource("replicationcontrollers"))},
		} {
			s, err := gvr.scale.Get(t.Context(), key("web"))
			require.NoError(t, err, gvr.name)
			require.EqualValues(t, 1, s.Spec.Replicas, gvr.name)
			s.Spec.Replicas = 4
			s, err = gvr.scale.Update(t.Context(), key("web"), s)
			require.NoError(t, err, gvr.name)
			require.EqualValues(t, 4, s.Spec.Replicas, gvr.name)
		}
	})
}

// outage answers no request while it lasts and ends every watch that is open when it begins.
type outage struct {
	mu    sync.Mutex
	down  bool
	begun chan struct{}
}

func (o *outage) set(down bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down = down; down {
		close(o.begun)
		o.begun = make(chan struct{})
	}
}

func TestAWatchSurvivesRestartsOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outage{begun: make(chan struct{})}
		s := clienttest.Start(t, clienttest.Options{TLS: true, Wrap: func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				o.mu.Lock()
				down, begun := o.down, o.begun
				o.mu.Unlock()
				if down {
					panic(http.ErrAbortHandler)
				}
				ctx, cancel := context.WithCancel(r.Context())
				defer cancel()
				go func() {
					select {
					case <-begun:
						cancel()
					case <-ctx.Done():
					}
				}()
				h.ServeHTTP(w, r.WithContext(ctx))
			})
		}})
		cms := client.For[*corev1.ConfigMap](s.Conn(t, rest.Options{}))
		first, err := cms.Create(t.Context(), configMap("first", nil))
		require.NoError(t, err)
		wrote := make(chan struct{})
		go func() {
			defer close(wrote)
			for i := range 30 {
				time.Sleep(time.Second)
				switch i {
				case 5, 15, 25:
					o.set(true)
					time.Sleep(3 * time.Second)
					o.set(false)
				}
				if _, err := cms.Create(t.Context(), configMap(fmt.Sprintf("w%02d", i), nil)); err != nil {
					t.Error(err)
				}
			}
		}()
		retries, next := 0, 0
		for ev, err := range cms.Watch(t.Context(), client.WatchOptions{Namespace: "default", ResourceVersion: first.ResourceVersion, OnRetry: func(error, time.Duration) { retries++ }}) {
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("w%02d", next), ev.Object.Name, "every event once, in order")
			if next++; next == 30 {
				break
			}
		}
		<-wrote
		require.GreaterOrEqual(t, retries, 3)
	})
}

func TestWatchesEndAtDifferentTimes(t *testing.T) {
	var timeouts []string
	c := client.For[*corev1.ConfigMap](stub{stream: func(r *client.Request) (*client.Stream, error) {
		require.Equal(t, "true", r.Query.Get("allowWatchBookmarks"))
		timeouts = append(timeouts, r.Query.Get("timeoutSeconds"))
		return nil, errors.New("enough")
	}})
	different := map[string]bool{}
	for range 20 {
		_, err := c.WatchEncoded(t.Context(), client.EncodedWatchOptions{})
		require.Error(t, err)
	}
	for _, s := range timeouts {
		var n int
		fmt.Sscan(s, &n)
		require.True(t, n >= 300 && n <= 600, s)
		different[s] = true
	}
	require.Greater(t, len(different), 3)
}

func TestPagesOfFiveHundredThatExpire(t *testing.T) {
	traced(t, func(t *testing.T, tr *trace, c *rest.Conn) {
		cms := client.For[*corev1.ConfigMap](c)
		for i := range 1200 {
			_, err := cms.Create(t.Context(), configMap(fmt.Sprintf("p%04d", i), nil))
			require.NoError(t, err)
		}
		read := func() (n int) {
			tr.reset()
			seen := map[string]bool{}
			for cm, err := range cms.All(t.Context(), client.ListOptions{Namespace: "default"}) {
				require.NoError(t, err)
				require.False(t, seen[cm.Name], cm.Name)
				seen[cm.Name] = true
				if cm.Name[0] == 'p' {
					n++
				}
			}
			return n
		}
		require.Equal(t, 1200, read())
		require.Len(t, tr.requests, 3)
		for _, r := range tr.requests {
			require.Equal(t, "500", r.URL.Query().Get("limit"))
		}
		tr.gate = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Get("continue") == "" {
				return false
			}
			w.Header().Set("Content-Type", client.MediaJSON)
			w.WriteHeader(http.StatusGone)
			io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
			return true
		}
		require.Equal(t, 1200, read(), "the token has expired")
	})
}
