package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// TestCronJobsBeside runs CronJobs of all policies for some minutes with both controller managers and
// compares as TestWorkloadsBeside does. Jobs have the minute in their names, so both run at the same time.
func TestCronJobsBeside(t *testing.T) {
	ours, theirs := programs(t)
	w := &besideWalk{Rand: rand.New(rand.NewPCG(1, 0)), sides: []*side{startSide(t, ours, 2), startSide(t, theirs, 2)}, there: map[string]bool{}}
	for _, s := range w.sides {
		s.watch()
	}
	awaitSecond(40)
	w.agree()
	const path = "/apis/batch/v1/namespaces/default/cronjobs"
	for _, policy := range []string{"Allow", "Forbid", "Replace"} {
		for _, runs := range []string{"1s", "80s"} {
			w.do(http.MethodPost, path, object{"metadata": meta(strings.ToLower(policy) + "-" + runs), "spec": cronJob("* * * * *", policy, runs, "0")})
		}
	}
	for name, edit := range map[string]func(object){
		"fails":      func(spec object) { spec["jobTemplate"] = cronJob("", "", "1s", "1")["jobTemplate"] },
		"suspended":  func(spec object) { spec["suspend"] = true },
		"zone":       func(spec object) { spec["timeZone"] = "Asia/Kathmandu" },
		"deadline":   func(spec object) { spec["startingDeadlineSeconds"] = 20 },
		"no-history": func(spec object) { spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"] = 0, 0 },
		"never":      func(spec object) { spec["schedule"] = "0 0 30 2 *" },
		"expires":    func(spec object) { spec["jobTemplate"].(object)["spec"].(object)["ttlSecondsAfterFinished"] = 5 },
	} {
		spec := cronJob("* * * * *", "Allow", "1s", "0")
		edit(spec)
		w.do(http.MethodPost, path, object{"metadata": meta(name), "spec": spec})
	}
	w.agree()
	for range 3 {
		pass(25 * time.Second) // into the next minute
		awaitSecond(35)
		w.agree()
	}
	w.do(http.MethodPatch, path+"/suspended", object{"spec": object{"suspend": false}})
	w.do(http.MethodPatch, path+"/allow-1s", object{"spec": object{"schedule": "*/2 * * * *", "successfulJobsHistoryLimit": 1}})
	w.do(http.MethodDelete, path+"/allow-80s", object{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"})
	pass(25 * time.Second)
	awaitSecond(35)
	w.agree()
}

func cronJob(schedule, policy, runs, code string) object {
	return object{"schedule": schedule, "concurrencyPolicy": policy, "jobTemplate": object{"spec": object{"backoffLimit": 0, "template": object{
		"metadata": object{"annotations": object{fakenode.RunForAnnotation: runs, fakenode.ExitCodeAnnotation: code}},
		"spec":     object{"restartPolicy": "Never", "containers": []any{object{"name": "main", "image": "app:1"}}}}}}}
}

// pass waits while the programs run, in real time.
func pass(d time.Duration) { <-time.After(d) }

// awaitSecond waits for a second of a minute, far from its end and begin.
func awaitSecond(n int) {
	for time.Now().Second() < n || time.Now().Second() > n+10 {
		pass(100 * time.Millisecond)
	}
}

// usage serves the API of resource metrics: all pods together use some thousandths of a core. It is not
// served while that is negative.
type usage struct {
	total atomic.Int64
	c     *controllertest.Cluster
}

func (u *usage) intercept(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	if !strings.HasPrefix(r.URL.Path, "/apis/metrics.k8s.io/") || u.total.Load() < 0 {
		next(w, r)
		return
	}
	pods := controllertest.List[*corev1.Pod](u.c, "default")
	items := []any{}
	for _, p := range pods {
		items = append(items, object{"metadata": object{"name": p.Name, "namespace": p.Namespace}, "timestamp": time.Now().UTC().Format(time.RFC3339), "window": "30s",
			"containers": []any{object{"name": "main", "usage": object{"cpu": fmt.Sprintf("%dm", int(u.total.Load())/len(pods))}}}})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": items})
}

// TestAutoscalersBeside changes the use of the processor, and the autoscaler, with both controller managers.
func TestAutoscalersBeside(t *testing.T) {
	ours, theirs := programs(t)
	for _, seed := range seeds.Slow(t, 3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := &besideWalk{Rand: rand.New(rand.NewPCG(seed, 0)), seed: seed, there: map[string]bool{}}
			var used []*usage
			for _, program := range []string{ours, theirs} {
				u := &usage{}
				u.total.Store(-1)
				s := startSideWith(t, controllertest.Options{Server: apiserver.Options{Intercept: u.intercept}}, program, 2,
					"--horizontal-pod-autoscaler-sync-period=1s", "--horizontal-pod-autoscaler-downscale-stabilization=1s",
					"--horizontal-pod-autoscaler-initial-readiness-delay=0s", "--horizontal-pod-autoscaler-cpu-initialization-period=0s")
				u.c, s.scaled = s.c, true
				w.sides, used = append(w.sides, s), append(used, u)
			}
			w.autoscale(used)
		})
	}
}

// autoscale is a walk of one Deployment and its autoscaler.
func (w *besideWalk) autoscale(used []*usage) {
	const deployment, autoscaler = "/apis/apps/v1/namespaces/default/deployments", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
	container := object{"name": "main", "image": "app:1", "resources": object{"requests": object{"cpu": "500m"}}}
	w.do(http.MethodPost, deployment, object{"metadata": meta("web"), "spec": object{"replicas": 1, "selector": selects("web"),
		"template": object{"metadata": object{"labels": object{"app": "web"}}, "spec": object{"containers": []any{container}}}}})
	w.agree()
	w.do(http.MethodPost, autoscaler, object{"metadata": meta("web"), "spec": w.target(true)})
	for range 15 {
		pass(3 * time.Second) // three syncs: before the first one both sides agree too
		w.agree()
		switch w.IntN(4) {
		default:
			n := []int64{-1, 0, 100, 600, 900, 5000}[w.IntN(6)]
			w.log = append(w.log, fmt.Sprint("use ", n))
			for _, u := range used {
				u.total.Store(n)
			}
		case 0:
			w.do(http.MethodPatch, autoscaler+"/web", object{"spec": w.target(w.IntN(5) > 0)})
		case 1:
			w.do(http.MethodPatch, deployment+"/web", object{"spec": object{"replicas": w.IntN(5)}})
		}
	}
	pass(3 * time.Second)
	w.agree()
}

// target is the spec of an autoscaler, of a Deployment that may not exist.
func (w *besideWalk) target(exists bool) object {
	name := "web"
	if !exists {
		name = "none"
	}
	least := w.IntN(2) + 1
	spec := object{"scaleTargetRef": object{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}, "minReplicas": least, "maxReplicas": least + w.IntN(4),
		"metrics":  []any{object{"type": "Resource", "resource": object{"name": "cpu", "target": object{"type": "Utilization", "averageUtilization": 50}}}},
		"behavior": object{"scaleDown": object{"stabilizationWindowSeconds": 0, "selectPolicy": w.pick("Max", "Max", "Disabled")}}}
	if w.IntN(3) == 0 {
		spec["metrics"] = []any{object{"type": "Resource", "resource": object{"name": "cpu", "target": object{"type": "AverageValue", "averageValue": "200m"}}}}
	}
	return spec
}
