package interop

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// program is one of those in the folders hello and backup, built as for an image: static and without symbols.
type program struct {
	path    string
	size    int64
	modules int // third-party modules with code in it
}

func buildProgram(t testing.TB, folder string) program {
	p := program{path: filepath.Join(t.TempDir(), filepath.Base(folder))}
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", p.path, "./"+folder)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	stat, err := os.Stat(p.path)
	require.NoError(t, err)
	p.size = stat.Size()
	info, err := buildinfo.ReadFile(p.path)
	require.NoError(t, err)
	for _, m := range info.Deps {
		if m.Path != "github.com/keelson-dev/keelson" {
			p.modules++
		}
	}
	return p
}

// started is a run of a program: the time from its start until it had answered, and its maximum memory until
// then.
type started struct {
	took time.Duration
	rss  int64
}

var helloRuns atomic.Int32

// start runs the program against a cluster until it has answered a ConfigMap, and ends it.
func (p program) start(t testing.TB, c *controllertest.Cluster, kubeconfig string) started {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	maps, name := client.For[*corev1.ConfigMap](c.Conn()), fmt.Sprintf("hello-%d", helloRuns.Add(1))
	asked := &corev1.ConfigMap{Data: map[string]string{"greeting": "hi"}}
	asked.Namespace, asked.Name = "default", name
	asked, err := maps.Create(ctx, asked)
	require.NoError(t, err)
	cmd := exec.CommandContext(ctx, p.path, name)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	var said strings.Builder
	cmd.Stderr = &said
	began := time.Now()
	require.NoError(t, cmd.Start())
	for ev, err := range maps.Watch(ctx, client.WatchOptions{Namespace: "default", ResourceVersion: asked.ResourceVersion}) {
		require.NoError(t, err, "%s", &said)
		if ev.Object.Name == name && ev.Object.Data["answer"] == "hello" {
			break
		}
	}
	s := started{took: time.Since(began), rss: mostMemory(t, cmd.Process.Pid)}
	require.NoError(t, ctx.Err(), "no answer: %s", &said)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait(), "%s", &said)
	return s
}

// mostMemory is the largest resident set a process has had, in bytes; 0 where the system does not say.
func mostMemory(t testing.TB, pid int) int64 {
	if runtime.GOOS != "linux" {
		return 0
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	require.NoError(t, err)
	return kib << 10
}

// A small operator works like the one over controller-runtime, and stays within the documented size.
func TestHelloOperators(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	kubeconfig := c.Kubeconfig()
	ours, theirs := buildProgram(t, "hello/keelson"), buildProgram(t, "hello/upstream")
	for _, p := range []program{ours, theirs} {
		s := p.start(t, c, kubeconfig)
		t.Logf("%s: %d bytes, %d modules, answered after %v with %d MiB", filepath.Base(p.path), p.size, p.modules, s.took, s.rss>>20)
	}
	require.LessOrEqual(t, ours.modules, 8)
	require.Less(t, ours.size, theirs.size/2)
}

// BenchmarkHelloOperator measures the time of a small operator from its start to its first write.
func BenchmarkHelloOperator(b *testing.B) {
	c := controllertest.Start(b, controllertest.Options{})
	kubeconfig := c.Kubeconfig()
	for _, name := range []string{"keelson", "upstream"} {
		p := buildProgram(b, "hello/"+name)
		b.Run(name, func(b *testing.B) {
			var rss int64
			for b.Loop() {
				rss = max(rss, p.start(b, c, kubeconfig).rss)
			}
			b.ReportMetric(float64(p.size)/1e6, "MB")
			b.ReportMetric(float64(p.modules), "modules")
			b.ReportMetric(float64(rss>>20), "MiB-rss")
		})
	}
}
