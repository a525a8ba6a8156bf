package wait_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/client/wait"
)

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"k": value}}
}

// server runs a test against a real server in virtual time.
func server(t *testing.T, f func(t *testing.T, conn client.Conn)) {
	synctest.Test(t, func(t *testing.T) { f(t, clienttest.Start(t, clienttest.Options{}).Conn(t, rest.Options{})) })
}

func TestForSeesChanges(t *testing.T) {
	server(t, func(t *testing.T, conn client.Conn) {
		maps := client.For[*corev1.ConfigMap](conn)
		go func() {
			for i := range 5 {
				time.Sleep(time.Hour)
				if i == 0 {
					_, _ = maps.Create(t.Context(), configMap("a", "0"))
					continue
				}
				_, _ = client.Update(t.Context(), maps, key("a"), func(cm *corev1.ConfigMap) error { cm.Data["k"] = fmt.Sprint(i); return nil })
			}
			time.Sleep(time.Hour)
			_ = maps.Delete(t.Context(), key("a"))
		}()
		begin := time.Now()
		_, err := wait.For(t.Context(), maps, key("a"), wait.Exists)
		require.NoError(t, err)
		require.WithinDuration(t, begin.Add(time.Hour), time.Now(), time.Second, "from the watch, not from a poll")
		cm, err := wait.For(t.Context(), maps, key("a"), wait.That(func(cm *corev1.ConfigMap) error {
			if cm.Data["k"] != "3" {
				return wait.NotYet("k is %s", cm.Data["k"])
			}
			return nil
		}))
		require.NoError(t, err)
		require.Equal(t, "3", cm.Data["k"])
		_, err = wait.For(t.Context(), maps, key("a"), wait.Path("{.data.k}", "4"))
		require.NoError(t, err)
		require.WithinDuration(t, begin.Add(5*time.Hour), time.Now(), time.Second)
		gone, err := wait.For(t.Context(), maps, key("a"), wait.Deleted)
		require.NoError(t, err)
		require.Nil(t, gone)
	})
}

func TestForReportsTheLastState(t *testing.T) {
	server(t, func(t *testing.T, conn client.Conn) {
		maps := client.For[*corev1.ConfigMap](conn)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := wait.For(ctx, maps, key("a"), wait.Exists)
		require.EqualError(t, err, "wait: ConfigMap default/a: context deadline exceeded: it does not exist")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var failure *wait.Error
		require.ErrorAs(t, err, &failure)
		require.Nil(t, failure.Last)

		made, err := maps.Create(t.Context(), configMap("a", "1"))
		require.NoError(t, err)
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = wait.For(ctx, maps, key("a"), wait.Path(".data.k", "2"))
		require.EqualError(t, err, `wait: ConfigMap default/a: context deadline exceeded: .data.k is "1"`)
		require.ErrorAs(t, err, &failure)
		require.Equal(t, metav1.Object(made), failure.Last)

		boom := errors.New("boom")
		_, err = wait.For(t.Context(), maps, key("a"), func(metav1.Object) error { return boom })
		require.EqualError(t, err, "wait: ConfigMap default/a: boom")
		require.ErrorIs(t, err, boom)
		_, err = wait.For(t.Context(), maps, key("a"), wait.Path("{.data[", ""))
		require.ErrorContains(t, err, "jsonpath")
		_, err = wait.For(t.Context(), maps, key("a"), wait.That(func(*corev1.Pod) error { return nil }))
		require.ErrorContains(t, err, "the check is for a *corev1.Pod, not for a *corev1.ConfigMap")
	})
}

func TestForOfAKindThatIsNotServed(t *testing.T) {
	server(t, func(t *testing.T, conn client.Conn) {
		sites := dynamic.For(conn, schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "websites"})
		_, err := wait.For(t.Context(), sites, key("a"), wait.Deleted)
		require.NoError(t, err, "there is none")
		_, err = wait.For(t.Context(), sites, key("a"), wait.Exists)
		require.True(t, apierrors.IsNotFound(err), "%v", err)
	})
}

func TestForStopsWhenItIsRefused(t *testing.T) {
	server(t, func(t *testing.T, conn client.Conn) {
		forbidden := client.Intercept(conn, func(_ context.Context, call client.Call, _ func(context.Context) error) error {
			return apierrors.NewForbidden(call.Resource.GroupResource(), "a", errors.New("no rights"))
		})
		_, err := wait.For(t.Context(), client.For[*corev1.ConfigMap](forbidden), key("a"), wait.Exists)
		require.True(t, apierrors.IsForbidden(err), "%v", err)
	})
}

// Random faults: every list and watch may fail, end, or be refused as too old. The wait ends all the same,
// and never before the object is as demanded.
func TestForSurvivesFaults(t *testing.T) {
	for _, seed := range seeds.Of(t, 20) {
		server(t, func(t *testing.T, good client.Conn) {
			r := seeds.Rand(seed)
			faulty := client.Intercept(good, func(ctx context.Context, call client.Call, send func(context.Context) error) error {
				switch r.IntN(5) {
				case 0:
					return apierrors.NewResourceExpired("the version is too old")
				case 1:
					return apierrors.NewInternalError(errors.New("injected"))
				case 2:
					return errors.New("connection reset by peer")
				}
				if call.Verb == "watch" {
					// The connection ends after a while, at no instant at which the object changes.
					inner, cancel := context.WithCancel(ctx)
					time.AfterFunc(time.Duration(r.IntN(300))*time.Second+time.Second/3, cancel)
					return send(inner)
				}
				return send(ctx)
			})
			maps := client.For[*corev1.ConfigMap](good)
			_, err := maps.Create(t.Context(), configMap("a", "0"))
			require.NoError(t, err)
			var reached atomic.Bool
			go func() {
				for i := range 30 {
					time.Sleep(time.Minute)
					_, _ = client.Update(t.Context(), maps, key("a"), func(cm *corev1.ConfigMap) error { cm.Data["k"] = fmt.Sprint(i); return nil })
				}
				reached.Store(true)
				_, _ = client.Update(t.Context(), maps, key("a"), func(cm *corev1.ConfigMap) error { cm.Data["k"] = "end"; return nil })
			}()
			ctx := backoff.WithJitter(t.Context(), seeds.Rand(seed).Float64)
			cm, err := wait.For(ctx, client.For[*corev1.ConfigMap](faulty), key("a"), wait.Path(".data.k", "end"))
			require.NoError(t, err, "seed %d", seed)
			require.True(t, reached.Load())
			require.Equal(t, "end", cm.Data["k"])
		})
	}
}

// A server that ends or refuses every watch at once, as one whose history is gone, is read again with growing
// pauses.
func TestForPausesBetweenWatches(t *testing.T) {
	server(t, func(t *testing.T, good client.Conn) {
		lists := 0
		broken := client.Intercept(good, func(ctx context.Context, call client.Call, send func(context.Context) error) error {
			if call.Verb == "watch" {
				return apierrors.NewResourceExpired("the version is too old")
			}
			lists++
			return send(ctx)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		_, err := wait.For(ctx, client.For[*corev1.ConfigMap](broken), key("a"), wait.Exists)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, lists, 200)
	})
}

// A check whose answer changes with time is repeated without an event.
func TestForRechecks(t *testing.T) {
	server(t, func(t *testing.T, conn client.Conn) {
		pods := client.For[*corev1.Pod](conn)
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		_, err := pods.Create(t.Context(), p)
		require.NoError(t, err)
		_, err = client.UpdateStatus(t.Context(), pods, key("p"), func(p *corev1.Pod) error {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable"}}
			return nil
		})
		require.NoError(t, err)
		begin := time.Now()
		_, err = wait.For(t.Context(), pods, key("p"), wait.ReadyOrFailed)
		var failed *wait.FailedError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, "PodUnschedulable", failed.Result.Reason)
		require.LessOrEqual(t, time.Since(begin), 16*time.Second)
	})
}

func TestChecks(t *testing.T) {
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "1", Generation: 2}}
	d.Status.Conditions = []appsv1.DeploymentCondition{{Type: "Available", Status: "False", Reason: "MinimumReplicasUnavailable", Message: "none"}}
	site := &metav1.Unstructured{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Fields: map[string]any{"status": map[string]any{"n": int64(3), "conditions": []any{
		map[string]any{"type": "Published", "status": "True", "observedGeneration": int64(1)}}}}}
	terminating := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "1", DeletionTimestamp: &metav1.Time{}, Finalizers: []string{"example.com/f"}}}
	for name, c := range map[string]struct {
		check wait.Check
		obj   metav1.Object
		want  string // empty: done
	}{
		"condition":                    {wait.Condition("Available", ""), d, "condition Available is False: MinimumReplicasUnavailable: none"},
		"condition that is false":      {wait.Condition("Available", "False"), d, ""},
		"no condition":                 {wait.Condition("Ready", ""), d, "it has no condition Ready"},
		"condition of an old spec":     {wait.Condition("Published", ""), site, "condition Published is of generation 1, and the object's is 2"},
		"condition of nothing":         {wait.Condition("Ready", ""), nil, "it does not exist"},
		"path":                         {wait.Path("{.status.n}", "3"), site, ""},
		"path to any value":            {wait.Path("status.n", ""), site, ""},
		"path to nothing":              {wait.Path(".status.m", ""), site, ".status.m leads to nothing"},
		"path of nothing":              {wait.Path(".status.m", ""), nil, "it does not exist"},
		"ready":                        {wait.Ready, d, "InProgress: Replicas: 0/1"},
		"ready or failed":              {wait.ReadyOrFailed, nil, "NotFound: Resource not found"},
		"deleted":                      {wait.Deleted, d, "it exists and is not being deleted"},
		"deleted with a finalizer":     {wait.Deleted, terminating, `it is being deleted and has the finalizers ["example.com/f"]`},
		"deleted, and another instead": {wait.DeletedUID(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "0"}}), terminating, ""},
		"deleted, the same":            {wait.DeletedUID(terminating), terminating, `it is being deleted and has the finalizers ["example.com/f"]`},
		"not":                          {wait.Not(wait.Exists), nil, ""},
		"not yet not":                  {wait.Not(wait.Exists), d, "it still is as before"},
		"all":                          {wait.All(wait.Exists, wait.Condition("Available", "False")), d, ""},
		"not all":                      {wait.All(wait.Exists, wait.Deleted), d, "it exists and is not being deleted"},
	} {
		err := c.check(c.obj)
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, c.want, name)
		var pending *wait.Pending
		require.ErrorAs(t, err, &pending, name)
	}
}

func TestServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, down := time.Now(), atomic.Bool{}
		s := clienttest.Start(t, clienttest.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			late := time.Since(begin) > time.Minute
			switch {
			case down.Load():
				http.Error(w, "down", http.StatusServiceUnavailable)
			case r.URL.Path == "/api":
				fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
			case r.URL.Path == "/apis" && late:
				fmt.Fprint(w, `{"kind":"APIGroupList","groups":[{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}]}`)
			case r.URL.Path == "/apis":
				fmt.Fprint(w, `{"kind":"APIGroupList","groups":[]}`)
			case strings.HasPrefix(r.URL.Path, "/apis/example.com"):
				fmt.Fprint(w, `{"kind":"APIResourceList","resources":[{"name":"websites","kind":"Website","namespaced":true,"verbs":["get"]}]}`)
			default:
				fmt.Fprint(w, `{"kind":"APIResourceList","resources":[]}`)
			}
		})})
		d := discovery.New(s.Conn(t, rest.Options{}), discovery.Options{})
		gk := schema.GroupKind{Group: "example.com", Kind: "Website"}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := wait.Served(ctx, d, gk)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "the server serves no kind Website.example.com")
		r, err := wait.Served(t.Context(), d, gk, "v1")
		require.NoError(t, err)
		require.Equal(t, "websites", r.GVR.Resource)
		require.LessOrEqual(t, time.Since(begin), 63*time.Second)
	})
}

func ExampleFor() {
	run := testing.InternalTest{Name: "example", F: func(t *testing.T) {
		conn, ctx := clienttest.Start(t, clienttest.Options{}).Conn(t, rest.Options{}), t.Context()
		maps := client.For[*corev1.ConfigMap](conn)
		go func() { _, _ = maps.Create(ctx, configMap("settings", "fast")) }()
		cm, err := wait.For(ctx, maps, key("settings"), wait.Path("{.data.k}", "fast"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(cm.Name)
		// A caller that waits no longer learns what the last state lacked.
		short, cancel := context.WithCancel(ctx)
		_, err = wait.For(short, maps, key("settings"), func(obj metav1.Object) error {
			defer cancel()
			return wait.Deleted(obj)
		})
		fmt.Println(err)
	}}
	testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{run})
	// Output:
	// settings
	// wait: ConfigMap default/settings: context canceled: it exists and is not being deleted
}
