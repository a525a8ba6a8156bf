//go:build unix

package main

import (
	"context"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
)

// startTestCluster runs a cluster until the test ends and returns a connection to it.
func startTestCluster(tb testing.TB, args ...string) client.Conn {
	c, err := flags(append([]string{"--runtime=fake", "--secure-port=0", "--write-kubeconfig=" + tb.TempDir() + "/kubeconfig"}, args...))
	require.NoError(tb, err)
	cl := &cluster{config: c, log: slog.New(slog.DiscardHandler), say: func(string, ...any) {}}
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- cl.run(ctx, func() { close(ready) }) }()
	tb.Cleanup(func() {
		stop()
		require.NoError(tb, <-ended)
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- nil
		require.NoError(tb, err)
	}
	conn, err := rest.New(cl.restConfig(cl.pki.program, "test"), rest.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { conn.Close() })
	return conn
}

func TestClusterRunsADeployment(t *testing.T) {
	conn := startTestCluster(t, "--nodes=2")
	d := deploymentOf("web", 3, "x:1")
	_, err := client.For[*appsv1.Deployment](conn).Create(t.Context(), d)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	awaitDeployments(ctx, t, conn, func(d *appsv1.Deployment) bool { return d.Status.AvailableReplicas == 3 }, 1)
}

func deploymentOf(name string, replicas int32, image string) *appsv1.Deployment {
	l := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: l},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: l}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}}},
	}
}

// awaitDeployments watches until done returns true for n Deployments.
func awaitDeployments(ctx context.Context, tb testing.TB, conn client.Conn, done func(*appsv1.Deployment) bool, n int) {
	ok := map[string]bool{}
	for e, err := range client.For[*appsv1.Deployment](conn).Watch(ctx, client.WatchOptions{Namespace: "default"}) {
		require.NoError(tb, err)
		ok[e.Object.Name] = e.Object.Status.ObservedGeneration >= e.Object.Generation && done(e.Object)
		count := 0
		for _, v := range ok {
			if v {
				count++
			}
		}
		if count == n {
			return
		}
	}
	require.FailNow(tb, "the watch ended before the deployments were done")
}

// BenchmarkRollout creates 20 Deployments of 50 replicas on 100 simulated nodes, rolls them to another image
// and scales them to zero. It prints the time of each step and the CPU time of the whole process, which is
// all components and the client.
func BenchmarkRollout(b *testing.B) {
	for range b.N {
		conn := startTestCluster(b, "--nodes=100")
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		cpu := cpuTime()
		rollOut(ctx, b, conn)
		b.ReportMetric((cpuTime() - cpu).Seconds(), "cpu-s")
		cancel()
	}
}

// rollOut creates 20 Deployments of 50 replicas, rolls them to another image, scales them to zero, and
// reports how long each step took.
func rollOut(ctx context.Context, b *testing.B, conn client.Conn) {
	const deployments, replicas = 20, 50
	api := client.For[*appsv1.Deployment](conn)
	names := make([]string, deployments)
	for i := range names {
		names[i] = fmt.Sprintf("d%d", i)
	}
	step := func(metric string, write func(name string) error, done func(*appsv1.Deployment) bool) {
		began := time.Now()
		for _, name := range names {
			require.NoError(b, write(name))
		}
		awaitDeployments(ctx, b, conn, done, deployments)
		b.ReportMetric(time.Since(began).Seconds(), metric)
	}
	step("create-s", func(name string) error {
		_, err := api.Create(ctx, deploymentOf(name, replicas, "x:1"))
		return err
	}, func(d *appsv1.Deployment) bool { return d.Status.AvailableReplicas == replicas })
	change := func(f func(d *appsv1.Deployment)) func(string) error {
		return func(name string) error {
			_, err := client.Update(ctx, api, types.NamespacedName{Namespace: "default", Name: name}, func(d *appsv1.Deployment) error {
				f(d)
				return nil
			})
			return err
		}
	}
	step("roll-s", change(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "x:2" }), func(d *appsv1.Deployment) bool {
		return d.Status.UpdatedReplicas == replicas && d.Status.Replicas == replicas && d.Status.AvailableReplicas == replicas
	})
	step("scale-to-0-s", change(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) }), func(d *appsv1.Deployment) bool { return d.Status.Replicas == 0 })
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
