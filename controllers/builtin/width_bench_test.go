package builtin_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// width is a change that a controller follows in a namespace with many objects which do not concern it.
type width struct {
	controller string
	// other creates the i-th object that does not concern the change, beside a pod.
	other func(c *controllertest.Cluster, i int)
	// before makes what changes.
	before func(c *controllertest.Cluster)
	// change makes the i-th change, counted from 1, and followed reports whether the controller has done all.
	change   func(c *controllertest.Cluster, i int)
	followed func(c *controllertest.Cluster, i int) bool
}

var (
	otherLabels = map[string]string{"app": "other"}
	webSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
)

func selectorOf(i int) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	t := podTemplate()
	t.Labels = map[string]string{"app": fmt.Sprint("other-", i)}
	return &metav1.LabelSelector{MatchLabels: t.Labels}, t
}

func otherService(c *controllertest.Cluster, i int) {
	s := webService(map[string]string{"app": fmt.Sprint("other-", i)})
	s.Name, s.Spec.ClusterIP = fmt.Sprint("other-", i), "None"
	controllertest.Create(c, s)
}

func webIsReady(c *controllertest.Cluster, i int) {
	controllertest.UpdateStatus(c, "default", "web", func(p *corev1.Pod) {
		ready := corev1.ConditionTrue
		if i%2 == 1 {
			ready = corev1.ConditionFalse
		}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	})
}

func wantedReplicas(i int) int32 { return int32(1 + i%2) }

// part is what all kinds with replicas have in their spec.
type part struct {
	replicas **int32
	selector **metav1.LabelSelector
	template *corev1.PodTemplateSpec
}

// scaled is the change of the number of replicas of one object.
func scaled[T any, P interface {
	*T
	metav1.Object
}](controller string, of func(P) part, followed func(o P, want int32) bool) width {
	made := func(name string) (P, part) {
		o := P(new(T))
		*metav1.MetaOf(o) = controllertest.Name("default", name)
		return o, of(o)
	}
	return width{controller: controller,
		other: func(c *controllertest.Cluster, i int) {
			o, spec := made(fmt.Sprint("other-", i))
			*spec.replicas = new(int32(0))
			*spec.selector, *spec.template = selectorOf(i)
			controllertest.Create(c, o)
		},
		before: func(c *controllertest.Cluster) {
			o, spec := made("web")
			*spec.selector, *spec.template = webSelector, podTemplate()
			controllertest.Create(c, o)
		},
		change: func(c *controllertest.Cluster, i int) {
			controllertest.Update(c, "default", "web", func(o P) { *of(o).replicas = new(wantedReplicas(i)) })
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			return followed(controllertest.Get[P](c, "default", "web"), wantedReplicas(i))
		}}
}

// widths are the changes of controllers of workloads.
var widths = []width{
	scaled("replicaset-controller", func(o *appsv1.ReplicaSet) part { return part{&o.Spec.Replicas, &o.Spec.Selector, &o.Spec.Template} },
		func(o *appsv1.ReplicaSet, want int32) bool {
			return o.Status.ObservedGeneration == o.Generation && o.Status.Replicas == want
		}),
	scaled("deployment-controller", func(o *appsv1.Deployment) part { return part{&o.Spec.Replicas, &o.Spec.Selector, &o.Spec.Template} },
		func(o *appsv1.Deployment, _ int32) bool { return o.Status.ObservedGeneration == o.Generation }),
	scaled("statefulset-controller", func(o *appsv1.StatefulSet) part {
		o.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		return part{&o.Spec.Replicas, &o.Spec.Selector, &o.Spec.Template}
	}, func(o *appsv1.StatefulSet, _ int32) bool { return o.Status.ObservedGeneration == o.Generation }),
	{controller: "job-controller",
		other: func(c *controllertest.Cluster, i int) {
			o := &batchv1.Job{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i))}
			o.Spec.Suspend, o.Spec.Template = new(true), podTemplate()
			o.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			controllertest.Create(c, o)
		},
		change: func(c *controllertest.Cluster, i int) {
			o := &batchv1.Job{ObjectMeta: controllertest.Name("default", fmt.Sprint("web-", i))}
			o.Spec.Template = podTemplate()
			o.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			controllertest.Create(c, o)
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			return controllertest.Get[*batchv1.Job](c, "default", fmt.Sprint("web-", i)).Status.Active == 1
		}},
	{controller: "endpointslice-controller", other: otherService,
		before: func(c *controllertest.Cluster) {
			controllertest.Create(c, webService(podTemplate().Labels))
			runningPod(c, "web", "10.0.0.1")
		},
		change: webIsReady,
		followed: func(c *controllertest.Cluster, i int) bool {
			of := labels.SelectorFromSet(map[string]string{discoveryv1.LabelServiceName: "web"})
			list, err := client.For[*discoveryv1.EndpointSlice](c.Conn()).List(context.Background(), client.ListOptions{Namespace: "default", LabelSelector: of})
			if err != nil || len(list.Items) != 1 || len(list.Items[0].Endpoints) != 1 {
				return false
			}
			return *list.Items[0].Endpoints[0].Conditions.Ready == (i%2 == 0)
		}},
	{controller: "endpoints-controller", other: otherService,
		before: func(c *controllertest.Cluster) {
			controllertest.Create(c, webService(podTemplate().Labels))
			runningPod(c, "web", "10.0.0.1")
		},
		change: webIsReady,
		followed: func(c *controllertest.Cluster, i int) bool {
			e, err := client.For[*corev1.Endpoints](c.Conn()).Get(context.Background(), types.NamespacedName{Namespace: "default", Name: "web"})
			return err == nil && len(e.Subsets) == 1 && len(e.Subsets[0].Addresses) == (i+1)%2
		}},
	{controller: "disruption-controller",
		other: func(c *controllertest.Cluster, i int) {
			o := &policyv1.PodDisruptionBudget{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i))}
			o.Spec.MinAvailable = new(intstr.FromInt32(1))
			o.Spec.Selector, _ = selectorOf(i)
			controllertest.Create(c, o)
		},
		before: func(c *controllertest.Cluster) {
			o := &policyv1.PodDisruptionBudget{ObjectMeta: controllertest.Name("default", "web")}
			o.Spec.MinAvailable, o.Spec.Selector = new(intstr.FromInt32(1)), webSelector
			controllertest.Create(c, o)
			runningPod(c, "web", "10.0.0.1")
		},
		change: webIsReady,
		followed: func(c *controllertest.Cluster, i int) bool {
			o := controllertest.Get[*policyv1.PodDisruptionBudget](c, "default", "web")
			return o.Status.ObservedGeneration == o.Generation && o.Status.CurrentHealthy == int32((i+1)%2)
		}},
	{controller: "garbage-collector-controller",
		other: func(c *controllertest.Cluster, i int) {
			controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i))})
		},
		change: func(c *controllertest.Cluster, i int) {
			name := fmt.Sprint("owner-", i)
			o := controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)})
			child := &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "child")}
			child.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: o.UID}}
			controllertest.Create(c, child)
			controllertest.Delete[*corev1.ConfigMap](c, "default", name)
		},
		followed: func(c *controllertest.Cluster, _ int) bool { return absent[*corev1.ConfigMap](c, "child") }},
	{controller: "persistentvolumeclaim-protection-controller",
		other: func(c *controllertest.Cluster, i int) {
			controllertest.Create(c, &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i)), Spec: claimSpec()})
		},
		change: func(c *controllertest.Cluster, _ int) {
			controllertest.Create(c, &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "data"), Spec: claimSpec()})
			controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", "data")
		},
		followed: func(c *controllertest.Cluster, _ int) bool {
			return absent[*corev1.PersistentVolumeClaim](c, "data")
		}},
}

// withoutChange are the controllers that have no row, with the reason.
var withoutChange = map[string]string{
	"legacy-serviceaccount-token-cleaner-controller": "it looks at each token once a day",
	"certificatesigningrequest-cleaner-controller":   "it acts an hour after a request was answered",
	"podcertificaterequest-cleaner-controller":       "it acts 15 minutes after a request was made",
	"node-lifecycle-controller":                      "it looks at all nodes periodically",
	"pod-garbage-collector-controller":               "it looks at all pods periodically",
	"persistentvolume-expander-controller":           "it writes events only",
	"selinux-warning-controller":                     "it writes events only",
}

// Every controller has its width measured, or a reason why not.
func TestEveryControllerHasAWidth(t *testing.T) {
	measured := map[string]bool{}
	for _, w := range slices.Concat(widths, namespacedWidths, clusterWidths) {
		require.False(t, measured[w.controller], w.controller)
		require.Contains(t, builtin.Names(), w.controller)
		measured[w.controller] = true
	}
	for _, name := range builtin.Names() {
		require.NotEqual(t, measured[name], withoutChange[name] != "", name)
	}
}

// BenchmarkWidth measures the time from a change until a controller has followed it, in a namespace with 100
// and with 10,000 pods, which have an owner, and as many other objects of the kinds that the controller
// reads. None of them concerns the change, so the two should differ by the cost of a larger heap only: a
// controller that copied or looked through them would take and allocate a hundred times as much. The cost of
// a look at whether it has followed is in the figures: there is one after each of its writes. A row takes up
// to two minutes, in which the controller follows the other objects.
//
//	go test -timeout 1h -run XXX -bench Width -benchtime 50x ./controllers/builtin
func BenchmarkWidth(b *testing.B) {
	for _, w := range slices.Concat(widths, namespacedWidths, clusterWidths) {
		for _, n := range []int{100, 10_000} {
			b.Run(fmt.Sprintf("%s/objects=%d", w.controller, n), func(b *testing.B) {
				c := controllertest.Start(b, cluster())
				keeper := controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "keeper")})
				for i := range n {
					p := &corev1.Pod{ObjectMeta: controllertest.Name("default", fmt.Sprint("bystander-", i)), Spec: podTemplate().Spec}
					p.Labels = otherLabels
					p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "keeper", UID: keeper.UID, Controller: new(true)}}
					controllertest.Create(c, p)
					if w.other != nil {
						w.other(c, i)
					}
				}
				if w.before != nil {
					w.before(c)
				}
				wrote := signalWrites(c)
				opts := withWork(b)
				// What other autoscalers take by time is no part of a change.
				opts.HorizontalPodAutoscaler.SyncPeriod = time.Hour
				stop := (&restart{controller: w.controller}).start(c, "process", opts)
				defer stop()
				i, looks := 0, 0
				follow := func() {
					i++
					w.change(c, i)
					for looks++; !w.followed(c, i); looks++ {
						select {
						case <-wrote:
						case <-time.After(2 * time.Minute):
							b.Fatal("the change is not followed")
						}
					}
				}
				follow()
				quiet(b, c) // what was there before has been followed too
				follow()    // by the first look at all objects, as that of quotas
				b.ReportAllocs()
				looks = 0
				for b.Loop() {
					follow()
				}
				b.ReportMetric(float64(looks)/float64(b.N), "looks/op")
			})
		}
	}
}

// signalWrites returns a channel that has a value when a process has written since the last one was taken.
func signalWrites(c *controllertest.Cluster) <-chan struct{} {
	wrote := make(chan struct{}, 1)
	c.Inject(controllertest.Fault{Requests: writes, Optional: true, Effect: func(w http.ResponseWriter, req *http.Request, next http.HandlerFunc) {
		next(w, req)
		select {
		case wrote <- struct{}{}:
		default:
		}
	}})
	return wrote
}

// quiet waits until nothing has been written for a second.
func quiet(b *testing.B, c *controllertest.Cluster) {
	last := ""
	require.Eventually(b, func() bool {
		list, err := client.For[*corev1.Namespace](c.Conn()).List(context.Background(), client.ListOptions{Limit: 1})
		before := last
		if err == nil {
			last = list.ResourceVersion
		}
		return err == nil && before == last
	}, 10*time.Minute, time.Second)
}

// absent reports that there is no object of that name.
func absent[T metav1.Object](c *controllertest.Cluster, name string) bool {
	_, err := client.For[T](c.Conn()).Get(context.Background(), types.NamespacedName{Namespace: "default", Name: name})
	return apierrors.IsNotFound(err)
}
