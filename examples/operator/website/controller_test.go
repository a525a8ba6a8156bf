package website_test

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/deployment"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/builtin/namespace"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/controllers/webhook"
	v1 "github.com/keelson-dev/keelson/examples/operator/api/v1"
	"github.com/keelson-dev/keelson/examples/operator/api/v1alpha1"
	"github.com/keelson-dev/keelson/examples/operator/webhooks"
	"github.com/keelson-dev/keelson/examples/operator/website"
)

// cluster is a real API server with the controller and the webhooks under test, the built-in controllers they
// rely on, and simulated nodes.
func cluster(t *testing.T) *controllertest.Cluster {
	s := api.Scheme().Clone()
	require.NoError(t, v1.Register(s))
	require.NoError(t, v1alpha1.Register(s))
	server := webhook.New(webhook.Options{})
	webhooks.Handle(server, website.DefaultDomain)
	c := controllertest.Start(t, controllertest.Options{
		CRDs:     os.DirFS("../config/crd"),
		Scheme:   s,
		Webhooks: controllertest.Webhooks{Config: os.DirFS("../config/webhook"), Handler: server},
		Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return deployment.Add(m, deployment.Options{}) },
			func(m *manager.Manager) error { return replicaset.Add(m, replicaset.Options{}) },
			func(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) },
			func(m *manager.Manager) error { return namespace.Add(m, namespace.Options{}) },
			func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
			func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
			func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{Count: 2}) },
		},
	})
	c.Run(c.Manager("operator", func(m *manager.Manager) error { return website.Add(m, website.Options{}) }))
	return c
}

func site(name string) *v1.Website {
	return &v1.Website{ObjectMeta: controllertest.Name("default", name), Spec: v1.WebsiteSpec{Image: "web:1", Replicas: new(int32(3))}}
}

func ready(c *controllertest.Cluster, name string) bool {
	return metav1.ConditionIs(controllertest.Get[*v1.Website](c, "default", name).Status.Conditions, "Ready", metav1.ConditionTrue)
}

func TestWebsiteBecomesReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster(t)
		controllertest.Create(c, site("hello"))
		time.Sleep(time.Minute)

		got := controllertest.Get[*v1.Website](c, "default", "hello")
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
		controllertest.Update(c, "default", "hello", func(s *v1.Website) { s.Spec.Image, s.Spec.Replicas = "web:2", new(int32(1)) })
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
		controllertest.Delete[*v1.Website](c, "default", "hello")
		time.Sleep(2 * time.Minute)
		require.Empty(t, controllertest.List[*appsv1.Deployment](c, "default"))
		require.Empty(t, controllertest.List[*corev1.Pod](c, "default"))
		require.False(t, controllertest.Exists[*corev1.Service](c, "default", "hello"))
		require.False(t, controllertest.Exists[*corev1.ConfigMap](c, "default", website.IndexName))
		require.False(t, controllertest.Exists[*v1.Website](c, "default", "hello"))
	})
}

// A namespace with websites can be deleted, although their finalizer writes to it.
func TestDeletionOfANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster(t)
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "shop")})
		for _, name := range []string{"one", "two", "three"} {
			s := site(name)
			s.Namespace = "shop"
			controllertest.Create(c, s)
		}
		time.Sleep(time.Minute)
		require.Len(t, controllertest.Get[*corev1.ConfigMap](c, "shop", website.IndexName).Data, 3)
		controllertest.Delete[*corev1.Namespace](c, "", "shop")
		time.Sleep(5 * time.Minute)
		require.False(t, controllertest.Exists[*corev1.Namespace](c, "", "shop"))
	})
}

// The hosts of a namespace are listed together. One that is taken is not taken away.
func TestHostsAreUnique(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster(t)
		hosts := func() map[string]string {
			return controllertest.Get[*corev1.ConfigMap](c, "default", website.IndexName).Data
		}
		reason := func(name string) string {
			return controllertest.Get[*v1.Website](c, "default", name).Status.Conditions[0].Reason
		}
		controllertest.Create(c, site("one"))
		second := site("two")
		second.Spec.Host = "one.default.websites.example"
		time.Sleep(time.Minute)
		controllertest.Create(c, second)
		time.Sleep(time.Minute)
		require.Equal(t, map[string]string{"one.default.websites.example": "one"}, hosts())
		require.Equal(t, "HostTaken", reason("two"))
		event := controllertest.List[*corev1.Event](c, "default")
		require.True(t, slices.ContainsFunc(event, func(e *corev1.Event) bool {
			return e.InvolvedObject.Name == "two" && e.Reason == "HostTaken" && e.Type == "Warning"
		}), "%+v", event)

		controllertest.Update(c, "default", "one", func(s *v1.Website) { s.Spec.Host = "first.example" })
		time.Sleep(2 * time.Minute)
		require.Equal(t, map[string]string{"first.example": "one", "one.default.websites.example": "two"}, hosts())
		require.Equal(t, "AllReplicasReady", reason("two"))
		controllertest.Delete[*v1.Website](c, "default", "one")
		time.Sleep(time.Minute)
		require.Equal(t, map[string]string{"one.default.websites.example": "two"}, hosts())
	})
}

// Objects of both versions are the same objects.
func TestBothVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster(t)
		controllertest.Create(c, &v1alpha1.Website{ObjectMeta: controllertest.Name("default", "old"), Spec: v1alpha1.WebsiteSpec{Image: "web:1", Size: new(int32(2))}})
		s := site("new")
		s.Spec.Environment = map[string]string{"COLOUR": "blue"}
		controllertest.Create(c, s)
		time.Sleep(time.Minute)
		require.EqualValues(t, 2, *controllertest.Get[*v1.Website](c, "default", "old").Spec.Replicas)
		require.True(t, ready(c, "old"))
		// Written back in the old version, it keeps what that cannot express.
		controllertest.Update(c, "default", "new", func(s *v1alpha1.Website) { s.Spec.Size = new(int32(1)) })
		time.Sleep(time.Minute)
		got := controllertest.Get[*v1.Website](c, "default", "new")
		require.Equal(t, map[string]string{"COLOUR": "blue"}, got.Spec.Environment)
		require.EqualValues(t, 1, *got.Spec.Replicas)
		require.Empty(t, got.Annotations)
		d := controllertest.Get[*appsv1.Deployment](c, "default", "new")
		require.Equal(t, []corev1.EnvVar{{Name: "COLOUR", Value: "blue"}}, d.Spec.Template.Spec.Containers[0].Env)
		list := controllertest.List[*v1alpha1.Website](c, "default")
		require.Len(t, list, 2)
		require.Equal(t, "new.default.websites.example", list[0].Spec.Host)
	})
}

func TestNothingIsWrittenOnceAllIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster(t)
		controllertest.Create(c, site("hello"))
		time.Sleep(time.Minute)
		version := controllertest.Get[*v1.Website](c, "default", "hello").ResourceVersion
		generation := controllertest.Get[*appsv1.Deployment](c, "default", "hello").Generation
		time.Sleep(3 * time.Hour)
		require.Equal(t, version, controllertest.Get[*v1.Website](c, "default", "hello").ResourceVersion)
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
		got := controllertest.Get[*v1.Website](c, "default", "hello")
		require.Equal(t, "NameTaken", got.Status.Conditions[0].Reason)
	})
}

func TestTheDefinitionRefusesNonsense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster(t)
		for _, spec := range []v1.WebsiteSpec{{}, {Image: "x", Replicas: new(int32(-1))}, {Image: "x", Port: 70000}, {Image: "x", Host: "a b"}} {
			_, err := client.For[*v1.Website](c.Admin()).Create(t.Context(), &v1.Website{ObjectMeta: controllertest.Name("default", "bad"), Spec: spec})
			require.True(t, apierrors.IsInvalid(err), "%+v: %v", spec, err)
		}
	})
}
