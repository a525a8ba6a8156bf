package keelson_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"testing"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/admissionv1"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/diff"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/delegated"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/objects"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/client/stream"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/health"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/controllers/webhook"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
	"github.com/keelson-dev/keelson/workqueue"
)

// The functions below hold the code of docs/upstream-names.md, for TestMigratingCompiles.

type wrapper = func(ctx context.Context, run *reconcile.Run, next func(context.Context) (reconcile.Result, error)) (reconcile.Result, error)

func namesOfManagers(ctx context.Context, conn *rest.Conn, key types.NamespacedName, path string, wrap wrapper, configure func(string, controller.Options) controller.Options, server *webhook.Server, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) error {
	var m *manager.Manager = manager.New(conn, manager.Options{})
	use(manager.Runnable(nil), manager.Func(nil), m.AddWithoutLeaderElection, m.Add)
	use(manager.Options{Wrap: wrap}, manager.Options{Configure: configure})
	var h *health.Server = health.New(health.Options{})
	use(h, health.Check(nil), health.Options{Certificate: certificate}, &http.Server{}, http.Handler(h))
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	use(informers.NewSet(conn, informers.SetOptions{}), controllers.NewClusters(m, controllers.ClustersOptions{}))
	use(kubeconfig.Load(kubeconfig.Options{}))
	use(kubeconfig.Load(kubeconfig.Options{Context: "other"}))
	use(kubeconfig.Options{Path: path}, manager.Options{Lease: key, Election: leaderelection.Options{}})
	use(leaderelection.Lock(nil), leaselock.New(conn, key, leaselock.Options{}), m.Recorder("me"))
	use(webhook.Options{CertDir: path}, server.Healthy(ctx))
	return m.Run(ctx)
}

func namesOfTypes(ctx context.Context, conn *rest.Conn, s *scheme.Scheme, run *reconcile.Run, logger *slog.Logger, warned func(rest.Warning), pod *corev1.Pod, gvr schema.GroupVersionResource, data []byte) {
	use(metav1.TypeMeta{}, metav1.ObjectMeta{}, schema.GroupVersion{}, schema.GroupResource{}, scheme.Add[*corev1.Pod], s.Clone())
	use(manager.Options{Logger: logger}, slog.DiscardHandler, reconcile.Logger(ctx), reconcile.NewContext(ctx, run))
	use(rest.Options{Warnings: warned}, rest.NoWarnings)
	var h slog.Handler = slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{})
	use(h, s.ForObject(pod).GVK, s.ForObject(pod).Namespaced)
	disc := discovery.New(conn, discovery.Options{})
	use(disc.ForKind, discovery.IsNoMatch, discovery.NoMatchError{}.Stale)
	use(disc.Catalog(ctx))
	use(disc.Version(ctx))
	use(disc.OpenAPIV2(ctx))
	pods := client.For[*corev1.Pod](conn)
	use(client.For[*corev1.Pod](conn), dynamic.For(conn, gvr), pods.Protobuf())
	use(api.Scheme().Clone(), codec.Unmarshal(data, pod))
	use(codec.Marshal(pod))
}

func namesOfCaches(ctx context.Context, conn *rest.Conn, m *manager.Manager, key types.NamespacedName, ns string, namespaces []string, pod *corev1.Pod, nodes func(*corev1.Pod) []string, strip func(*corev1.Pod) error, handle informers.Handler[*corev1.Pod]) {
	use(informers.NewSet(conn, informers.SetOptions{}), m.Informers(), informers.For[*corev1.Pod](m.Informers()))
	byType := []informers.TypeCache{informers.CacheOf(informers.Options[*corev1.Pod]{})}
	use(informers.Cache{Namespaces: namespaces, Types: byType}, informers.SetOptions{KeepManagedFields: true})
	use(informers.NewSet(conn, informers.SetOptions{Cache: informers.Cache{Namespaces: namespaces, LabelSelector: labels.MustParse("app=web")}}))
	informer := informers.For[*corev1.Pod](m.Informers())
	use(informer.WaitForSync(ctx), informer.HasSynced(), &informers.NotSyncedError{})
	set := m.Informers()
	use(set.WaitForSync(ctx), informer.AddHandler(handle, informers.HandlerOptions{}))
	lister, pods := informer.Lister(), client.For[*corev1.Pod](conn)
	use(lister.Get(key))
	use(pods.Get(ctx, key))
	use(lister.View(key, func(p *corev1.Pod) {}))
	use(lister.List(informers.ListOptions{Namespace: ns}))
	byNode := informers.DefineIndex("node", nodes)
	use(informer.Index(byNode).List("n"))
	use(informers.Options[*corev1.Pod]{Transform: strip}, metav1.KeyOf(pod))
}

func namesOfClients(ctx context.Context, conn *rest.Conn, key types.NamespacedName, pod *corev1.Pod, ns, token string, data []byte, change func(*corev1.Pod) error, around func(context.Context, client.Call, func(context.Context) error) error, call func(context.Context) error) {
	pods, deployments := client.For[*corev1.Pod](conn), client.For[*appsv1.Deployment](conn)
	use(objects.New(conn, objects.Options{}), pods.Watch(ctx, client.WatchOptions{}), client.Conn(conn))
	use(client.Reader[*corev1.Pod](nil), client.Writer[*corev1.Pod](nil), metav1.Object(nil), &metav1.List[*corev1.Pod]{})
	var list *metav1.List[*corev1.Pod]
	use(list, types.NamespacedName{}, metav1.KeyOf(pod), apierrors.IgnoreNotFound, apierrors.IgnoreAlreadyExists, client.GetOptions{})
	use(client.ListOptions{Namespace: ns, LabelSelector: labels.MustParse("app=web,tier"), Limit: 500, Continue: token})
	use(client.ListOptions{FieldSelector: fields.OneEqual("spec.nodeName", "n")})
	use(client.CreateOptions{}, client.UpdateOptions{}, client.PatchOptions{}, client.ApplyOptions{Force: true})
	use(pods.Apply(ctx, pod, client.ApplyOptions{FieldManager: "me"}))
	use(client.DeleteOptions{GracePeriodSeconds: new(int64(5)), Preconditions: &metav1.Preconditions{}, PropagationPolicy: metav1.DeletePropagationForeground})
	use(pods.DeleteCollection(ctx, client.ListOptions{Namespace: ns}, client.DeleteOptions{}))
	use(client.CreateOptions{DryRun: true}, client.DryRun(conn), client.WithFieldManager(conn, "me"), client.WithFieldValidation(conn, "Strict"), client.InNamespace(conn, ns))
	use(client.Patch{Type: types.JSONPatchType, Data: data})
	use(client.PatchFrom(ctx, pods, pod, pod, client.PatchFromOptions{Strategic: true, Lock: true}))
	use(pods.UpdateStatus(ctx, pod))
	use(client.UpdateStatus(ctx, pods, key, change))
	use(client.Update(ctx, pods, key, change))
	var scale *client.Sub[*autoscalingv1.Scale] = client.Subresource[*autoscalingv1.Scale](deployments, "scale")
	use(scale, client.Intercept(conn, around), client.Retry(ctx, client.RetryPolicy{}, call))
	use(client.CreateOrUpdate(ctx, pods, pod, change))
	use(client.Outcome(""), client.Unchanged, client.Created, client.Updated, client.UpdateStatus[*corev1.Pod])
	use(rest.Options{QPS: 20, Burst: 30})
	use(conn.Do(ctx, &client.Request{Path: "/version"}))
	use(events.New(conn, events.Options{Component: "me"}))
	use(stream.Forward(ctx, conn, key, stream.Auto))
}

func namesOfControllers(ctx context.Context, m *manager.Manager, key reconcile.Request, r reconcile.Reconciler[reconcile.Request], reconcilePod func(context.Context, reconcile.Request) (reconcile.Result, error), reconcileObject func(context.Context, *corev1.Pod) (reconcile.Result, error), gk schema.GroupKind, secrets *informers.Informer[*metav1.PartialObjectMetadata], err error) {
	use(controllers.Add[reconcile.Request], controllers.For[*corev1.Pod], controllers.Owns[*appsv1.Deployment, *corev1.Pod], controllers.Watches[*corev1.Pod, reconcile.Request])
	use(controllers.Watches(controllers.AnyOwner[*corev1.Pod](gk, true)), controllers.Owner[*corev1.Pod](gk, true))
	use(controllers.From(secrets, controllers.Self), informers.ForResource[*metav1.PartialObjectMetadata])
	use(controllers.For[*corev1.Pod](controllers.LabelsChanged[*corev1.Pod]))
	added := controller.New("name", r, controller.Options{})
	added.Enqueue(key)
	use((*controller.Controller[reconcile.Request]).Run, controllers.Options{Options: controller.Options{Concurrency: 4, Timeout: time.Minute}}, reconcile.ID(ctx))
	use(reconcile.Request{}, reconcile.Result{RequeueAfter: time.Minute}, reconcile.Func(reconcilePod), reconcile.TerminalError(err))
	lister := informers.For[*corev1.Pod](m.Informers()).Lister()
	use(controllers.WithObject(lister, reconcileObject), reconcile.Reconciler[reconcile.Request](nil))
	use(workqueue.New(workqueue.Options[reconcile.Request]{}), workqueue.AddOptions{Priority: workqueue.LowPriority, After: time.Second})
	use(workqueue.Limiter[reconcile.Request](nil), workqueue.DefaultLimiter[reconcile.Request]())
}

func namesOfSources(conn *rest.Conn, informer *informers.Informer[*corev1.Pod], produce func(context.Context, func(reconcile.Request)) error, isWeb func(*corev1.Pod) bool, isNew, isWebPod controllers.Predicate[*corev1.Pod]) {
	use(controllers.Source(nil), informers.SetOptions{SyncTimeout: time.Minute}, controllers.From(informer, controllers.Self))
	use(controllers.Channel(make(chan reconcile.Request, 10)), controllers.Producer(produce), controllers.Channel[reconcile.Request])
	use(func(ev informers.Event[*corev1.Pod]) { use(ev.Type, ev.Old(), ev.New(), ev.Resync, ev.StateUnknown) })
	use(controllers.Watches(func(ev informers.Event[*corev1.Pod]) []reconcile.Request { return nil }), controllers.Self[*corev1.Pod], workqueue.LowPriority)
	use(controllers.Predicate[*corev1.Pod](nil), controllers.Matching(isWeb), controllers.GenerationChanged[*corev1.Pod])
	use(controllers.LabelsChanged[*corev1.Pod], controllers.AnnotationsChanged[*corev1.Pod], controllers.LabelsMatch[*corev1.Pod](labels.MustParse("app=web")))
	use(controllers.Any(isNew, isWebPod), controllers.Not(isNew))
	use(conn)
}

func namesOfHelpers(s *scheme.Scheme, owner *appsv1.Deployment, pod *corev1.Pod, gate delegated.Gate, addr string) {
	use(controllers.Own(s, owner, pod), metav1.OwnerReference{}, controllers.OwnedError{}, controllers.AddOwner(s, owner, pod), controllers.RemoveOwner(owner, pod))
	use(metav1.IsControlledBy(pod, owner.UID), metav1.ControllerOf(pod), metav1.AddFinalizer, metav1.RemoveFinalizer, metav1.HasFinalizer)
	var cleanup controllers.Finalizers[*corev1.Pod]
	measured := metrics.New()
	use(gate.Authenticate, &cleanup, measured.Registry(), measured.Queue("name"), webhook.Options{Metrics: measured.Webhooks()})
	pages := health.New(health.Options{Addr: addr, Wrap: gate.Wrap})
	pages.Handle("GET /metrics", measured)
	use(health.Options{Addr: addr, Wrap: gate.Wrap}, delegated.Gate{}, gate.Wrap(measured))
}

func namesOfWebhooks(server *webhook.Server, mutate, token http.Handler, v1, v2 schema.GroupVersion, setDefaults, check func(context.Context, *webhook.Request, *corev1.Pod) error, admit func(context.Context, *webhook.Request, *admissionv1.AdmissionResponse) error, toHub, fromHub func(a, b *corev1.Pod) error) {
	server.Handle("/mutate", mutate)
	use(server.Handle, webhook.New(webhook.Options{}), webhook.Admission(admit), webhook.Mutating(setDefaults), webhook.Validating(check))
	use(func(r *webhook.Request, answer *admissionv1.AdmissionResponse) {
		r.Warn("text")
		use(webhook.Old[*corev1.Pod](r))
		use(answer.Patch, webhook.Mutating[*corev1.Pod], webhook.Admission, apierrors.StatusError{})
	})
	use(webhook.ConversionByHub(v2, webhook.SpokeOf(v1, toHub, fromHub)), webhook.Conversion, authenticationv1.TokenReview{}, token)
}

func namesOfTests(t *testing.T, hooks http.Handler, before, after metav1.Object, edit func(*corev1.ConfigMap)) {
	c := controllertest.Start(t, controllertest.Options{})
	use(controllertest.Start(t, controllertest.Options{}), c.Kubeconfig(), c.Conn(client.User{Name: "jane"}), c.Config(client.User{Name: "jane"}))
	use(controllertest.Options{CRDs: os.DirFS("config/crd")}, controllertest.Webhooks{Config: os.DirFS("config/webhook"), Handler: hooks})
	use(controllertest.Get[*corev1.ConfigMap](c, "default", "a"), controllertest.List[*corev1.ConfigMap](c, "default"), controllertest.List[*corev1.Event](c, "default"))
	use(controllertest.Update(c, "default", "a", edit), controllertest.UpdateStatus(c, "default", "a", edit), controllertest.Diff(c, before, after))
	use(diff.Objects(before, after, diff.Options{}))
	use(clienttest.Start(t, clienttest.Options{}), c.Record(controllertest.Requests{User: "operator"}), c.Inject)
}

func namesOfConnections(cfg rest.Config, path string, data []byte, conn *rest.Conn, key types.NamespacedName) {
	use(rest.Config{}, kubeconfig.Options{})
	use(kubeconfig.InCluster())
	use(rest.New(cfg, rest.Options{}))
	use(kubeconfig.Parse(data))
	use(kubeconfig.LoadFile(path))
	use(leaderelection.New(leaselock.New(conn, key, leaselock.Options{}), leaderelection.Options{}))
}

var _ = []any{namesOfManagers, namesOfTypes, namesOfCaches, namesOfClients, namesOfControllers, namesOfSources, namesOfHelpers, namesOfWebhooks, namesOfTests, namesOfConnections}
