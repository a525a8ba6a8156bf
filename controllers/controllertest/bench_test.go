package controllertest_test

import (
	"context"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/deployment"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// BenchmarkStart is an empty cluster from nothing to its end.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		inBubble(func(t *testing.T) { controllertest.Start(t, controllertest.Options{}) })
	}
}

// BenchmarkStartWithController is a whole test: server, manager, controller, three pods, and the end of
// everything.
func BenchmarkStartWithController(b *testing.B) {
	for b.Loop() {
		inBubble(func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{addReplicaSets}})
			controllertest.Create(c, replicaSet("web", 3))
			c.Settle()
			if n := len(controllertest.List[*corev1.Pod](c, "default")); n != 3 {
				b.Fatalf("%d pods", n)
			}
		})
	}
}

// BenchmarkStartFrom is a fork and its end. The snapshot contains objects of 30 kinds; idle uses none of
// them, and used lists every one.
func BenchmarkStartFrom(b *testing.B) {
	s := manyKinds()
	b.Run("idle", func(b *testing.B) {
		for b.Loop() {
			inBubble(func(t *testing.T) { controllertest.StartFrom(t, s, controllertest.Options{}) })
		}
	})
	b.Run("used", func(b *testing.B) {
		for b.Loop() {
			inBubble(func(t *testing.T) { useKinds(b, controllertest.StartFrom(t, s, controllertest.Options{})) })
		}
	})
}

// BenchmarkMemory reports what a running fork retains.
func BenchmarkMemory(b *testing.B) {
	s := manyKinds()
	for _, use := range []struct {
		name string
		do   func(*controllertest.Cluster)
	}{
		{"idle", func(*controllertest.Cluster) {}},
		{"used", func(c *controllertest.Cluster) { useKinds(b, c) }},
	} {
		b.Run(use.name, func(b *testing.B) {
			for b.Loop() {
				inBubble(func(t *testing.T) {
					// The first one makes what all clusters share.
					use.do(controllertest.StartFrom(t, s, controllertest.Options{}))
					const clusters = 20
					before, routines := heap(), runtime.NumGoroutine()
					for range clusters {
						use.do(controllertest.StartFrom(t, s, controllertest.Options{}))
					}
					b.ReportMetric(float64(heap()-before)/clusters/1024, "KiB/cluster")
					b.ReportMetric(float64(runtime.NumGoroutine()-routines)/clusters, "goroutines/cluster")
				})
			}
		})
	}
}

func heap() int64 {
	var m runtime.MemStats
	for range 3 { // finalizers and pools
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkSettle is one Settle of an idle cluster with a controller.
func BenchmarkSettle(b *testing.B) {
	within(b, func(b *testing.B, c *controllertest.Cluster) { c.Settle() })
}

// BenchmarkGet is one direct GET, encoded as clients get it and decoded.
func BenchmarkGet(b *testing.B) {
	within(b, func(b *testing.B, c *controllertest.Cluster) {
		if _, err := c.Admin().Do(context.Background(), &client.Request{Path: "/api/v1/namespaces/default"}); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkDay is a virtual day of a cluster at rest: two nodes, ten pods of one Deployment.
func BenchmarkDay(b *testing.B) {
	for b.Loop() {
		inBubble(func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
				addReplicaSets,
				func(m *manager.Manager) error { return deployment.Add(m, deployment.Options{}) },
				func(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) },
				func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
				func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
				func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{Count: 2}) },
			}})
			rs := replicaSet("web", 10)
			d := &appsv1.Deployment{ObjectMeta: rs.ObjectMeta}
			d.Spec.Replicas, d.Spec.Selector, d.Spec.Template = rs.Spec.Replicas, rs.Spec.Selector, rs.Spec.Template
			controllertest.Create(c, d)
			c.Sleep(24 * time.Hour)
			if n := controllertest.Get[*appsv1.Deployment](c, "default", "web").Status.ReadyReplicas; n != 10 {
				b.Fatalf("%d pods are ready", n)
			}
		})
	}
	b.ReportMetric(24*3600*float64(b.N)/b.Elapsed().Seconds(), "virtual-s/s")
}

// inBubble calls f in a bubble, which ends with it.
func inBubble(f func(t *testing.T)) { synctest.Test(new(testing.T), f) }

// within measures f in the bubble of a cluster with a controller. The clock of the benchmark is outside of
// it, where time is real.
func within(b *testing.B, f func(b *testing.B, c *controllertest.Cluster)) {
	b.ReportAllocs()
	clock, set := make(chan bool), make(chan struct{})
	go func() {
		defer close(clock)
		inBubble(func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{addReplicaSets}})
			c.Settle()
			clock <- true
			<-set
			for range b.N {
				f(b, c)
			}
			clock <- false
			<-set
		})
	}()
	for run := range clock {
		if run {
			b.ResetTimer()
		} else {
			b.StopTimer()
		}
		set <- struct{}{}
	}
}

// manyKinds returns the snapshot of a cluster with objects of 30 kinds: of ten, which every cluster has, and
// of those in testdata/kinds.
func manyKinds() (s controllertest.Snapshot) {
	inBubble(func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Manifests: os.DirFS("testdata/kinds")})
		useKinds(t, c)
		c.Settle()
		s = c.Snapshot()
	})
	return s
}

// useKinds reads a list of each of those kinds.
func useKinds(b testing.TB, c *controllertest.Cluster) {
	for _, path := range []string{
		"/api/v1/namespaces", "/api/v1/services", "/api/v1/configmaps", "/api/v1/secrets", "/api/v1/serviceaccounts",
		"/api/v1/endpoints", "/api/v1/limitranges", "/api/v1/resourcequotas", "/api/v1/podtemplates", "/api/v1/pods", "/api/v1/nodes",
		"/api/v1/replicationcontrollers", "/api/v1/persistentvolumeclaims", "/apis/apps/v1/deployments",
		"/apis/apps/v1/replicasets", "/apis/apps/v1/daemonsets", "/apis/apps/v1/statefulsets", "/apis/batch/v1/jobs",
		"/apis/policy/v1/poddisruptionbudgets", "/apis/networking.k8s.io/v1/networkpolicies",
		"/apis/networking.k8s.io/v1/servicecidrs", "/apis/storage.k8s.io/v1/storageclasses",
		"/apis/coordination.k8s.io/v1/leases", "/apis/scheduling.k8s.io/v1/priorityclasses",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
		"/apis/rbac.authorization.k8s.io/v1/roles", "/apis/rbac.authorization.k8s.io/v1/rolebindings",
		"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/apis/apiregistration.k8s.io/v1/apiservices",
	} {
		if _, err := c.Admin().Do(context.Background(), &client.Request{Path: path}); err != nil {
			b.Fatal(err)
		}
	}
}
