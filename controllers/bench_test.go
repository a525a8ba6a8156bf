package controllers_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// BenchmarkClusters measures what one controller takes for each of its clusters, which have 1,000 ConfigMaps:
// memory and goroutines until its cache is filled, and the time of one change until each cluster's reconciler
// has run. All clusters are the same server, whose memory does not depend on their number, except for its
// watches.
//
//	go test -run XXX -bench Clusters -benchtime 20x ./controllers
func BenchmarkClusters(b *testing.B) {
	for _, n := range []int{1, 10, 50} {
		b.Run(fmt.Sprintf("clusters=%d", n), func(b *testing.B) {
			hub := controllertest.Start(b, controllertest.Options{})
			for i := range 1000 {
				controllertest.Create(hub, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", fmt.Sprintf("c%03d", i)), Data: map[string]string{"v": "1"}})
			}
			m := manager.New(hub.Conn(), manager.Options{})
			fleet := controllers.NewClusters(m, controllers.ClustersOptions{})
			runs := make(chan struct{}, 100)
			r := fleet.Reconciler(func(context.Context, *controllers.Cluster, reconcile.Request) (reconcile.Result, error) {
				runs <- struct{}{}
				return reconcile.Result{}, nil
			})
			_, err := controllers.Add(m, "clusters", r, controllers.Options{}, controllers.InClusters(fleet, controllers.For[*corev1.ConfigMap]()))
			require.NoError(b, err)
			ctx, stop := context.WithCancel(b.Context())
			var manager sync.WaitGroup
			manager.Go(func() {
				if err := m.Run(ctx); err != nil {
					b.Error(err)
				}
			})
			await := func(n int) {
				for range n {
					<-runs
				}
			}
			heap, goroutines := heapInUse(), runtime.NumGoroutine()
			began := time.Now()
			for i := range n {
				_, err := fleet.Engage(fmt.Sprintf("c%02d", i), hub.Conn(client.User{Name: fmt.Sprintf("admin-%d", i), Groups: []string{"system:masters"}}))
				require.NoError(b, err)
			}
			await(n * len(controllertest.List[*corev1.ConfigMap](hub, "")))
			engaged := time.Since(began)
			perCluster := func(v float64, unit string) { b.ReportMetric(v/float64(n), unit+"/cluster") }
			heap, goroutines = heapInUse()-heap, runtime.NumGoroutine()-goroutines
			changes := 0
			for b.Loop() {
				controllertest.Update(hub, "default", "c500", func(cm *corev1.ConfigMap) { cm.Data["v"] = fmt.Sprint(changes) })
				changes++
				await(n)
			}
			perCluster(float64(heap)/1024, "KiB")
			perCluster(float64(goroutines), "goroutines")
			perCluster(float64(engaged.Microseconds()), "engage-us")
			perCluster(float64(b.Elapsed().Microseconds())/float64(changes), "change-us")
			stop()
			manager.Wait()
		})
	}
}

func heapInUse() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
