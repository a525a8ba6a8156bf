package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/examples/internal/load"
	"github.com/keelson-dev/keelson/store/storetest"
)

// process is an API server in a separate process, so that its CPU time and memory can be measured.
type process struct {
	cmd  *exec.Cmd
	host string
	etcd *storetest.Etcd // nil: the memory store
	dir  string
	more []string // further flags

	prepared bool // the load's namespace exists
}

// startProcess starts a server over the memory store, or over etcd, with further flags.
func startProcess(b *testing.B, etcd *storetest.Etcd, more ...string) *process {
	b.Helper()
	p := &process{dir: b.TempDir(), etcd: etcd, host: storetest.FreeAddress(b), more: more}
	require.NoError(b, os.WriteFile(filepath.Join(p.dir, "tokens"), []byte(`secret,admin,1,"system:masters"`+"\nbusy,busy,2\nsmall,small,3\n"), 0o600))
	p.start(b)
	b.Cleanup(p.kill)
	return p
}

func (p *process) start(b *testing.B) {
	_, port, err := net.SplitHostPort(p.host)
	require.NoError(b, err)
	args := []string{"--bind-address=127.0.0.1", "--secure-port=" + port, "--token-auth-file=" + filepath.Join(p.dir, "tokens"), "--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.98.0.0/16", "--max-requests-inflight=0", "--max-mutating-requests-inflight=0"}
	if p.etcd == nil {
		args = append(args, "--storage-backend=memory")
	} else {
		args = append(args, "--generate-service-account-key", "--etcd-servers="+p.etcd.Endpoint)
	}
	p.cmd = exec.Command(os.Args[0], append(args, p.more...)...)
	p.cmd.Env = append(os.Environ(), asServer+"=1")
	require.NoError(b, p.cmd.Start())
}

func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
}

// connect waits until the server is ready and returns n connections of an administrator to it.
func (p *process) connect(b *testing.B, n int) []client.Conn { return p.connectAs(b, n, "secret") }

// connectAs is connect for the user of a token.
func (p *process) connectAs(b *testing.B, n int, token string) []client.Conn {
	var conns []client.Conn
	for range n {
		conn, err := rest.New(rest.Config{Host: "https://" + p.host, BearerToken: token, TLS: rest.TLSConfig{Insecure: true}}, rest.Options{})
		require.NoError(b, err)
		b.Cleanup(func() { _ = conn.Close() })
		conns = append(conns, conn)
	}
	require.Eventually(b, func() bool {
		_, err := conns[0].Do(b.Context(), &client.Request{Path: "/readyz"})
		return err == nil
	}, time.Minute, 5*time.Millisecond)
	return conns
}

func (p *process) pids() []int {
	pids := []int{p.cmd.Process.Pid}
	if p.etcd != nil {
		pids = append(pids, p.etcd.PID())
	}
	return pids
}

// put runs phases against a server and reports the CPU time of each operation, etcd's included, and its
// resident memory at the end.
func (p *process) put(b *testing.B, o load.Options, phases ...string) []load.Result {
	b.Helper()
	o.Namespace, o.PIDs = "loadtest", p.pids()
	l := load.New(p.connect(b, 4), o)
	if !p.prepared {
		require.NoError(b, l.Prepare(b.Context()))
		p.prepared = true
	}
	var results []load.Result
	for _, phase := range phases {
		profiled := p.profile(b, phase)
		done, err := l.Run(b.Context(), []string{phase})
		require.NoError(b, err)
		require.NoError(b, done[0].First, phase)
		results = append(results, done[0])
		<-profiled
	}
	return results
}

// profiles is the folder for profiles of the server: of the CPU in the first seconds of each phase, and of
// the heap after it.
var profiles = flag.String("profiles", "", "folder for CPU and heap profiles of the server in each phase")

// profile starts a CPU profile of the server. The channel is closed when it and the profile of the heap after
// it are written.
func (p *process) profile(b *testing.B, phase string) <-chan struct{} {
	done := make(chan struct{})
	if *profiles == "" {
		close(done)
		return done
	}
	conn := p.connect(b, 1)[0]
	started := time.Now()
	go func() {
		defer close(done)
		for _, name := range []string{"profile", "heap"} {
			query := url.Values{"seconds": {"5"}}
			if name == "heap" {
				query = url.Values{"gc": {"1"}}
			}
			resp, err := conn.Do(b.Context(), &client.Request{Path: "/debug/pprof/" + name, Query: query})
			if err == nil {
				err = os.WriteFile(filepath.Join(*profiles, phase+"."+name), resp.Body, 0o600)
			}
			if err != nil {
				b.Errorf("profile of %s after %v: %v", phase, time.Since(started), err)
			}
		}
	}()
	return done
}

// BenchmarkProcess is the server table of the budgets: each verb's CPU time, with 32 clients and 10,000 Pods,
// and the cost of the same responses from a bare handler. Run it with -benchtime=1x.
func BenchmarkProcess(b *testing.B) {
	for _, backend := range []string{"memory", "etcd"} {
		b.Run(backend, func(b *testing.B) {
			for b.Loop() {
				var etcd *storetest.Etcd
				if backend == "etcd" {
					etcd = storetest.StartEtcd(b)
				}
				p := startProcess(b, etcd)
				o := load.Options{Objects: 10000, Clients: 32, Lists: 10, Watchers: 200, Events: 100, Changes: 10}
				phases := load.Names()
				last := len(phases) - 1 // deletes the pods
				writes := slices.Index(phases, "update")
				results := p.put(b, o, phases[:writes]...)
				// With responses of the size just measured.
				p.floorOf(b, o, "get", "list", "list-protobuf", "list-label")
				results = append(results, p.put(b, o, phases[writes:last]...)...)
				p.floorOf(b, o, "update", "patch", "watch")
				results = append(results, p.put(b, o, phases[last:]...)...)
				var resident, ofEtcd int64
				for _, r := range results {
					cpu, now := r.PerOperation()
					if etcd != nil { // the server's process is the first
						store := r.Usage[1]
						ofEtcd = max(ofEtcd, store.Resident)
						b.ReportMetric(float64(store.CPU.Nanoseconds())/1000/float64(max(len(r.Times), 1)), r.Phase+"-etcd-us/op")
					}
					resident = max(resident, now)
					b.ReportMetric(float64(cpu.Nanoseconds())/1000, r.Phase+"-us/op")
					if r.Phase == "watch" {
						b.ReportMetric(float64(r.Percentile(99).Nanoseconds())/1e6, "watch-p99-ms")
					}
				}
				b.ReportMetric(float64(resident>>20), "MiB")
				if etcd != nil {
					b.ReportMetric(float64(ofEtcd>>20), "etcd-MiB")
				}
				p.kill()
			}
		})
	}
}

// BenchmarkLists measures the first list of 10,000 Pods, for which their JSON is made, and those after it,
// which share it. Run it with -benchtime=1x.
func BenchmarkLists(b *testing.B) {
	for b.Loop() {
		p := startProcess(b, nil)
		o := load.Options{Objects: 10000, Clients: 32, Lists: 1}
		report := func(name string, r load.Result) {
			cpu, _ := r.PerOperation()
			b.ReportMetric(float64(cpu.Nanoseconds())/1e6, name)
		}
		report("first-ms", p.put(b, o, "create", "list")[1])
		o.Lists = 30
		report("list-ms", p.put(b, o, "list")[0])
		report("list-protobuf-ms", p.put(b, o, "list-protobuf")[0])
		p.floorOf(b, o, "list", "list-protobuf")
		p.kill()
	}
}

// BenchmarkGrowth shows how the cost of an operation grows with the number of objects and of watchers. Run it
// with -benchtime=1x.
func BenchmarkGrowth(b *testing.B) {
	for _, objects := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprintf("objects=%d", objects), func(b *testing.B) {
			for b.Loop() {
				p := startProcess(b, nil)
				for _, r := range p.put(b, load.Options{Objects: objects, Clients: 32, Lists: 20}, "create", "get", "patch", "list-label") {
					cpu, _ := r.PerOperation()
					b.ReportMetric(float64(cpu.Nanoseconds())/1000, r.Phase+"-us/op")
				}
				p.kill()
			}
		})
	}
	for _, watchers := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("watchers=%d", watchers), func(b *testing.B) {
			for b.Loop() {
				p := startProcess(b, nil)
				results := p.put(b, load.Options{Objects: 10, Clients: 4, Watchers: watchers, Events: max(20, 2000/watchers)}, "create", "watch")
				cpu, resident := results[1].PerOperation()
				b.ReportMetric(float64(cpu.Nanoseconds())/1000, "us/delivery")
				b.ReportMetric(float64(results[1].Percentile(99).Nanoseconds())/1e6, "p99-ms")
				b.ReportMetric(float64(resident>>20), "MiB")
				p.kill()
			}
		})
	}
}

// BenchmarkRestart is a server that starts over an etcd with 10,000 Pods, until it has answered a LIST and a
// watch. Budget: 0.6 s, 150 MB.
func BenchmarkRestart(b *testing.B) {
	p := startProcess(b, storetest.StartEtcd(b))
	p.put(b, load.Options{Objects: 10000, Clients: 32}, "create")
	for b.Loop() {
		p.kill()
		begun := time.Now()
		p.start(b)
		conn := p.connect(b, 1)[0]
		ready := time.Since(begun)
		profiled := p.profile(b, "restart")
		list, err := client.For[*corev1.Pod](conn).List(b.Context(), client.ListOptions{Namespace: "loadtest"})
		require.NoError(b, err)
		require.Len(b, list.Items, 10000)
		listed := time.Since(begun)
		ctx, cancel := context.WithCancel(b.Context())
		key := client.Patch{Type: "application/merge-patch+json", Data: []byte(`{"metadata":{"labels":{"restarted":"` + fmt.Sprint(time.Now().UnixNano()) + `"}}}`)}
		for _, err := range client.For[*corev1.Pod](conn).Watch(ctx, client.WatchOptions{Namespace: "loadtest", ResourceVersion: "0"}) {
			require.NoError(b, err)
			break
		}
		_, err = client.For[*corev1.Pod](conn).Patch(ctx, load.Key("loadtest", 0), key)
		require.NoError(b, err)
		cancel()
		<-profiled
		used, err := load.UsageOf(p.cmd.Process.Pid)
		require.NoError(b, err)
		b.ReportMetric(float64(used.Resident>>20), "MiB")
		b.ReportMetric(float64(used.CPU.Milliseconds()), "cpu-ms")
		b.ReportMetric(float64(ready.Milliseconds()), "until-ready-ms")
		b.ReportMetric(float64((listed - ready).Milliseconds()), "list-ms")
	}
}
