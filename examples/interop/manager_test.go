package interop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// deploymentOwner is an ordinary controller-runtime reconciler: for each ConfigMap labelled deploy=true it
// owns a Deployment, and it reports in an annotation.
type deploymentOwner struct {
	crclient.Client
	scheme *runtime.Scheme
}

func (r *deploymentOwner) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cm := &corev1.ConfigMap{}
	if err := r.Get(ctx, req.NamespacedName, cm); err != nil {
		return ctrl.Result{}, crclient.IgnoreNotFound(err)
	}
	if cm.Labels["deploy"] != "true" {
		return ctrl.Result{}, nil
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name}}
	op, err := controllerutil.CreateOrUpdate(ctx, r.Client, d, func() error {
		want := deployment(cm.Name, 2).Spec
		d.Spec.Replicas, d.Spec.Selector = want.Replicas, want.Selector
		d.Spec.Template.Labels = want.Template.Labels
		if len(d.Spec.Template.Spec.Containers) == 0 {
			d.Spec.Template.Spec.Containers = want.Template.Spec.Containers
		}
		d.Spec.Template.Spec.Containers[0].Image = cm.Data["image"]
		return controllerutil.SetControllerReference(cm, d, r.scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if op == controllerutil.OperationResultNone && cm.Annotations["done"] != cm.Data["image"] {
		before := cm.DeepCopy()
		if cm.Annotations == nil {
			cm.Annotations = map[string]string{}
		}
		cm.Annotations["done"] = cm.Data["image"]
		return ctrl.Result{}, r.Patch(ctx, cm, crclient.MergeFrom(before))
	}
	return ctrl.Result{RequeueAfter: time.Minute}, nil
}

// newManager is an unmodified controller-runtime manager with the reconciler above.
func newManager(t *testing.T, cfg *rest.Config) ctrl.Manager {
	log.SetLogger(logr.Discard())
	yes := true
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: upstreamScheme(t), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: crconfig.Controller{SkipNameValidation: &yes},
	})
	require.NoError(t, err)
	require.NoError(t, ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&appsv1.Deployment{}).
		Complete(&deploymentOwner{mgr.GetClient(), mgr.GetScheme()}))
	return mgr
}

func TestControllerRuntimeManagerOverTCP(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	cfg := overTCP(t, c)
	mgr := newManager(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	cs := clientset(t, cfg)
	cm := configMap("web", map[string]string{"image": "app:1"})
	cm.Labels = map[string]string{"deploy": "true"}
	_, err := cs.CoreV1().ConfigMaps("default").Create(ctx, cm, metav1.CreateOptions{})
	require.NoError(t, err)
	image := func(want string) func() bool {
		return func() bool {
			d, err := cs.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
			return err == nil && d.Spec.Template.Spec.Containers[0].Image == want
		}
	}
	eventually(t, "the deployment is made", image("app:1"))
	// A change or deletion by another client is corrected, through the watch on owned objects.
	d, err := cs.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "ConfigMap", d.OwnerReferences[0].Kind)
	d.Spec.Template.Spec.Containers[0].Image = "evil:1"
	_, err = cs.AppsV1().Deployments("default").Update(ctx, d, metav1.UpdateOptions{})
	if !apierrors.IsConflict(err) {
		require.NoError(t, err)
	}
	eventually(t, "the image is put right", image("app:1"))
	require.NoError(t, cs.AppsV1().Deployments("default").Delete(ctx, "web", metav1.DeleteOptions{}))
	eventually(t, "the deployment is made again", func() bool {
		now, err := cs.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
		return err == nil && now.UID != d.UID
	})
	cancel()
	require.NoError(t, <-done)
}

// The same manager inside a synctest bubble: an hour of requeues passes at once.
func TestControllerRuntimeManagerOnVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		cfg := clientGo(c, jsonType)
		defer runManager(t, newManager(t, cfg))()
		cs := clientset(t, cfg)
		cm := configMap("web", map[string]string{"image": "app:1"})
		cm.Labels = map[string]string{"deploy": "true"}
		_, err := cs.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		d, err := cs.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "app:1", d.Spec.Template.Spec.Containers[0].Image)
		start := time.Now()
		time.Sleep(time.Hour)
		require.Equal(t, time.Hour, time.Since(start))
		got, err := cs.CoreV1().ConfigMaps("default").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "app:1", got.Annotations["done"])
	})
}

// An unmodified client-go informer inside a bubble.
func TestClientGoInformerOnVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		cs := clientset(t, clientGo(c, protoType))
		ctx, cancel := context.WithCancel(t.Context())
		f := informers.NewSharedInformerFactoryWithOptions(cs, 10*time.Minute, informers.WithNamespace("default"))
		defer f.Shutdown()
		defer cancel()
		inf := f.Core().V1().ConfigMaps()
		inf.Informer()
		f.Start(ctx.Done())
		f.WaitForCacheSync(ctx.Done())
		for range 3 {
			_, err := cs.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "c-"}}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		c.Settle()
		list, err := inf.Lister().List(labels.Everything())
		require.NoError(t, err)
		require.Len(t, list, 3)
		time.Sleep(2 * time.Hour) // watches end and are resumed many times
		_, err = cs.CoreV1().ConfigMaps("default").Create(ctx, configMap("late", nil), metav1.CreateOptions{})
		require.NoError(t, err)
		c.Settle()
		_, err = inf.Lister().ConfigMaps("default").Get("late")
		require.NoError(t, err)
	})
}
