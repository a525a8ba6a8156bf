package interop

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// The tests of this file are what a user of controller-runtime writes first, each in about ten lines.
// newManager stands for the user's own main: it makes an ordinary manager with a reconciler and knows nothing
// of Keelson.

// deployed is a ConfigMap that the reconciler makes a Deployment of.
func deployed(name, image string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"deploy": "true"}},
		Data: map[string]string{"image": image}}
}

// A reconciler runs against a real API server, and an hour passes at once.
func TestFirstStepsAReconciler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		config := &rest.Config{Host: controllertest.Host, Transport: c.RoundTripper()}
		defer runManager(t, newManager(t, config))()
		c.Sleep(time.Second) // the manager starts
		k8s, err := crclient.New(config, crclient.Options{})
		require.NoError(t, err)
		require.NoError(t, k8s.Create(t.Context(), deployed("web", "app:1")))
		c.Sleep(time.Hour)
		require.NoError(t, k8s.Get(t.Context(), crclient.ObjectKey{Namespace: "default", Name: "web"}, &appsv1.Deployment{}))
	})
}

// The first update fails with a conflict, and the reconciler tries again.
func TestFirstStepsAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		config := &rest.Config{Host: controllertest.Host, Transport: c.RoundTripper()}
		c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"create"}, Resource: "deployments.apps"}, Times: 1, Effect: controllertest.Conflict()})
		defer runManager(t, newManager(t, config))()
		c.Sleep(time.Second)
		k8s, err := crclient.New(config, crclient.Options{})
		require.NoError(t, err)
		require.NoError(t, k8s.Create(t.Context(), deployed("web", "app:1")))
		c.Sleep(time.Minute)
		require.NoError(t, k8s.Get(t.Context(), crclient.ObjectKey{Namespace: "default", Name: "web"}, &appsv1.Deployment{}))
	})
}

// The requests of a run are the role that the operator needs.
func TestFirstStepsARole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		operator := client.User{Name: "operator", Groups: []string{"system:masters"}}
		calls := c.Record(controllertest.Requests{User: operator.Name})
		defer runManager(t, newManager(t, &rest.Config{Host: controllertest.Host, Transport: c.RoundTripper(operator)}))()
		c.Sleep(time.Second)
		k8s, err := crclient.New(&rest.Config{Host: controllertest.Host, Transport: c.RoundTripper()}, crclient.Options{})
		require.NoError(t, err)
		require.NoError(t, k8s.Create(t.Context(), deployed("web", "app:1")))
		c.Sleep(time.Minute)
		rules := controllertest.LeastRules(calls.Calls())
		require.Equal(t, "apps [deployments] [create list watch]", fmt.Sprint(rules[1].APIGroups[0], " ", rules[1].Resources, " ", rules[1].Verbs))
	})
}

// What several tests need is made once, and each goes on from there in a cluster of its own.
func TestFirstStepsASnapshot(t *testing.T) {
	var ready controllertest.Snapshot
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		defer runManager(t, newManager(t, &rest.Config{Host: controllertest.Host, Transport: c.RoundTripper()}))()
		c.Sleep(time.Second)
		k8s, err := crclient.New(&rest.Config{Host: controllertest.Host, Transport: c.RoundTripper()}, crclient.Options{})
		require.NoError(t, err)
		require.NoError(t, k8s.Create(t.Context(), deployed("web", "app:1")))
		c.Sleep(time.Minute)
		ready = c.Snapshot()
	})
	for _, image := range []string{"app:2", "app:3"} {
		t.Run(image, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := controllertest.StartFrom(t, ready, controllertest.Options{})
				config := &rest.Config{Host: controllertest.Host, Transport: c.RoundTripper()}
				defer runManager(t, newManager(t, config))()
				c.Sleep(time.Second)
				k8s, err := crclient.New(config, crclient.Options{})
				require.NoError(t, err)
				require.NoError(t, k8s.Update(t.Context(), deployed("web", image)))
				c.Sleep(time.Minute)
				d := &appsv1.Deployment{}
				require.NoError(t, k8s.Get(t.Context(), crclient.ObjectKey{Namespace: "default", Name: "web"}, d))
				require.Equal(t, image, d.Spec.Template.Spec.Containers[0].Image)
			})
		})
	}
}

// A cluster without a test, as BeforeSuite of Ginkgo or TestMain starts it; AfterSuite calls Close. It runs
// in real time, as envtest does.
func Example_firstSteps() {
	c, err := controllertest.New(context.Background(), controllertest.Options{})
	if err != nil {
		panic(err)
	}
	k8s, err := crclient.New(&rest.Config{Host: controllertest.Host, Transport: c.RoundTripper()}, crclient.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(k8s.Create(context.Background(), deployed("web", "app:1")))
	fmt.Println(k8s.Create(context.Background(), deployed("web", "app:1")))
	fmt.Println(c.Close())
	// Output:
	// <nil>
	// configmaps "web" already exists
	// <nil>
}

// observed shows the runs of a reconciler in the history of a cluster.
type observed struct {
	cluster *controllertest.Cluster
	next    *deploymentOwner
}

func (r observed) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	err = r.cluster.Observe(ctx, "deployer", req, func(ctx context.Context) error {
		result, err = r.next.Reconcile(ctx, req)
		return err
	})
	return result, err
}

// The history of a cluster says which reconcile wrote what.
func TestFirstStepsAHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		k8s, err := crclient.New(&rest.Config{Host: controllertest.Host, Transport: c.RoundTripper()}, crclient.Options{})
		require.NoError(t, err)
		require.NoError(t, k8s.Create(t.Context(), deployed("web", "app:1")))
		r := observed{c, &deploymentOwner{k8s, k8s.Scheme()}}
		_, err = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: crclient.ObjectKey{Namespace: "default", Name: "web"}})
		require.NoError(t, err)
		h := c.History()
		last := h.Writes[len(h.Writes)-1]
		require.Equal(t, "deployments.apps", last.Resource.String())
		require.Equal(t, h.Runs[0].ID, last.Run)
		require.Contains(t, h.String(), "deployer default/web #1")
	})
}
