package interop

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// endsQuietly reports the end of an ended request as io.EOF. client-go's metadata watches turn any other
// error into an event, for which watch.Filter waits forever when nothing reads it any longer.
type endsQuietly struct{ http.RoundTripper }

func (q endsQuietly) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := q.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = quietBody{resp.Body, r}
	}
	return resp, err
}

type quietBody struct {
	io.ReadCloser
	r *http.Request
}

func (b quietBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && b.r.Context().Err() != nil {
		err = io.EOF
	}
	return n, err
}

// A controller-runtime manager with leader election that watches owned objects by metadata only, through
// Transport, in a bubble, and leaves no goroutine.
func TestControllerRuntimeMetadataWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		cfg := &rest.Config{Host: controllertest.Host, Transport: c.Transport(), QPS: -1}
		cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return endsQuietly{rt} })
		log.SetLogger(logr.Discard())
		yes := true
		mgr, err := ctrl.NewManager(cfg, ctrl.Options{
			Scheme: upstreamScheme(t), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
			LeaderElection: true, LeaderElectionID: "owner", LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: true,
			Controller: crconfig.Controller{SkipNameValidation: &yes},
		})
		require.NoError(t, err)
		require.NoError(t, ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&appsv1.Deployment{}, builder.OnlyMetadata).
			Complete(&deploymentOwner{mgr.GetClient(), mgr.GetScheme()}))
		c.Run(manager.Func(mgr.Start))
		c.Sleep(time.Second)

		cs := clientset(t, cfg)
		cm := configMap("web", map[string]string{"image": "app:1"})
		cm.Labels = map[string]string{"deploy": "true"}
		_, err = cs.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{})
		require.NoError(t, err)
		// The reconciler's reads of Deployments start another informer, which polls too.
		c.Sleep(time.Second)
		require.NoError(t, cs.AppsV1().Deployments("default").Delete(t.Context(), "web", metav1.DeleteOptions{}))
		// The other informer may get the event after this watch; then the next pass recreates it.
		c.Sleep(2 * time.Minute)
		_, err = cs.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err, "the deployment is made again")
	})
}
