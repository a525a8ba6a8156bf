package interop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
)

// BenchmarkBackupOperators measures the programs of folder backup on each server, with 5,000 Backups or as
// many as KEELSON_OBJECTS: lines, size, memory and processor time of the process, the time until all Backups
// are reported, and the time from the end of the leading replica, by SIGTERM and by SIGKILL, until the other
// one has made a Job. Paused Backups have one ConfigMap each, so the caches hold 10,000 objects; the others
// have a Job, an event and a second ConfigMap, so the caches hold 20,000.
//
//	go test -run XXX -bench BackupOperators -benchtime 1x ./examples/interop
func BenchmarkBackupOperators(b *testing.B) {
	objects := 5000
	if text := os.Getenv("KEELSON_OBJECTS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(b, err)
		objects = n
	}
	programs := []program{buildProgram(b, "backup/keelson"), buildProgram(b, "backup/upstream")}
	for _, server := range []struct {
		name  string
		start func(testing.TB) backupServer
	}{{"keelson", keelsonServer}, {"upstream", upstreamServer}} {
		b.Run("server="+server.name, func(b *testing.B) {
			for _, reason := range []string{"Paused", "Running"} {
				for _, p := range programs {
					b.Run("backups="+reason+"/"+filepath.Base(p.path), func(b *testing.B) {
						run := server.start(b)
						for b.Loop() {
							measureBackups(b, newBackupWorld(b, run, p), objects, reason)
						}
					})
				}
			}
		})
	}
}

func measureBackups(b *testing.B, w *backupWorld, objects int, reason string) {
	written, generated := goLines(b, filepath.Join("backup", filepath.Base(w.program.path)))
	b.ReportMetric(float64(written), "lines")
	b.ReportMetric(float64(generated), "lines-generated")
	b.ReportMetric(float64(w.program.size)/1e6, "MB")
	first := w.start(0)
	idle := residentMiB(b, first.Process.Pid)
	began := time.Now()
	createBackups(w, objects, reason == "Paused")
	seesReports(w, objects, reason)
	b.ReportMetric(time.Since(began).Seconds(), "all-s")
	b.ReportMetric(idle, "idle-MiB")
	b.ReportMetric(residentMiB(b, first.Process.Pid), "MiB")
	b.ReportMetric(cpuSeconds(b, first.Process.Pid), "cpu-s")
	w.stop(first, syscall.SIGTERM)

	// A restart over all of them.
	began = time.Now()
	leader := w.start(0)
	makesJobs(w, "restarted")
	b.ReportMetric(time.Since(began).Seconds(), "restart-s")
	b.ReportMetric(cpuSeconds(b, leader.Process.Pid), "restart-cpu-s")
	b.ReportMetric(float64(mostMemory(b, leader.Process.Pid)>>20), "restart-MiB")

	w.stop(leader, syscall.SIGTERM)
	handOver(b, w, syscall.SIGTERM, 5, "hand-over-s")
	handOver(b, w, syscall.SIGKILL, 2, "killed-hand-over-s")
}

// handOver measures how long it takes from the end of the leading replica by a signal until the other one has
// made a Job. One that is killed does not release the lease, which is valid for 15 s. The webhooks are those
// of the first replica, so the second one is the one that leads and ends.
func handOver(b *testing.B, w *backupWorld, signal syscall.Signal, rounds int, unit string) {
	var sum, most time.Duration
	for round := range rounds {
		second := w.start(1)
		w.until("the second replica leads", func() bool { return holder(w) != "" })
		first := w.start(0)
		began := time.Now()
		w.stop(second, signal)
		makesJobs(w, fmt.Sprintf("handed-%d-%d", signal, round))
		took := time.Since(began)
		sum, most = sum+took, max(most, took)
		w.stop(first, syscall.SIGTERM)
	}
	b.ReportMetric(sum.Seconds()/float64(rounds), unit)
	b.ReportMetric(most.Seconds(), "worst-"+unit)
}

func holder(w *backupWorld) string {
	l, err := client.For[*coordinationv1.Lease](w.conn).Get(w.t.Context(), w.key("backup-operator"))
	require.NoError(w.t, apierrors.IgnoreNotFound(err))
	if err != nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func createBackups(w *backupWorld, n int, paused bool) {
	var all sync.WaitGroup
	next := make(chan int)
	for range 8 {
		all.Go(func() {
			for i := range next {
				backup := w.backup(fmt.Sprintf("b-%d", i))
				backup.Spec.Paused = paused
				if _, err := w.backups.Create(w.t.Context(), backup); err != nil {
					w.t.Errorf("create: %v", err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// seesReports waits until n Backups have a condition with the reason.
func seesReports(w *backupWorld, n int, reason string) {
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	reported := map[string]bool{}
	for e, err := range w.backups.Watch(ctx, client.WatchOptions{Namespace: w.namespace}) {
		require.NoError(w.t, err)
		if e.Object != nil && len(e.Object.Status.Conditions) == 1 && e.Object.Status.Conditions[0].Reason == reason {
			reported[e.Object.Name] = true
		}
		if len(reported) == n {
			return
		}
	}
}

// makesJobs creates a Backup and waits for its Job.
func makesJobs(w *backupWorld, name string) {
	_, err := w.backups.Create(w.t.Context(), w.backup(name))
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	for e, err := range w.jobs.Watch(ctx, client.WatchOptions{Namespace: w.namespace}) {
		require.NoError(w.t, err)
		if e.Type == client.Added && e.Object.Name == name+"-1" {
			return
		}
	}
}

// goLines returns the lines of Go in a folder, and of those what a generator would have written.
func goLines(b *testing.B, folder string) (written, generated int) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(b, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(b, err)
		if n := bytes.Count(text, []byte("\n")); filepath.Base(file) == "deepcopy.go" {
			generated += n
		} else {
			written += n
		}
	}
	return written, generated
}

// cpuSeconds is the processor time of a process so far, in user and system mode.
func cpuSeconds(b *testing.B, pid int) float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skip("only Linux says how much processor time a process had: ", err)
	}
	// The fields after the name, which is in parentheses; the unit is 10 ms on every platform of Go.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	sum := 0
	for _, text := range fields[11:13] {
		n, err := strconv.Atoi(text)
		require.NoError(b, err)
		sum += n
	}
	return float64(sum) / 100
}
