package kubelet_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/controllers/noderuntime"
)

// BenchmarkKubeletsBeside runs the program examples/kubelet and the kubelet of Kubernetes in turns on the
// same containerd with the same pods, and then on a fake runtime with 1,000 pods, and prints what they cost:
// the time and CPU time to start 30 pods, CPU time and resident memory with 100 pods that do nothing, the
// time until a changed ConfigMap is mounted, and how long a list of 1,000 pods takes. Each work is done twice
// by each. It takes about half an hour: run it with -timeout 1h.
func BenchmarkKubeletsBeside(b *testing.B) {
	seeds.Peer(b, "kubelet")
	inNamespace(b, benchmarkKubelets)
}

// kubelets are the programs to compare, by name, in the order of their turns.
type kubelets struct {
	*realNode
	programs []string
	paths    map[string]string
}

func benchmarkKubelets(b *testing.B) {
	journaled(b)
	n := startReal(b)
	b.Cleanup(n.unmountAll)
	n.until("service account", has("default"), "get", "serviceaccount", "default", "-o", "name")
	n.stop()
	ours := filepath.Join(n.dir, "examples-kubelet")
	out, err := exec.CommandContext(b.Context(), "go", "build", "-o", ours, "../../examples/kubelet").CombinedOutput()
	require.NoError(b, err, "%s", out)
	k := &kubelets{n, []string{"ours", "theirs"}, map[string]string{"ours": ours, "theirs": seeds.Peer(b, "kubelet")}}
	k.start30(b)
	k.idle100(b)
	k.thousand(b)
}

// journaled makes temporary files be on an ext4 with a journal, as nodes have. On one without, to create a
// file takes the longer the more have just been removed, which what ran before decides.
func journaled(b *testing.B) {
	image, dir := filepath.Join(b.TempDir(), "image"), b.TempDir()
	run := func(program string, args ...string) {
		out, err := exec.Command(program, args...).CombinedOutput()
		require.NoError(b, err, "%s: %s", program, out)
	}
	run("truncate", "--size=6G", image)
	run("mkfs.ext4", "-q", image)
	run("mount", "-o", "loop", image, dir)
	b.Cleanup(func() { run("umount", dir) })
	b.Setenv("TMPDIR", dir)
}

// turns runs work twice with each kubelet.
func (k *kubelets) turns(b *testing.B, what, node, runtime string, work func(b *testing.B, name string, p kubeletProgram)) {
	for range 2 {
		for _, name := range k.programs {
			b.Run(what+"/"+name, func(b *testing.B) {
				k.t = b
				settings := "maxPods: 1200\n"
				if name == "theirs" {
					settings += k.ofUpstream()
				}
				p := k.startProgram(k.paths[name], node, runtime, settings)
				defer p.stop()
				k.until("it serves", is("ok"), "get", "--raw", "/api/v1/nodes/"+node+"/proxy/healthz")
				<-time.After(5 * time.Second) // what it does at its start is over
				work(b, name, p)
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// quietPod does nothing, in the image of the pause process.
func quietPod(node, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"on": node}},
		Spec: corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: new(int64(0)),
			Volumes: []corev1.Volume{{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}},
			Containers: []corev1.Container{{Name: "main", Image: noderuntime.PauseImage, ImagePullPolicy: corev1.PullIfNotPresent,
				VolumeMounts: []corev1.VolumeMount{{Name: "settings", MountPath: "/settings"}}}}}}
}

// create makes pods and waits until all are ready.
func (k *kubelets) create(b *testing.B, node, prefix string, count int) {
	pods := client.For[*corev1.Pod](k.conn)
	var g errgroup.Group
	g.SetLimit(8)
	for i := range count {
		g.Go(func() error {
			_, err := pods.Create(b.Context(), quietPod(node, fmt.Sprintf("%s-%d", prefix, i)))
			return err
		})
	}
	require.NoError(b, g.Wait())
	ready := map[string]bool{}
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	for e, err := range pods.Watch(ctx, client.WatchOptions{Namespace: "default"}) {
		require.NoError(b, err)
		if !strings.HasPrefix(e.Object.Name, prefix+"-") {
			continue
		}
		ready[e.Object.Name] = slices.ContainsFunc(e.Object.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if all := 0; len(ready) >= count {
			for _, ok := range ready {
				if ok {
					all++
				}
			}
			if all == count {
				return
			}
		}
	}
	b.Fatalf("%d of %d pods of %s became ready: %v", len(ready), count, prefix, ctx.Err())
}

// remove deletes pods and waits until they and their folders are gone, which the next kubelet would remove
// otherwise.
func (k *kubelets) remove(b *testing.B, node string) {
	k.kubectl("delete", "pods", "-l", "on="+node, "--wait=true", "--timeout=10m")
	for began := time.Now(); ; <-time.After(100 * time.Millisecond) {
		left, err := os.ReadDir(filepath.Join(k.dir, "kubelet", "pods"))
		require.NoError(b, err)
		if len(left) == 0 {
			return
		}
		require.Less(b, time.Since(began), 5*time.Minute)
	}
}

// used returns the CPU time of a process, and its resident memory in bytes.
func used(b *testing.B, pid int) (cpu time.Duration, resident float64) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(b, err)
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	ticks := 0
	for _, f := range fields[11:13] {
		t, err := strconv.Atoi(f)
		require.NoError(b, err)
		ticks += t
	}
	pages, err := strconv.ParseFloat(fields[21], 64)
	require.NoError(b, err)
	return time.Duration(ticks) * (time.Second / 100), pages * float64(os.Getpagesize())
}

// start30 starts 30 pods.
func (k *kubelets) start30(b *testing.B) {
	k.kubectl("create", "configmap", "settings", "--from-literal=color=blue")
	k.turns(b, "start 30 pods", "node1", k.runtime.Endpoint(), func(b *testing.B, name string, p kubeletProgram) {
		before, _ := used(b, p.pid)
		began := time.Now()
		k.create(b, "node1", "thirty", 30)
		b.ReportMetric(time.Since(began).Seconds(), "s")
		after, _ := used(b, p.pid)
		b.ReportMetric((after - before).Seconds(), "cpu-s")
		k.remove(b, "node1")
	})
}

// idle100 measures kubelets with 100 pods that do nothing, and then changes a ConfigMap that all have
// mounted.
func (k *kubelets) idle100(b *testing.B) {
	changes := 0
	k.turns(b, "idle with 100 pods", "node1", k.runtime.Endpoint(), func(b *testing.B, name string, p kubeletProgram) {
		if changes == 0 {
			k.create(b, "node1", "idle", 100)
		}
		k.until("it works on the pods", has(`"pods"`), "get", "--raw", "/api/v1/nodes/node1/proxy/stats/summary")
		const settle, measure = 30 * time.Second, 60 * time.Second
		<-time.After(settle)
		before, _ := used(b, p.pid)
		<-time.After(measure)
		after, resident := used(b, p.pid)
		b.ReportMetric((after-before).Seconds()*1000/measure.Seconds(), "cpu-ms/s")
		b.ReportMetric(resident/(1<<20), "MiB")

		changes++
		want := fmt.Sprint("color", changes)
		uid := k.kubectl("get", "pod", "idle-7", "-o", "jsonpath={.metadata.uid}")
		file := filepath.Join(k.dir, "kubelet", "pods", uid, "volumes", "kubernetes.io~configmap", "settings", "color")
		k.kubectl("patch", "configmap", "settings", "--patch", fmt.Sprintf(`{"data": {"color": %q}}`, want))
		changed := time.Now()
		for {
			if text, err := os.ReadFile(file); err == nil && string(text) == want {
				break
			}
			require.Less(b, time.Since(changed), 5*time.Minute)
			<-time.After(20 * time.Millisecond)
		}
		b.ReportMetric(time.Since(changed).Seconds(), "s-until-mounted")
	})
	k.kubectl("delete", "pods", "-l", "on=node1", "--wait=false", "--grace-period=0", "--force")
}

// thousand measures kubelets with 1,000 pods in a runtime that is only simulated.
func (k *kubelets) thousand(b *testing.B) {
	fake := fakecri.New(noderuntime.PauseImage)
	socket := filepath.Join(k.dir, "fake.sock")
	ctx, cancel := context.WithCancel(b.Context())
	dial, wait := fake.Serve(ctx)
	l, err := net.Listen("unix", socket)
	require.NoError(b, err)
	go forward(ctx, l, dial)
	defer func() { cancel(); _ = l.Close(); wait() }()
	made := false
	lists := regexp.MustCompile(`(?m)^kubelet_pleg_relist_duration_seconds_(count|sum) (\S+)$`)
	k.turns(b, "1,000 pods of a fake runtime", "many", "unix://"+socket, func(b *testing.B, name string, p kubeletProgram) {
		if !made {
			k.create(b, "many", "many", 1000)
			made = true
		}
		const settle, measure = 30 * time.Second, 60 * time.Second
		read := func() (cpu time.Duration, resident, count, sum float64) {
			cpu, resident = used(b, p.pid)
			for _, m := range lists.FindAllStringSubmatch(k.page(b, p.port, "/metrics"), -1) {
				v, err := strconv.ParseFloat(m[2], 64)
				require.NoError(b, err)
				if m[1] == "sum" {
					sum = v
				} else {
					count = v
				}
			}
			return cpu, resident, count, sum
		}
		<-time.After(settle)
		cpu, _, count, sum := read()
		<-time.After(measure)
		cpu2, resident, count2, sum2 := read()
		b.ReportMetric((cpu2-cpu).Seconds()*1000/measure.Seconds(), "cpu-ms/s")
		b.ReportMetric(resident/(1<<20), "MiB")
		b.ReportMetric((sum2-sum)/(count2-count)*1000, "ms/list")
	})
}

// page reads a page of a kubelet.
func (k *kubelets) page(b *testing.B, port int, path string) string {
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: k.pki.pool, Certificates: []tls.Certificate{k.pki.admin.TLS()}}}}
	defer c.CloseIdleConnections()
	resp, err := c.Get(fmt.Sprintf("https://127.0.0.1:%d%s", port, path))
	require.NoError(b, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(b, err)
	return string(text)
}

// forward connects what dials a listener with another end.
func forward(ctx context.Context, l net.Listener, dial func(context.Context, string) (net.Conn, error)) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		far, err := dial(ctx, "")
		if err != nil {
			_ = near.Close()
			continue
		}
		go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
		go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
	}
}
