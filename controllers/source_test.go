package controllers_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// seen is a reconciler that notes its requests.
type seen struct {
	mu   sync.Mutex
	keys []string
}

func (s *seen) Reconcile(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, req.String())
	return reconcile.Result{}, nil
}

// take returns the requests since it was last called.
func (s *seen) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := s.keys
	s.keys = nil
	return keys
}

// preserving lets Websites hold what the Go type cannot.
func preserving(t *testing.T, opts controllertest.Options) *controllertest.Cluster {
	s, err := withWebsites()
	require.NoError(t, err)
	opts.CRDs, opts.Scheme = os.DirFS("testdata/loose"), s
	return controllertest.Start(t, opts)
}

// An owned object that cannot be decoded still causes a request for its owner, and passes predicates that
// would have to decode it.
func TestUndecodableObjectsReachTheirOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var owners, sites seen
		c := preserving(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			if _, err := controllers.Add(m, "owners", &owners, controllers.Options{}, controllers.Owns[*corev1.ConfigMap, *Website]()); err != nil {
				return err
			}
			_, err := controllers.Add(m, "sites", &sites, controllers.Options{}, controllers.For[*Website](controllers.AnnotationsChanged[*Website]))
			return err
		}}})
		owner := controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "owner")})
		other := controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "other")})
		bad := &metav1.Unstructured{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Website"}, ObjectMeta: controllertest.Name("default", "bad"),
			Fields: map[string]any{"spec": map[string]any{"replicas": "many"}}}
		refer := func(cm *corev1.ConfigMap) []metav1.OwnerReference {
			return []metav1.OwnerReference{metav1.NewControllerRef(cm, corev1.GroupVersion.WithKind("ConfigMap"))}
		}
		bad.OwnerReferences = refer(owner)
		api := dynamic.For(c.Admin(), websiteKind.GroupVersion().WithResource("websites"))
		bad, err := api.Create(t.Context(), bad)
		require.NoError(t, err)
		c.Settle()
		require.Equal(t, []string{"default/owner"}, owners.take())
		require.Equal(t, []string{"default/bad"}, sites.take())

		bad.OwnerReferences = refer(other)
		bad, err = api.Update(t.Context(), bad)
		require.NoError(t, err)
		c.Settle()
		require.ElementsMatch(t, []string{"default/owner", "default/other"}, owners.take(), "who lost it and who got it")
		require.Equal(t, []string{"default/bad"}, sites.take(), "whether annotations changed cannot be known")
		require.NoError(t, api.Delete(t.Context(), metav1.KeyOf(bad)))
		c.Settle()
		require.Equal(t, []string{"default/other"}, owners.take())
	})
}

// Owners are matched by group and kind, not by version; only the controlling owner counts.
func TestOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var owners seen
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			_, err := controllers.Add(m, "owners", &owners, controllers.Options{}, controllers.Owns[*appsv1.Deployment, *corev1.ConfigMap]())
			return err
		}}})
		for name, ref := range map[string]metav1.OwnerReference{
			"same":    {APIVersion: "apps/v1", Kind: "Deployment", Name: "yes", UID: "1", Controller: new(true)},
			"older":   {APIVersion: "apps/v1beta1", Kind: "Deployment", Name: "old", UID: "1", Controller: new(true)},
			"group":   {APIVersion: "extensions/v1", Kind: "Deployment", Name: "no", UID: "1", Controller: new(true)},
			"kind":    {APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "no", UID: "1", Controller: new(true)},
			"another": {APIVersion: "apps/v1", Kind: "Deployment", Name: "no", UID: "1"},
		} {
			cm := &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)}
			cm.OwnerReferences = []metav1.OwnerReference{ref}
			controllertest.Create(c, cm)
		}
		c.Settle()
		require.ElementsMatch(t, []string{"default/yes", "default/old"}, owners.take())
	})
}

// An informer of the caller's choice feeds a controller: metadata only, and one namespace only.
func TestFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got, owners, some seen
		secrets := client.Resource{GVR: corev1.GroupVersion.WithResource("secrets"), GVK: corev1.GroupVersion.WithKind("Secret"), Namespaced: true, Metadata: true}
		var lister informers.Lister[*metav1.PartialObjectMetadata]
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			meta := informers.ForResource[*metav1.PartialObjectMetadata](m.Informers(), secrets)
			lister = meta.Lister()
			add := func(name string, r reconcile.Reconciler[reconcile.Request], s controllers.Source) {
				_, err := controllers.Add(m, name, r, controllers.Options{}, s)
				require.NoError(t, err)
			}
			add("secrets", &got, controllers.From(meta, controllers.Self, controllers.LabelsChanged))
			add("owners", &owners, controllers.From(meta, controllers.Owner[*metav1.PartialObjectMetadata](corev1.GroupVersion.WithKind("Node").GroupKind(), false)))
			add("some", &some, controllers.From(informers.For(m.Informers(), informers.Options[*corev1.Secret]{Namespaces: []string{"kube-system"}}), controllers.Self))
			return nil
		}}})
		secret := &corev1.Secret{ObjectMeta: controllertest.Name("default", "s"), Data: map[string][]byte{"password": []byte("x")}}
		secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "node-1", UID: "1", Controller: new(true)}}
		controllertest.Create(c, secret)
		controllertest.Create(c, &corev1.Secret{ObjectMeta: controllertest.Name("kube-system", "t")})
		c.Settle()
		require.ElementsMatch(t, []string{"default/s", "kube-system/t"}, got.take())
		require.Equal(t, []string{"/node-1"}, owners.take())
		require.Equal(t, []string{"kube-system/t"}, some.take())
		controllertest.Update(c, "default", "s", func(s *corev1.Secret) { s.Data["password"] = []byte("y") })
		c.Settle()
		require.Empty(t, got.take(), "no label changed")
		m, err := lister.Get(types.NamespacedName{Namespace: "default", Name: "s"})
		require.NoError(t, err)
		require.Equal(t, "Secret", m.Kind)
	})
}

// A source that is blocked while more happens than it can hold looks at all objects again afterwards, as do
// the other sources of its controller, and no predicate keeps it from that.
func TestSourcesLookAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		gate, busy := make(chan struct{}), make(chan struct{})
		enter, leave := sync.OnceFunc(func() { close(busy) }), sync.OnceFunc(func() { close(gate) })
		t.Cleanup(leave)
		r := &seen{}
		m := c.Manager("m", func(m *manager.Manager) error {
			never := func(e informers.Event[*corev1.Namespace]) bool { return e.Initial }
			_, err := controllers.Add(m, "looks", r, controllers.Options{}, controllers.For(never), controllers.Watches(func(e informers.Event[*corev1.ConfigMap]) []reconcile.Request {
				if e.Key.Name == "changes" && e.Type == informers.Updated {
					enter()
					<-gate
				}
				return nil
			}))
			return err
		})
		c.Run(m)
		maps := client.For[*corev1.ConfigMap](m.Conn())
		changes, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "changes")})
		require.NoError(t, err)
		c.Settle()
		require.Contains(t, r.take(), "/default", "initial objects")
		for i := range 4200 {
			changes.Data = map[string]string{"i": strconv.Itoa(i)}
			changes, err = maps.Update(t.Context(), changes)
			require.NoError(t, err)
			if i == 0 {
				<-busy
			}
			time.Sleep(time.Millisecond) // the watch delivers it; Settle would find the handler blocked
			synctest.Wait()
			_, err := informers.For[*corev1.ConfigMap](m.Informers()).Lister().Get(metav1.KeyOf(changes))
			require.NoError(t, err)
		}
		require.Empty(t, r.take())
		leave()
		c.Settle()
		require.Contains(t, r.take(), "/default")
		c.Sleep(time.Hour)
		require.Empty(t, r.take(), "once")
	})
}

// Wrong calls are refused when the controller is added, with what to do instead.
func TestAddRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := manager.New(c.Admin(), manager.Options{})
		var r seen
		for want, add := range map[string]func() error{
			"controllers: c has no sources: pass at least controllers.For[T]()": func() error {
				_, err := controllers.Add(m, "c", &r, controllers.Options{})
				return err
			},
			"controllers: the reconciler of c must not be nil": func() error {
				_, err := controllers.Add[reconcile.Request](m, "c", nil, controllers.Options{}, controllers.For[*corev1.Pod]())
				return err
			},
			"controllers: c: the source of Pod has a nil function": func() error {
				_, err := controllers.Add(m, "c", &r, controllers.Options{}, controllers.Watches[*corev1.Pod, reconcile.Request](nil))
				return err
			},
			"controllers: c: *metav1.PartialObjectMetadata does not identify a resource: use controllers.From": func() error {
				_, err := controllers.Add(m, "c", &r, controllers.Options{}, controllers.For[*metav1.PartialObjectMetadata]())
				return err
			},
			"controllers: c: scheme: *controllers_test.Website is not registered: call scheme.Add[*controllers_test.Website]": func() error {
				_, err := controllers.Add(m, "c", &r, controllers.Options{}, controllers.Owns[*Website, *corev1.Pod]())
				return err
			},
		} {
			require.ErrorContains(t, add(), want)
		}
	})
}

// A kind that is not installed keeps no controller from working, not even the one that watches it, which
// hears of its objects once it is.
func TestAMissingKindDoesNotBlockOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := withWebsites()
		require.NoError(t, err)
		var both, maps seen
		c := controllertest.Start(t, controllertest.Options{Scheme: s, Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			if _, err := controllers.Add(m, "both", &both, controllers.Options{}, controllers.For[*corev1.Node](), controllers.For[*Website]()); err != nil {
				return err
			}
			_, err := controllers.Add(m, "maps", &maps, controllers.Options{}, controllers.For[*corev1.Node]())
			return err
		}}})
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "n")})
		c.Sleep(time.Second)
		require.Equal(t, []string{"/n"}, both.take())
		require.Equal(t, []string{"/n"}, maps.take())
		loose, err := os.ReadFile("testdata/loose/websites.yaml")
		require.NoError(t, err)
		require.NoError(t, createDefinition(t.Context(), c, loose))
		c.Sleep(time.Minute)
		controllertest.Create(c, &Website{ObjectMeta: controllertest.Name("default", "late")})
		c.Settle()
		require.Equal(t, []string{"default/late"}, both.take())
		require.Empty(t, maps.take())
	})
}

func createDefinition(ctx context.Context, c *controllertest.Cluster, manifest []byte) error {
	_, err := c.Admin().Do(ctx, &client.Request{Method: "POST", Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Body: manifest, ContentType: "application/yaml"})
	return err
}

// Several clusters are several managers, one inside another: a member joins and leaves while the program
// runs, and its controller writes to the hub under the member's name.
func TestSeveralClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := controllertest.Start(t, controllertest.Options{})
		m := manager.New(hub.Conn(), manager.Options{})
		hub.Run(m)
		join := func(name string) (*controllertest.Cluster, context.CancelFunc) {
			c := controllertest.Start(t, controllertest.Options{})
			member := manager.New(c.Conn(), manager.Options{})
			nodes := informers.For[*corev1.Node](member.Informers())
			mirror := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				to := types.NamespacedName{Namespace: "default", Name: name + "-" + req.Name}
				there, err := nodes.Lister().Has(req)
				if err != nil {
					return reconcile.Result{}, err
				}
				if !there {
					return reconcile.Result{}, apierrors.IgnoreNotFound(client.For[*corev1.ConfigMap](m.Conn()).Delete(ctx, to))
				}
				_, err = client.For[*corev1.ConfigMap](m.Conn()).Apply(ctx, &corev1.ConfigMap{ObjectMeta: controllertest.Name(to.Namespace, to.Name)}, client.ApplyOptions{FieldManager: name})
				return reconcile.Result{}, err
			})
			_, err := controllers.Add(member, "mirror", mirror, controllers.Options{}, controllers.From(nodes, controllers.Self))
			require.NoError(t, err)
			ctx, leave := context.WithCancel(t.Context())
			m.Add(name, manager.Func(func(whole context.Context) error {
				defer context.AfterFunc(whole, leave)()
				return member.Run(ctx)
			}))
			return c, leave
		}
		a, leave := join("a")
		b, _ := join("b")
		for _, c := range []*controllertest.Cluster{a, b} {
			controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "n")})
			c.Settle()
		}
		has := func(name string) bool {
			hub.Settle()
			return controllertest.Exists[*corev1.ConfigMap](hub, "default", name)
		}
		require.True(t, has("a-n") && has("b-n"))
		leave()
		synctest.Wait()
		for _, c := range []*controllertest.Cluster{a, b} {
			controllertest.Delete[*corev1.Node](c, "", "n")
			c.Settle()
		}
		require.True(t, has("a-n"), "it is not watched by this controller")
		require.False(t, has("b-n"))
	})
}

// Of kinds without generations GenerationChanged passes every change; of the others, changes of the desired
// state only.
func TestGenerationChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := map[string]int{}
		got := func() map[string]int {
			mu.Lock()
			defer mu.Unlock()
			return maps.Clone(seen)
		}
		count := func(kind string) reconcile.Reconciler[reconcile.Request] {
			return reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				if req.Name == "a" {
					seen[kind]++
				}
				return reconcile.Result{}, nil
			})
		}
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			_, err := controllers.Add(m, "maps", count("maps"), controllers.Options{}, controllers.For(controllers.GenerationChanged[*corev1.ConfigMap]))
			_, err2 := controllers.Add(m, "budgets", count("budgets"), controllers.Options{}, controllers.For(controllers.GenerationChanged[*policyv1.PodDisruptionBudget]))
			return errors.Join(err, err2)
		}}})
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")})
		controllertest.Create(c, &policyv1.PodDisruptionBudget{ObjectMeta: controllertest.Name("default", "a")})
		c.Settle()
		controllertest.Update(c, "default", "a", func(m *corev1.ConfigMap) { m.Data = map[string]string{"b": "c"} })
		controllertest.Update(c, "default", "a", func(b *policyv1.PodDisruptionBudget) { b.Labels = map[string]string{"b": "c"} })
		c.Settle()
		require.Equal(t, map[string]int{"maps": 2, "budgets": 1}, got())
		controllertest.Update(c, "default", "a", func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = new(intstr.FromInt32(1)) })
		c.Settle()
		require.Equal(t, map[string]int{"maps": 2, "budgets": 2}, got())
	})
}

// TestPredicates: which of a creation, changes and the deletion of one object each predicate passes.
func TestPredicates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := manager.New(c.Conn(), manager.Options{})
		var mu sync.Mutex // the controllers filter side by side
		passed := map[string]string{}
		var step string
		note := func(name string, p controllers.Predicate[*corev1.ConfigMap]) {
			sieve := func(e informers.Event[*corev1.ConfigMap]) bool {
				if e.Key.Name == "x" && p(e) {
					mu.Lock()
					defer mu.Unlock()
					passed[name] += step
				}
				return false
			}
			_, err := controllers.Add(m, name, &seen{}, controllers.Options{}, controllers.For(sieve))
			require.NoError(t, err)
		}
		note("labels", controllers.LabelsMatch[*corev1.ConfigMap](labels.MustParse("app=web")))
		note("matching", controllers.Matching(func(cm *corev1.ConfigMap) bool { return cm.Annotations["on"] == "yes" }))
		note("field", controllers.FieldChanged(func(cm *corev1.ConfigMap) string { return cm.Data["k"] }))
		c.Run(m)
		c.Settle()
		step = "c"
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "x")})
		c.Settle()
		for _, change := range []struct {
			step string
			edit func(*corev1.ConfigMap)
		}{
			{"1", func(cm *corev1.ConfigMap) { cm.Labels = map[string]string{"app": "web"} }},
			{"2", func(cm *corev1.ConfigMap) { cm.Annotations = map[string]string{"on": "yes"} }},
			{"3", func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"k": "v"} }},
			{"4", func(cm *corev1.ConfigMap) { cm.Labels["app"] = "db" }},
			{"5", func(cm *corev1.ConfigMap) { delete(cm.Annotations, "on") }},
			{"6", func(cm *corev1.ConfigMap) { cm.Data["other"] = "v" }},
		} {
			step = change.step
			controllertest.Update(c, "default", "x", change.edit)
			c.Settle()
		}
		step = "d"
		controllertest.Delete[*corev1.ConfigMap](c, "default", "x")
		c.Settle()
		require.Equal(t, map[string]string{"labels": "1234", "matching": "2345", "field": "c3d"}, passed)
	})
}
