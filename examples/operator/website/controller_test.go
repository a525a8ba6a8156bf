package website_test

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/deployment"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/examples/operator/website"
)

// cluster is a real API server with the controller under test, the built-in ones it relies on, and simulated
// nodes.
func cluster(t *testing.T) *controllertest.Cluster {
	c := clusterWithout(t)
	c.Run(c.Manager("operator", website.Add))
	return c
}

func clusterWithout(t *testing.T) *controllertest.Cluster {
	s := api.Scheme().Clone()
	require.NoError(t, website.Register(s))
	return controllertest.Start(t, controllertest.Options{
		CRDs:   os.DirFS("../config/crd"),
		Scheme: s,
		Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return deployment.Add(m, deployment.Options{}) },
			func(m *manager.Manager) error { return replicaset.Add(m, replicaset.Options{}) },
			func(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) },
			func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
			func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
			func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{Count: 2}) },
		},
	})
}

func site(name string) *website.Website {
	return &website.Website{ObjectMeta: controllertest.Name("default", name), Spec: website.WebsiteSpec{Image: "web:1", Replicas: new(int32(3))}}
}

func ready(c *controllertest.Cluster, name string) bool {
	return metav1.ConditionIs(controllertest.Get[*website.Website](c, "default", name).Status.Conditions, "Ready", metav1.ConditionTrue)
}

func TestWebsiteBecomesReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster(t)
		controllertest.Create(c, site("hello"))
		time.Sleep(time.Minute)

		got := controllertest.Get[*website.Website](c, "default", "hello")
		require.EqualValues(t, 80, got.Spec.Port, "defaulted by the definition")
		require.EqualValues(t, 3, got.Status.ReadyReplicas)
		require.Equal(t, "http://hello.default.svc:80", got.Status.URL)
		require.True(t, ready(c, "hello"), "%+v", got.Status)
		require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 3)
		svc := controllertest.Get[*corev1.Service](c, "default", "hello")
		require.EqualValues(t, 80, svc.Spec.Ports[0].Port)
		require.True(t, metav1.IsControlledBy(svc, got.UID))
	})
}

func TestChangesRollOutAndForeignChangesAreUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster(t)
		controllertest.Create(c, site("hello"))
		time.Sleep(time.Minute)
		controllertest.Update(c, "default", "hello", func(s *website.Website) { s.Spec.Image, s.Spec.Replicas = "web:2", new(int32(1)) })
		c.Settle()
		time.Sleep(time.Minute)
		pods := controllertest.List[*corev1.Pod](c, "default")
		require.Len(t, pods, 1)
		require.Equal(t, "web:2", pods[0].Spec.Containers[0].Image)
		require.True(t, ready(c, "hello"))

		controllertest.Update(c, "default", "hello", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(9)) })
		controllertest.Delete[*corev1.Service](c, "default", "hello")
		c.Settle()
		require.EqualValues(t, 1, *controllertest.Get[*appsv1.Deployment](c, "default", "hello").Spec.Replicas)
		require.True(t, controllertest.Exists[*corev1.Service](c, "default", "hello"))
	})
}

func TestDeletionLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster(t)
		controllertest.Create(c, site("hello"))
		time.Sleep(time.Minute)
		controllertest.Delete[*website.Website](c, "default", "hello")
		time.Sleep(2 * time.Minute)
		require.Empty(t, controllertest.List[*appsv1.Deployment](c, "default"))
		require.Empty(t, controllertest.List[*corev1.Pod](c, "default"))
		require.False(t, controllertest.Exists[*corev1.Service](c, "default", "hello"))
	})
}

func TestNothingIsWrittenOnceAllIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster(t)
		controllertest.Create(c, site("hello"))
		time.Sleep(time.Minute)
		version := controllertest.Get[*website.Website](c, "default", "hello").ResourceVersion
		generation := controllertest.Get[*appsv1.Deployment](c, "default", "hello").Generation
		time.Sleep(3 * time.Hour)
		require.Equal(t, version, controllertest.Get[*website.Website](c, "default", "hello").ResourceVersion)
		require.Equal(t, generation, controllertest.Get[*appsv1.Deployment](c, "default", "hello").Generation)
	})
}

func TestForeignDeploymentsAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster(t)
		labels := map[string]string{"app": "theirs"}
		controllertest.Create(c, &appsv1.Deployment{ObjectMeta: controllertest.Name("default", "hello"), Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "theirs:1"}}}}}})
		c.Settle()
		controllertest.Create(c, site("hello"))
		c.Settle()
		require.Equal(t, "theirs:1", controllertest.Get[*appsv1.Deployment](c, "default", "hello").Spec.Template.Spec.Containers[0].Image)
		got := controllertest.Get[*website.Website](c, "default", "hello")
		require.Equal(t, "NameTaken", got.Status.Conditions[0].Reason)
	})
}

func TestTheDefinitionRefusesNonsense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster(t)
		for _, spec := range []website.WebsiteSpec{{}, {Image: "x", Replicas: new(int32(-1))}, {Image: "x", Port: 70000}} {
			_, err := client.For[*website.Website](c.Admin()).Create(t.Context(), &website.Website{ObjectMeta: controllertest.Name("default", "bad"), Spec: spec})
			require.True(t, apierrors.IsInvalid(err), "%+v: %v", spec, err)
		}
	})
}

// The operator's role in config/rbac has the rights that a run needs and no others.
func TestRole(t *testing.T) {
	data, err := os.ReadFile("../config/rbac/role.yaml")
	require.NoError(t, err)
	role := &rbacv1.ClusterRole{}
	_, err = codec.UnmarshalYAML(data, role, codec.DecodeOptions{})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		c := clusterWithout(t)
		calls := c.Record(controllertest.Requests{User: "operator"})
		c.Run(c.ManagerOver(c.Conn(client.User{Name: "operator", Groups: []string{"system:masters"}}), "operator", website.Add))
		controllertest.Create(c, site("hello"))
		c.Sleep(time.Minute)
		controllertest.Update(c, "default", "hello", func(s *website.Website) { s.Spec.Image = "web:2" })
		c.Sleep(time.Minute)
		missing, unused := controllertest.CompareRules(role.Rules, calls.Calls())
		require.Empty(t, missing, "add these to config/rbac/role.yaml; all that is needed is %+v", controllertest.LeastRules(calls.Calls()))
		require.Empty(t, unused, "remove these from config/rbac/role.yaml")
	})
}
