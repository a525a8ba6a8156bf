package controllertest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store/authz"
)

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)}
}

// plainConn is a connection without retries: in process, or by TLS.
func plainConn(t *testing.T, c *controllertest.Cluster, byTLS bool, user ...client.User) client.Conn {
	var tr http.RoundTripper = c.RoundTripper(user...)
	if byTLS {
		tr = c.Transport(user...)
	}
	conn, err := rest.New(rest.Config{Host: controllertest.Host, Transport: tr}, rest.Options{Retries: -1})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// broken reports whether the connection broke before a response.
func broken(err error) bool {
	var status *apierrors.StatusError
	return err != nil && !errors.As(err, &status)
}

// Each effect, for clients in process and by TLS: what the client sees, and what the server has done.
func TestEffects(t *testing.T) {
	for name, tc := range map[string]struct {
		effect controllertest.Effect
		is     func(err error) bool
		done   bool
		after  time.Duration
	}{
		"fail":       {controllertest.Fail(apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("no"))), apierrors.IsForbidden, false, 0},
		"other":      {controllertest.Fail(errors.New("disk full")), apierrors.IsInternalError, false, 0},
		"conflict":   {controllertest.Conflict(), apierrors.IsConflict, false, 0},
		"expired":    {controllertest.Expired(), apierrors.IsResourceExpired, false, 0},
		"drop":       {controllertest.Drop(), broken, false, 0},
		"lost reply": {controllertest.LoseReply(), broken, true, 0},
		"delay":      {controllertest.Delay(time.Minute / 2), func(err error) bool { return err == nil }, true, time.Minute / 2},
	} {
		for _, byTLS := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " by TLS", false: ""}[byTLS], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := controllertest.Start(t, controllertest.Options{})
					conn := plainConn(t, c, byTLS)
					fault := c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"create"}, Resource: "configmaps"}, Effect: tc.effect})
					calls := c.Record(controllertest.Requests{Resource: "configmaps", Verbs: []string{"create"}})
					began := time.Now()
					_, err := client.For[*corev1.ConfigMap](conn).Create(t.Context(), configMap("a"))
					require.True(t, tc.is(err), "%v", err)
					require.Equal(t, tc.after, time.Since(began))
					require.Equal(t, 1, fault.Hits())
					require.Len(t, calls.Calls(), 1)
					fault.Remove()
					_, err = client.For[*corev1.ConfigMap](conn).Create(t.Context(), configMap("a"))
					require.Equal(t, tc.done, apierrors.IsAlreadyExists(err), "%v", err)
					require.Equal(t, !tc.done, err == nil)
				})
			})
		}
	}
}

// A watch that lags has everything, in order and late, and so have the others while it does; it ends with its
// client, and with a broken connection.
func TestLag(t *testing.T) {
	for _, byTLS := range []bool{false, true} {
		t.Run(fmt.Sprint("TLS ", byTLS), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := controllertest.Start(t, controllertest.Options{})
				q := controllertest.Requests{Verbs: []string{"watch"}, User: "ann"}
				c.Inject(controllertest.Fault{Requests: q, Effect: controllertest.Lag(time.Second)})
				set := informers.NewSet(plainConn(t, c, byTLS, client.User{Name: "ann", Groups: []string{"system:masters"}}), informers.SetOptions{})
				var mu sync.Mutex
				var list []string
				seen := func() []string {
					mu.Lock()
					defer mu.Unlock()
					return slices.Clone(list)
				}
				began := time.Now()
				maps := informers.For[*corev1.ConfigMap](set)
				maps.AddHandler(func(e informers.Event[*corev1.ConfigMap]) {
					if e.Key.Namespace == "default" && e.Key.Name != "kube-root-ca.crt" {
						mu.Lock()
						defer mu.Unlock()
						list = append(list, fmt.Sprintf("%s %s %v", e.Type, e.Key.Name, time.Since(began).Round(time.Millisecond)))
					}
				}, informers.HandlerOptions{})
				stop := c.Run(set)
				c.Sleep(10 * time.Second)
				controllertest.Create(c, configMap("a"))
				c.Sleep(100 * time.Millisecond)
				controllertest.Create(c, configMap("b"))
				c.Sleep(500 * time.Millisecond)
				controllertest.Delete[*corev1.ConfigMap](c, "default", "a")
				require.Empty(t, seen())
				c.Sleep(10 * time.Second)
				require.Equal(t, []string{"Added a 11s", "Added b 11.1s", "Deleted a 11.6s"}, seen())
				require.Equal(t, 1, c.Break(q))
				controllertest.Create(c, configMap("c"))
				c.Sleep(10 * time.Second)
				require.Len(t, seen(), 4)
				stop()
				c.Settle()
				require.Empty(t, c.Open(q))
			})
		})
	}
}

// Faults are selected by every field, skip and end; the latest one decides.
func TestFaultsAreSelected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		ann := client.User{Name: "ann", Groups: []string{"system:masters"}}
		maps := client.For[*corev1.ConfigMap](plainConn(t, c, false, ann))
		create := func(name string) error {
			_, err := maps.Create(t.Context(), configMap(name))
			return err
		}
		no := controllertest.Fail(apierrors.NewServiceUnavailable("no"))
		for _, other := range []controllertest.Requests{
			{Verbs: []string{"get", "update"}}, {Resource: "secrets"}, {Resource: "configmaps.apps"}, {Resource: "configmaps/status"},
			{Namespace: "kube-system"}, {Name: "other"}, {User: "bob"}, {Matches: func(authz.Attributes) bool { return false }},
		} {
			f := c.Inject(controllertest.Fault{Requests: other, Effect: no, Optional: true})
			require.NoError(t, create(string('a'+rune(len(controllertest.List[*corev1.ConfigMap](c, "default"))))), "%+v", other)
			require.Zero(t, f.Hits())
			f.Remove()
		}
		some := c.Inject(controllertest.Fault{Requests: controllertest.Requests{Resource: "configmaps.", User: "ann"}, Skip: 1, Times: 2, Effect: no})
		require.NoError(t, create("x1"))
		require.True(t, apierrors.IsServiceUnavailable(create("x2")))
		require.True(t, apierrors.IsServiceUnavailable(create("x3")))
		require.NoError(t, create("x4"))
		require.Equal(t, 2, some.Hits())

		c.Inject(controllertest.Fault{Requests: controllertest.Requests{Resource: "configmaps/*"}, Effect: no})
		latest := c.Inject(controllertest.Fault{Effect: controllertest.Conflict()})
		require.True(t, apierrors.IsConflict(create("y")))
		latest.Remove()
		require.True(t, apierrors.IsServiceUnavailable(create("y")))
	})
}

// A controller finishes its work despite lost replies, conflicts, an expired watch and a partition.
func TestControllersSurviveFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Seed: 5, As: client.User{Name: "operator", Groups: []string{"system:masters"}}, Controllers: []controllertest.Adder{addReplicaSets}})
		lost := c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"create"}, Resource: "pods"}, Skip: 1, Times: 2, Effect: controllertest.LoseReply()})
		conflict := c.Inject(controllertest.Fault{Requests: controllertest.Requests{Resource: "replicasets.apps/status"}, Times: 1, Effect: controllertest.Conflict()})
		controllertest.Create(c, replicaSet("web", 4))
		c.Sleep(5 * time.Minute)
		require.Equal(t, 2, lost.Hits())
		require.Equal(t, 1, conflict.Hits())
		require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 4)

		expired := c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"watch"}, Resource: "pods"}, Times: 1, Effect: controllertest.Expired()})
		require.Equal(t, 1, c.Break(controllertest.Requests{Resource: "pods"}))
		pod := controllertest.List[*corev1.Pod](c, "default")[0]
		controllertest.Delete[*corev1.Pod](c, "default", pod.Name)
		c.Sleep(5 * time.Minute)
		require.Equal(t, 1, expired.Hits())
		require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 4)

		apart := c.Partition(controllertest.Requests{User: "operator"})
		controllertest.Update(c, "default", "web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(6)) })
		c.Sleep(time.Minute)
		require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 4)
		apart.Remove()
		c.Sleep(5 * time.Minute)
		require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 6)
	})
}

// Requests are held until they are released, or their clients give up.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		maps := client.For[*corev1.ConfigMap](plainConn(t, c, false))
		held := c.Hold(controllertest.Requests{Verbs: []string{"create"}, Resource: "configmaps"})
		done := make(chan error, 2)
		go func() {
			_, err := maps.Create(t.Context(), configMap("a"))
			done <- err
		}()
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := maps.Create(ctx, configMap("b"))
			done <- err
		}()
		synctest.Wait()
		require.Equal(t, 2, held.Waiting())
		require.ErrorIs(t, <-done, context.DeadlineExceeded)
		synctest.Wait()
		require.Equal(t, 1, held.Waiting())
		require.Empty(t, controllertest.List[*corev1.ConfigMap](c, "default"))
		held.Release()
		require.NoError(t, <-done)
		require.Len(t, controllertest.List[*corev1.ConfigMap](c, "default"), 1)
		held.Release()
		require.Zero(t, held.Waiting())
	})
}

// A manager that stops leaves no watch open.
func TestOpenWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		operator := client.User{Name: "operator", Groups: []string{"system:masters"}}
		stop := c.Run(c.ManagerOver(c.Conn(operator), "operator", addReplicaSets))
		c.Sleep(time.Minute)
		of := controllertest.Requests{User: "operator"}
		open := c.Open(of)
		require.Len(t, open, 2)
		require.Regexp(t, `^operator \(.+\) pods$`, open[0])
		require.Regexp(t, `^operator \(.+\) replicasets\.apps$`, open[1])
		require.Len(t, c.Open(controllertest.Requests{User: "operator", Resource: "pods"}), 1)
		stop()
		c.Settle()
		require.Empty(t, c.Open(of))
	})
}

// The rights that a run needed are the least role: a run with it succeeds, and without any rule of it rights
// are missing.
func TestLeastRules(t *testing.T) {
	run := func(t *testing.T, rules []rbacv1.PolicyRule) (calls []controllertest.Call, pods int) {
		synctest.Test(t, func(t *testing.T) {
			o := controllertest.Options{As: client.User{Name: "operator"}}
			if rules == nil {
				o.As.Groups = []string{"system:masters"}
			}
			c := controllertest.Start(t, o)
			recording := c.Record(controllertest.Requests{User: "operator"})
			c.Run(c.Manager("operator", addReplicaSets)) // after the recording has begun
			if rules != nil {
				role := &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", "operator"), Rules: rules}
				controllertest.Create(c, role)
				controllertest.Create(c, &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupVersion.Group, Kind: "User", Name: "operator"}},
					RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: "ClusterRole", Name: "operator"}})
			}
			c.Sleep(10 * time.Minute)
			controllertest.Create(c, replicaSet("web", 2))
			c.Sleep(10 * time.Minute)
			pods = len(controllertest.List[*corev1.Pod](c, "default"))
			calls = recording.Calls()
		})
		return calls, pods
	}
	calls, pods := run(t, nil)
	require.Equal(t, 2, pods)
	least := controllertest.LeastRules(calls)
	require.NotEmpty(t, least)
	missing, unused := controllertest.CompareRules(least, calls)
	require.Empty(t, missing)
	require.Empty(t, unused)
	_, pods = run(t, least)
	require.Equal(t, 2, pods)

	_, unused = controllertest.CompareRules(append(least, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}), calls)
	require.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}, unused)
	for i := range least {
		missing, _ = controllertest.CompareRules(append(least[:i:i], least[i+1:]...), calls)
		require.NotEmpty(t, missing, "without %+v", least[i])
	}
	created := controllertest.Call{Attributes: authz.Attributes{Verb: "patch", ResourceRequest: true, Resource: "configmaps", Name: "a"}, Code: http.StatusCreated}
	require.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "patch"}}}, controllertest.LeastRules([]controllertest.Call{created}))
	missing, _ = controllertest.CompareRules([]rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"b"}, Verbs: []string{"*"}}}, []controllertest.Call{created})
	require.Len(t, missing, 2)
}

// A fault that applied to nothing fails the test, with the most similar requests.
func TestUnusedFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		c := controllertest.Start(r, controllertest.Options{})
		never := controllertest.Conflict()
		c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"update"}, Resource: "configmap", Name: "a"}, Effect: never})
		c.Inject(controllertest.Fault{Requests: controllertest.Requests{Resource: "secrets"}, Effect: never, Optional: true})
		c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"create"}, Resource: "configmaps"}, Skip: 5, Effect: never})
		controllertest.Create(c, configMap("a"))
		controllertest.Update(c, "default", "a", func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"k": "v"} })
		c.Partition(controllertest.Requests{User: "nobody"})
		require.NoError(t, c.Close())
		require.Len(t, r.errors, 3)
		require.Contains(t, r.errors[0], "the fault of update configmap a has applied to no request; the most similar were: update configmaps default/a by kubernetes-admin; get configmaps default/a by kubernetes-admin")
		require.Contains(t, r.errors[1], "the fault of create configmaps has applied to no request: 1 matched, and it skips 5")
		require.Contains(t, r.errors[2], "the fault of requests by nobody has applied to no request: there were none while it was injected")
	})
}
