package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/examples/internal/load"
	"github.com/keelson-dev/keelson/examples/internal/servers"
)

// BenchmarkServersBeside is the table of the controllers' budgets: our programs and Kubernetes' own over etcd
// with 100 simulated nodes, which are ours in both. It prints the times of each work and the CPU time of all
// servers and of the controllers alone, without the nodes. Run it with -benchtime=1x on a quiet machine.
func BenchmarkServersBeside(b *testing.B) {
	peers := filepath.Dir(seeds.Peer(b, "kube-controller-manager"))
	ours, theirs := b.TempDir(), b.TempDir()
	for _, program := range []string{"kube-apiserver", "kube-scheduler", "kube-controller-manager", "fake-nodes"} {
		out, err := exec.CommandContext(b.Context(), "go", "build", "-o", ours, "../"+program).CombinedOutput()
		require.NoError(b, err, "%s", out)
		if program != "fake-nodes" {
			require.NoError(b, os.Symlink(filepath.Join(peers, program), filepath.Join(theirs, program)))
		}
	}
	require.NoError(b, os.Symlink(filepath.Join(ours, "fake-nodes"), filepath.Join(theirs, "fake-nodes")))
	for _, dir := range []string{ours, theirs} {
		require.NoError(b, os.Symlink(filepath.Join(peers, "etcd"), filepath.Join(dir, "etcd")))
	}
	works := []struct {
		name string
		do   func(ctx context.Context, b *testing.B, conn client.Conn)
	}{{"rollout", rollOut}, {"collect", collect}, {"slices", fillSlices}, {"statefulset", growStatefulSet}}
	for _, w := range works {
		for _, side := range []struct{ name, dir string }{{"ours", ours}, {"theirs", theirs}} {
			b.Run(w.name+"/"+side.name, func(b *testing.B) {
				for range b.N {
					measureServers(b, side.dir, w.do)
				}
			})
		}
	}
}

func measureServers(b *testing.B, dir string, work func(ctx context.Context, b *testing.B, conn client.Conn)) {
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	ctx, s, err := servers.Start(ctx, servers.Options{Dir: dir, Controllers: "*"})
	require.NoError(b, err)
	defer s.End()
	require.NoError(b, s.Run(ctx, "fake-nodes", "--kubeconfig="+s.Kubeconfig(), "--nodes=100"))
	conn, err := rest.New(s.Config, rest.Options{})
	require.NoError(b, err)
	defer conn.Close()
	ready := map[string]bool{}
	for e, err := range client.For[*corev1.Node](conn).Watch(ctx, client.WatchOptions{}) {
		require.NoError(b, err, "%v", context.Cause(ctx))
		schedulable := !slices.ContainsFunc(e.Object.Spec.Taints, func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule })
		if ready[e.Object.Name] = true; !schedulable {
			delete(ready, e.Object.Name)
		}
		if len(ready) == 100 {
			break
		}
	}
	// The account of the namespace comes from the controllers: they run then.
	for _, err := range client.For[*corev1.ServiceAccount](conn).Watch(ctx, client.WatchOptions{Namespace: "default"}) {
		require.NoError(b, err, "%v", context.Cause(ctx))
		break
	}
	atRest(ctx, b, s) // the first work after a start is not what is measured
	before := make([]load.Usage, len(s.PIDs))
	for i, pid := range s.PIDs {
		before[i], err = load.UsageOf(pid)
		require.NoError(b, err)
	}
	work(ctx, b, conn)
	var all float64
	for i, pid := range s.PIDs {
		after, err := load.UsageOf(pid)
		require.NoError(b, err)
		took := (after.CPU - before[i].CPU).Seconds()
		b.ReportMetric(took, s.Names[i]+"-cpu-s")
		if s.Names[i] != "fake-nodes" {
			all += took
		}
	}
	b.ReportMetric(all, "all-cpu-s")
}

// atRest returns when the servers have used at most a tenth of a core for two seconds.
func atRest(ctx context.Context, b *testing.B, s *servers.Servers) {
	quiet, before := 0, time.Duration(0)
	for tick := time.NewTicker(500 * time.Millisecond); quiet < 4; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.NoError(b, context.Cause(ctx))
		}
		var now time.Duration
		for _, pid := range s.PIDs {
			u, err := load.UsageOf(pid)
			require.NoError(b, err)
			now += u.CPU
		}
		if quiet++; now-before > 50*time.Millisecond {
			quiet = 0
		}
		before = now
	}
}

// collect deletes 200 owners of 10 objects each.
func collect(ctx context.Context, b *testing.B, conn client.Conn) {
	const owners, children = 200, 10
	api := client.For[*corev1.ConfigMap](conn)
	var g errgroup.Group
	g.SetLimit(8)
	for i := range owners {
		g.Go(func() error {
			owner, err := api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("owner-", i)}})
			if err != nil {
				return err
			}
			for j := range children {
				_, err := api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("child-%d-%d", i, j), Labels: map[string]string{"is": "child"},
					OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}}})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, g.Wait())
	began, left := time.Now(), map[string]bool{}
	for e, err := range client.For[*corev1.ConfigMap](conn).Watch(ctx, client.WatchOptions{Namespace: "default", LabelSelector: labels.MustParse("is=child")}) {
		require.NoError(b, err, "%v", context.Cause(ctx))
		switch e.Type {
		case client.Deleted:
			delete(left, e.Object.Name)
		default:
			left[e.Object.Name] = true
		}
		if e.Type == client.Added && len(left) == owners*children {
			began = time.Now()
			for i := range owners {
				g.Go(func() error {
					return api.Delete(ctx, types.NamespacedName{Namespace: "default", Name: fmt.Sprint("owner-", i)}, client.DeleteOptions{})
				})
			}
		}
		if len(left) == 0 {
			break
		}
	}
	b.ReportMetric(time.Since(began).Seconds(), "collected-s")
	require.NoError(b, g.Wait())
}

// fillSlices rolls out a Deployment of 400 pods behind a Service, and reports how long after a watch has
// shown a pod as ready another watch shows its address as ready in a slice. Beside it one object is changed
// again and again: until a change is seen is the least that any controller takes, on this machine at this
// load.
func fillSlices(ctx context.Context, b *testing.B, conn client.Conn) {
	const replicas = 400
	d := deploymentOf("web", replicas, "x:1")
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	_, err := client.For[*corev1.Service](conn).Create(ctx, service)
	require.NoError(b, err)
	ready, listed := make(chan map[string]time.Time, 1), make(chan map[string]time.Time, 1)
	go func() {
		at := map[string]time.Time{}
		for e, err := range client.For[*corev1.Pod](conn).Watch(ctx, client.WatchOptions{Namespace: "default"}) {
			if err != nil {
				break
			}
			isReady := slices.ContainsFunc(e.Object.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == "True" })
			if _, ok := at[e.Object.Name]; isReady && !ok {
				if at[e.Object.Name] = time.Now(); len(at) == replicas {
					break
				}
			}
		}
		ready <- at
	}()
	go func() {
		at := map[string]time.Time{}
		for e, err := range client.For[*discoveryv1.EndpointSlice](conn).Watch(ctx, client.WatchOptions{Namespace: "default", LabelSelector: labels.MustParse("kubernetes.io/service-name=web")}) {
			if err != nil {
				break
			}
			for _, ep := range e.Object.Endpoints {
				if ep.TargetRef == nil || ep.Conditions.Ready == nil || !*ep.Conditions.Ready {
					continue
				}
				if _, ok := at[ep.TargetRef.Name]; !ok {
					at[ep.TargetRef.Name] = time.Now()
				}
			}
			if len(at) == replicas {
				break
			}
		}
		listed <- at
	}()
	floor, stop := make(chan load.Result, 1), make(chan struct{})
	go func() { floor <- changes(ctx, conn, stop) }()
	_, err = client.For[*appsv1.Deployment](conn).Create(ctx, d)
	require.NoError(b, err)
	from, to := <-ready, <-listed
	close(stop)
	require.Len(b, from, replicas, "%v", context.Cause(ctx))
	require.Len(b, to, replicas, "%v", context.Cause(ctx))
	r := load.Result{}
	for name, at := range to {
		r.Times = append(r.Times, max(0, at.Sub(from[name])))
	}
	for name, r := range map[string]load.Result{"": r, "change-": <-floor} {
		slices.Sort(r.Times)
		b.ReportMetric(r.Percentile(50).Seconds()*1000, name+"p50-ms")
		b.ReportMetric(r.Percentile(99).Seconds()*1000, name+"p99-ms")
	}
}

// changes updates a ConfigMap, waits until a watch shows it, and does so again, until stop is closed.
func changes(ctx context.Context, conn client.Conn, stop <-chan struct{}) (r load.Result) {
	api := client.For[*corev1.ConfigMap](conn)
	at := time.Now()
	o, err := api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "changed"}})
	for e, watchErr := range api.Watch(ctx, client.WatchOptions{Namespace: "default", FieldSelector: fields.MustParse("metadata.name=changed")}) {
		if err != nil || watchErr != nil {
			return r
		}
		r.Times = append(r.Times, time.Since(at))
		select {
		case <-stop:
			return r
		default:
		}
		o = e.Object
		o.Data = map[string]string{"n": fmt.Sprint(len(r.Times))}
		at = time.Now()
		_, err = api.Update(ctx, o)
	}
	return r
}

// growStatefulSet creates a StatefulSet of 100 pods that start in parallel.
func growStatefulSet(ctx context.Context, b *testing.B, conn client.Conn) {
	const replicas = 100
	d := deploymentOf("db", replicas, "x:1")
	s := &appsv1.StatefulSet{ObjectMeta: d.ObjectMeta, Spec: appsv1.StatefulSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector,
		Template: d.Spec.Template, ServiceName: "db", PodManagementPolicy: appsv1.ParallelPodManagement}}
	began := time.Now()
	_, err := client.For[*appsv1.StatefulSet](conn).Create(ctx, s)
	require.NoError(b, err)
	for e, err := range client.For[*appsv1.StatefulSet](conn).Watch(ctx, client.WatchOptions{Namespace: "default"}) {
		require.NoError(b, err, "%v", context.Cause(ctx))
		if e.Object.Status.ReadyReplicas == replicas {
			break
		}
	}
	b.ReportMetric(time.Since(began).Seconds(), "ready-s")
}
