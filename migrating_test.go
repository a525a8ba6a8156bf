package keelson_test

import (
	"context"
	"go/scanner"
	"go/token"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionv1"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/diff"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/markers"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/readiness"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/applyset"
	"github.com/keelson-dev/keelson/client/certificate"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/delegated"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/objects"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/client/stream"
	"github.com/keelson-dev/keelson/client/wait"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/clustersecrets"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/health"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/controllers/profiles"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/controllers/webhook"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
	"github.com/keelson-dev/keelson/workqueue"
)

// TestMigratingCompiles: the code in the right-hand columns of MIGRATING.md and docs/upstream-names.md occurs
// in the functions below and in those of migrating_names_test.go, which are compiled and not run.
func TestMigratingCompiles(t *testing.T) {
	for _, document := range []struct{ name, source string }{{"MIGRATING.md", "migrating_test.go"}, {"docs/upstream-names.md", "migrating_names_test.go"}} {
		text, err := os.ReadFile(document.source)
		require.NoError(t, err)
		compiled := withoutSpace(text)
		prose, _ := readMarkdown(t, document.name)
		span := regexp.MustCompile("`([^`]+)`")
		rows := 0
		for _, line := range prose {
			cells := strings.Split(line, " | ")
			if len(cells) != 2 || !strings.HasPrefix(line, "| ") {
				continue
			}
			rows++
			for _, m := range span.FindAllStringSubmatch(cells[1], -1) {
				if code := withoutSpace([]byte(m[1])); !strings.Contains(compiled, code) {
					t.Errorf("%s: %s does not occur in %s", document.name, m[1], document.source)
				}
			}
		}
		require.Greater(t, rows, 60)
	}
}

// withoutSpace is Go source without comments and white space.
func withoutSpace(src []byte) string {
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", -1, len(src)), src, func(token.Position, string) {}, 0)
	var out strings.Builder
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return out.String()
		case tok == token.SEMICOLON && lit == "\n":
		case lit != "":
			out.WriteString(lit + " ")
		default:
			out.WriteString(tok.String() + " ")
		}
	}
}

func use(...any) {}

func migrateConnecting() {
	fn, user := func(rest.Warning) {}, client.User{Name: "jane"}
	cfg, err := kubeconfig.Load(kubeconfig.Options{})
	use(kubeconfig.InCluster())
	use(err)
	conn, err := rest.New(cfg, rest.Options{})
	use(err)
	use(rest.Options{QPS: 20, Burst: 30}, cfg.Wrap, cfg.Dial, cfg.Timeout, cfg.UserAgent, cfg.Impersonate)
	use(client.Impersonate(conn, user))
	use(rest.Options{Warnings: fn})
	use(rest.Options{CBOR: cbor.Transcoder{}})
	file, err := kubeconfig.LoadFile("config")
	use(file.WriteFile("config"), file.Flatten(), kubeconfig.Merge(file), err)
	use(file.Minify("context"))
	use(certificate.New(certificate.Options{}))
}

func migrateObjects(ctx context.Context, conn *rest.Conn, key types.NamespacedName, pod *corev1.Pod, deployment *appsv1.Deployment, b *corev1.Binding, gvr schema.GroupVersionResource, ns string, data []byte) {
	pods := client.For[*corev1.Pod](conn)
	use(client.For[*corev1.Pod](conn).Get(ctx, key, client.GetOptions{}))
	use(pods.List(ctx, client.ListOptions{Namespace: ns, LabelSelector: labels.MustParse("app=web")}))
	for pod, err := range pods.All(ctx, client.ListOptions{}) {
		use(pod, err)
	}
	use(&client.PartialError{}, &client.DecodeError{})
	for ev, err := range pods.Watch(ctx, client.WatchOptions{}) {
		use(ev, err)
		break
	}
	use(pods.Create(ctx, pod, client.CreateOptions{}))
	use(pods.Update(ctx, pod, client.UpdateOptions{}))
	use(pods.UpdateStatus(ctx, pod, client.UpdateOptions{}))
	use(pods.Delete(ctx, key, client.DeleteOptions{}))
	use(pods.DeleteCollection(ctx, client.ListOptions{Namespace: ns}, client.DeleteOptions{}))
	use(pods.Patch(ctx, key, client.Patch{Type: types.MergePatchType, Data: data}, client.PatchOptions{}))
	use(pods.Apply(ctx, pod, client.ApplyOptions{FieldManager: "me"}))
	use(client.Extract(pod, "me", ""))
	use(managedfields.UpgradePatch(pod, []string{"kubectl"}, "me", ""))
	deployments := client.For[*appsv1.Deployment](conn)
	use(client.Subresource[*autoscalingv1.Scale](deployments, "scale"), dynamic.Scale(conn, gvr))
	use(client.Subresource[*corev1.Binding](pods, "binding").Create(ctx, key, b, client.CreateOptions{}))
	use(conn.Do(ctx, &client.Request{Path: "/version"}))
	use(client.For[*authorizationv1.SelfSubjectAccessReview](conn).Create)
	use(client.Update(ctx, pods, key, func(p *corev1.Pod) error { p.Labels["a"] = "b"; return nil }))
	use(client.Retry(ctx, client.RetryPolicy{}, func(ctx context.Context) error { return nil }))
	use(client.CreateOrUpdate(ctx, pods, pod, func(p *corev1.Pod) error { return nil }))
	cached := informers.For[*corev1.Pod](informers.NewSet(conn, informers.SetOptions{})).Lister().Reader()
	use(client.CreateOrUpdate(ctx, pods, pod, func(p *corev1.Pod) error { return nil }, cached))
	use(client.PatchFrom(ctx, pods, pod, pod, client.PatchFromOptions{Strategic: true, Lock: true}))
	use(client.PatchBetween(pod, pod, client.PatchFromOptions{}))
	use(client.WithFieldManager(conn, "me"), client.Intercept, client.WithFieldValidation(conn, "Strict"), client.DryRun(conn))
	use(client.Reader[*corev1.Pod](pods), client.Writer[*corev1.Pod](pods))
	use(client.AddFinalizer(ctx, pods, pod, "example.com/f"))
	use(client.RemoveFinalizer(ctx, pods, pod, "example.com/f"))
	use(client.GetOrCreate(ctx, pods, pod))
	use(dynamic.For(conn, gvr), dynamic.Metadata(conn, gvr))
	use(apierrors.IsNotFound(nil), apierrors.IgnoreNotFound(nil))
	disc := discovery.New(conn, discovery.Options{})
	use(disc.ForKind, disc.ForResource, disc.OpenAPI, disc.Schema)
	use(disc.Find(ctx, "deploy"))
	use(codec.DeepCopy(pod))
	use(metav1.AddFinalizer, metav1.RemoveFinalizer, metav1.HasFinalizer, metav1.SetCondition)
	use(metav1.ConditionIs(nil, "Ready", metav1.ConditionTrue))
	use(deployment)
}

func migrateTogether(ctx context.Context, conn *rest.Conn, key types.NamespacedName, pod *corev1.Pod, before, after metav1.Object, ns string, f func(context.Context, *corev1.Pod) error) {
	pods := client.For[*corev1.Pod](conn)
	use(client.InNamespace(conn, ns))
	opts := client.ApplyOptions{FieldManager: "me"}
	all := objects.New(conn, objects.Options{})
	read, err := manifest.ReadFS(os.DirFS("config"))
	use(err)
	objs := objects.List(read)
	use(all.ApplyAll(ctx, objs, opts))
	set := applyset.New(all, applyset.Options{})
	use(set.Apply(ctx, objs))
	use(set.Diff(ctx, objs))
	use(all.Diff(ctx, pod, opts))
	changes, err := diff.Objects(before, after, diff.Options{})
	use(diff.Text(changes), err)
	use(wait.For(ctx, pods, key, wait.Ready))
	use(readiness.Of(pod))
	var cleanup controllers.Finalizers[*corev1.Pod]
	use(cleanup.Add("example.com/f", f))
	_, _, _ = cleanup.Run(ctx, pods, pod)
}

func migrateStreams(ctx context.Context, conn *rest.Conn, key types.NamespacedName, obj *corev1.Pod) {
	use(stream.Exec(ctx, conn, key, stream.Options{}))
	use(stream.Forward(ctx, conn, key, stream.Auto))
	use(stream.Logs(ctx, conn, key, stream.LogOptions{}))
	use(stream.LogLines(ctx, conn, key, stream.LogOptions{}))
	rec := events.New(conn, events.Options{Component: "me"})
	go func() { use(rec.Run(ctx)) }()
	rec.Eventf(obj, events.Normal, "Reason", "...")
	use(events.Reference(conn.Scheme(), obj))
}

func migrateInformers(ctx context.Context, conn *rest.Conn, key types.NamespacedName, gvr schema.GroupVersionResource, ns, version string) {
	set := informers.NewSet(conn, informers.SetOptions{})
	informer := informers.For[*corev1.Pod](set, informers.Options[*corev1.Pod]{})
	use(informers.ForResource[*metav1.Unstructured](set, dynamic.Resource(conn, gvr), informers.Options[*metav1.Unstructured]{}))
	reg := informer.AddHandler(func(ev informers.Event[*corev1.Pod]) { use(ev.StateUnknown, ev.New(), ev.Old()) }, informers.HandlerOptions{})
	byNode := informers.DefineIndex("node", func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} })
	use(informer.Index(byNode).List("node-1"))
	lister := informer.Lister()
	use(lister.Get(key))
	use(lister.View(key, func(p *corev1.Pod) { use(p.Name) }))
	use(lister.List(informers.ListOptions{Namespace: ns, LabelSelector: labels.MustParse("app=web")}))
	go func() { use(set.Run(ctx)) }()
	use(set.WaitForSync(ctx))
	use(informers.Options[*corev1.Pod]{Transform: func(p *corev1.Pod) error { p.Spec.Volumes = nil; return nil }})
	use(set.Conn(), lister.AtLeast(ctx, version))
	use(informers.SetOptions{OnError: func(resource string, err error) {}})
	use(informers.SetOptions{DetectMutations: true, VerifyEvery: time.Hour}, informer.Verify(ctx))
	reg.Remove()
	use(reg.HasSynced(), reg.Synced(), reg.Err())
	use(reg.Backlog())
	use(informers.HandlerOptions{MaxBacklog: 1000, EndSlow: true})
	use(lister.Version(), informer.Status())
}

func migrateLeading(ctx context.Context, conn *rest.Conn, key types.NamespacedName, lead func(ctx context.Context) error) {
	use(workqueue.New(workqueue.Options[types.NamespacedName]{}))
	elector, err := leaderelection.New(leaselock.New(conn, key, leaselock.Options{}), leaderelection.Options{})
	use(elector.Run(ctx, lead), err)
	use(leaderelection.Options{OnNewLeader: func(identity string) {}})
	use(elector.Healthy(10*time.Second), elector.Fenced())
}

func migrateManager(ctx context.Context, conn *rest.Conn, key types.NamespacedName, s *scheme.Scheme, owner *corev1.ConfigMap, elector *leaderelection.Elector, runnable manager.Runnable, add controllertest.Adder) error {
	use(manager.New(conn, manager.Options{Lease: key}))
	use(manager.Options{Elector: elector, Election: leaderelection.Options{}})
	m := manager.New(conn, manager.Options{Elector: elector})
	use(m.LeaderElector(), manager.Options{Elector: elector})
	use(controllers.LabelsMatch[*corev1.Pod], controllers.Matching[*corev1.Pod], controllers.AnnotationsChanged[*corev1.Pod], controllers.FieldChanged[*corev1.Pod, string])
	use(func(c *controller.Controller[reconcile.Request], req reconcile.Request) {
		use(c.Explain(req), &controller.PanicError{})
	})
	fleet := controllers.NewClusters(m, controllers.ClustersOptions{})
	ofClusters := fleet.Reconciler(func(_ context.Context, cluster *controllers.Cluster, _ reconcile.Request) (reconcile.Result, error) {
		use(controllers.ListerIn[*corev1.ConfigMap](cluster))
		return reconcile.Result{}, nil
	})
	use(func(reconcile.Reconciler[controllers.ClusterRequest]) {}, controllers.Add[controllers.ClusterRequest], controllers.Watches[*corev1.Pod, controllers.ClusterRequest],
		reconcile.Func[controllers.ClusterRequest], controllers.Channel[controllers.ClusterRequest])
	use(ofClusters, controllers.InClusters(fleet, controllers.For[*corev1.ConfigMap]()), fleet.Names())
	_, _ = fleet.Engage("member", conn)
	_, _ = fleet.Disengage(ctx, "member")
	_, _ = fleet.Get("member")
	byType := []informers.TypeCache{informers.CacheOf(informers.Options[*corev1.Pod]{})}
	cache := informers.Cache{Namespaces: []string{"shop"}, Types: byType}
	set := informers.SetOptions{Cache: cache}
	use(manager.Options{Informers: set})
	_, _ = m.Remove(ctx, "website")
	informers.For[*corev1.Pod](m.Informers()).Release()
	lister := informers.For[*corev1.ConfigMap](m.Informers(), informers.Options[*corev1.ConfigMap]{}).Lister()
	r := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		reconcile.Logger(ctx).Info("reconciling")
		return reconcile.Result{RequeueAfter: time.Minute}, reconcile.TerminalError(nil)
	})
	_, err := controllers.Add(m, "configs", r, controllers.Options{},
		controllers.For[*corev1.ConfigMap](controllers.GenerationChanged[*corev1.ConfigMap]),
		controllers.Owns[*corev1.ConfigMap, *appsv1.Deployment](),
		controllers.Watches(func(ev informers.Event[*corev1.Secret]) []reconcile.Request { return nil }),
		controllers.Channel(make(chan reconcile.Request)))
	use(controllers.Not(controllers.GenerationChanged[*corev1.Pod]), controllers.Any(controllers.LabelsChanged[*corev1.Pod]))
	informer := informers.For[*corev1.Pod](m.Informers(), informers.Options[*corev1.Pod]{})
	use(controllers.From(informer, controllers.Self), lister, err)
	use(controllers.Owner[*corev1.Pod](schema.GroupKind{Group: "apps", Kind: "Deployment"}, true))
	use(controllers.AddOwner, controllers.RemoveOwner)
	use(controllers.Own(conn.Scheme(), owner, &appsv1.Deployment{}))
	m.Add("server", runnable)
	m.AddWithoutLeaderElection("health", runnable)
	measured := metrics.New()
	use(manager.Options{Monitor: measured})
	authenticator, authorizer := delegated.NewAuthenticator(conn, delegated.AuthenticatorOptions{}), delegated.NewAuthorizer(conn, delegated.AuthorizerOptions{})
	gate := delegated.Gate{Authenticate: authenticator.Authenticate, Authorize: authorizer.Authorize, Attributes: delegated.ByPath}
	use(health.Options{Wrap: gate.Wrap})
	h := health.New(health.Options{})
	h.Live("ping", func(ctx context.Context) error { return nil })
	h.Ready("synced", func(ctx context.Context) error { return m.Informers().Ready() })
	m.AddHealth(h)
	h.Handle(profiles.Path, gate.Wrap(profiles.Handler()))
	use(clustersecrets.Add(m, fleet, "fleet", clustersecrets.Options{}))
	use(m.Recorder("me"), m.Conn(), m.Logger())
	server := webhook.New(webhook.Options{})
	mutate := webhook.Mutating(func(ctx context.Context, r *webhook.Request, pod *corev1.Pod) error { return nil })
	validate := webhook.Validating(func(ctx context.Context, r *webhook.Request, pod *corev1.Pod) error { return nil })
	server.Handle("/mutate", mutate)
	server.Handle("/validate", validate)
	h.Ready("webhooks", server.Healthy)
	use(scheme.Add[*corev1.Pod](s, schema.GroupVersion{Group: "example.com", Version: "v1"}, scheme.Kind{Resource: "websites", Namespaced: true}))
	use(openapi.Derive[*corev1.Pod](schema.GroupVersion{Group: "example.com", Version: "v1"}, scheme.Kind{Resource: "websites"}, openapi.DeriveOptions{}))
	return m.Run(ctx)
}

func migrateSources(configure func(string, controller.Options) controller.Options, gk schema.GroupKind, produce func(context.Context, func(reconcile.Request)) error,
	reader informers.Lister[*corev1.Pod], reconcileObject func(context.Context, *corev1.Pod) (reconcile.Result, error), admit func(context.Context, *webhook.Request, *admissionv1.AdmissionResponse) error) {
	use(manager.Options{Configure: configure}, controllers.AnyOwner[*corev1.Pod](gk, true), controllers.Producer(produce), controllers.WithObject(reader, reconcileObject))
	use(webhook.Admission(admit))
}

func migrateWebhooks(conn *rest.Conn) {
	keep := func(pod, hub *corev1.Pod) error { return nil }
	spoke := webhook.SpokeOf(schema.GroupVersion{Group: "example.com", Version: "v1"}, keep, keep)
	use(webhook.ConversionByHub(schema.GroupVersion{Group: "example.com", Version: "v2"}, spoke))
	certificates := webhook.NewCertificates(conn, webhook.CertificateOptions{})
	use(certificates.Get)
}

func migrateGenerators(kinds *scheme.Scheme) {
	source, err := markers.Parse(os.DirFS("."), "example.com/operator")
	use(source.Definitions(kinds, "example.com", markers.Options{}))
	use(source.Roles("manager-role"))
	use(source.Webhooks())
	use(err, manifest.Write(os.Stdout))
}

func migrateTests(t *testing.T, add controllertest.Adder, hooks http.Handler) {
	use(clienttest.Start(t, clienttest.Options{}))
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{CRDs: os.DirFS("config/crd"), Controllers: []controllertest.Adder{add}})
		use(controllertest.Options{Webhooks: controllertest.Webhooks{Config: os.DirFS("config/webhook"), Handler: hooks}})
		use(controllertest.Options{As: client.User{Name: "system:serviceaccount:default:operator"}})
		use(c.Access(client.User{Name: "jane"}), c.Config(), c.Conn())
		c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"create"}, Resource: "pods"}, Times: 1, Effect: controllertest.Conflict()})
		use(c.Record(controllertest.Requests{User: "operator"}).Calls(), controllertest.HistoryOf[*corev1.Pod](c, "default", "a"))
		c.Settle()
		c.Sleep(time.Hour)
		use(controllertest.StartFrom(t, c.Snapshot(), controllertest.Options{}))
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")})
		use(controllertest.Get[*corev1.ConfigMap](c, "default", "a"), controllertest.Exists[*corev1.ConfigMap](c, "default", "a"))
		nodes := func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{Count: 100}) }
		use(controllertest.Options{Controllers: []controllertest.Adder{nodes}})
	})
	use(fakenode.ExitCodeAnnotation, fakenode.RunForAnnotation, fakenode.ReadyAfterAnnotation)
	c := controllertest.Start(t, controllertest.Options{})
	use(c.Kubeconfig())
}

var _ = []any{migrateConnecting, migrateObjects, migrateTogether, migrateStreams, migrateInformers, migrateLeading, migrateManager, migrateSources, migrateWebhooks, migrateGenerators, migrateTests}
