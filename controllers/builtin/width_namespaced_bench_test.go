package builtin_test

import (
	"context"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// read returns an object of the namespace default, nil if there is none.
func read[T any, P interface {
	*T
	metav1.Object
}](c *controllertest.Cluster, name string) P {
	return readIn[T, P](c, "default", name)
}

// leaves reports whether an object is gone or being deleted.
func leaves[T any, P interface {
	*T
	metav1.Object
}](c *controllertest.Cluster, name string) bool {
	o := read[T, P](c, name)
	return o == nil || metav1.IsTerminating(o)
}

func otherClaim(c *controllertest.Cluster, i int) {
	spec := claimSpec()
	spec.StorageClassName = new("manual")
	controllertest.Create(c, &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i)), Spec: spec})
}

func otherConfigMap(c *controllertest.Cluster, i int) {
	controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i))})
}

func otherSecret(c *controllertest.Cluster, i int) {
	controllertest.Create(c, &corev1.Secret{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i))})
}

func otherDeviceClaim(c *controllertest.Cluster, i int) {
	controllertest.Create(c, &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i)), Spec: deviceClaim()})
}

// charged is the number of pods that a quota charges at the beginning, and so the most changes of its row.
const charged = 200

// namespacedWidths are the changes of the other controllers of namespaced objects.
var namespacedWidths = []width{
	{controller: "replicationcontroller-controller",
		other: func(c *controllertest.Cluster, i int) {
			o := &corev1.ReplicationController{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i))}
			s, template := selectorOf(i)
			o.Spec.Replicas, o.Spec.Selector, o.Spec.Template = new(int32(0)), s.MatchLabels, &template
			controllertest.Create(c, o)
		},
		before: func(c *controllertest.Cluster) {
			o := &corev1.ReplicationController{ObjectMeta: controllertest.Name("default", "web")}
			o.Spec.Template = new(podTemplate())
			controllertest.Create(c, o)
		},
		change: func(c *controllertest.Cluster, i int) {
			controllertest.Update(c, "default", "web", func(o *corev1.ReplicationController) { o.Spec.Replicas = new(wantedReplicas(i)) })
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			o := read[corev1.ReplicationController](c, "web")
			return o.Status.ObservedGeneration == o.Generation && o.Status.Replicas == wantedReplicas(i)
		}},
	{controller: "daemonset-controller",
		other: func(c *controllertest.Cluster, i int) {
			o := &appsv1.DaemonSet{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i))}
			o.Spec.Selector, o.Spec.Template = selectorOf(i)
			controllertest.Create(c, o)
		},
		before: func(c *controllertest.Cluster) {
			o := &appsv1.DaemonSet{ObjectMeta: controllertest.Name("default", "web")}
			o.Spec.Selector, o.Spec.Template = webSelector, podTemplate()
			controllertest.Create(c, o)
		},
		change: func(c *controllertest.Cluster, i int) {
			controllertest.Update(c, "default", "web", func(o *appsv1.DaemonSet) { o.Spec.MinReadySeconds = wantedReplicas(i) })
		},
		followed: func(c *controllertest.Cluster, _ int) bool {
			o := read[appsv1.DaemonSet](c, "web")
			return o.Status.ObservedGeneration == o.Generation
		}},
	{controller: "cronjob-controller",
		other: func(c *controllertest.Cluster, i int) {
			o := &batchv1.CronJob{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i))}
			o.Spec.Schedule, o.Spec.Suspend, o.Spec.JobTemplate.Spec.Template = "0 0 1 1 *", new(true), podTemplate()
			o.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			controllertest.Create(c, o)
		},
		before: func(c *controllertest.Cluster) {
			o := &batchv1.CronJob{ObjectMeta: controllertest.Name("default", "web")}
			o.Spec.Schedule, o.Spec.JobTemplate.Spec.Template = "0 0 1 1 *", podTemplate()
			o.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			controllertest.Create(c, o)
		},
		change: func(c *controllertest.Cluster, i int) {
			at := time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
			if i > 1 {
				controllertest.Delete[*batchv1.Job](c, "default", jobAt(at.Add(-time.Minute)), client.DeleteOptions{PropagationPolicy: metav1.DeletePropagationBackground})
			}
			owner := controllertest.Get[*batchv1.CronJob](c, "default", "web")
			j := work()
			j.Name, j.Annotations = jobAt(at), map[string]string{batchv1.CronJobScheduledTimestampAnnotation: at.Format(time.RFC3339)}
			j.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "web", UID: owner.UID, Controller: new(true)}}
			controllertest.Create(c, j)
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			active := read[batchv1.CronJob](c, "web").Status.Active
			return len(active) == 1 && active[0].Name == jobAt(time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC))
		}},
	{controller: "ttl-after-finished-controller",
		other: func(c *controllertest.Cluster, i int) {
			j := work()
			j.Name = fmt.Sprint("other-", i)
			controllertest.Create(c, j)
		},
		change: func(c *controllertest.Cluster, i int) {
			j := work()
			j.Name, j.Spec.TTLSecondsAfterFinished = fmt.Sprint("web-", i), new(int32(0))
			controllertest.Create(c, j)
			finish(c, j.Name)
		},
		followed: func(c *controllertest.Cluster, i int) bool { return leaves[batchv1.Job](c, fmt.Sprint("web-", i)) }},
	{controller: "horizontal-pod-autoscaler-controller",
		other: func(c *controllertest.Cluster, i int) {
			rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i))}
			rs.Spec.Replicas = new(int32(0))
			rs.Spec.Selector, rs.Spec.Template = selectorOf(i)
			controllertest.Create(c, rs)
			createAutoscaler(c, rs.Name)
		},
		before: func(c *controllertest.Cluster) {
			rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", "web")}
			rs.Spec.Selector, rs.Spec.Template = webSelector, podTemplate()
			controllertest.Create(c, rs)
			controllertest.UpdateStatus(c, "default", "web", func(rs *appsv1.ReplicaSet) { rs.Status.Replicas = 1 })
			createAutoscaler(c, "web")
		},
		// The queue is long enough for more than either.
		change: func(c *controllertest.Cluster, i int) {
			controllertest.Update(c, "default", "web", func(h *autoscalingv2.HorizontalPodAutoscaler) {
				h.Spec.MinReplicas, h.Spec.MaxReplicas = new(wantedReplicas(i)), wantedReplicas(i)
			})
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			return *read[appsv1.ReplicaSet](c, "web").Spec.Replicas == wantedReplicas(i)
		}},
	{controller: "resourcequota-controller", other: otherConfigMap,
		before: func(c *controllertest.Cluster) {
			q := &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", "web")}
			q.Spec.Hard = corev1.ResourceList{corev1.ResourceRequestsMemory: resource.MustParse("1Gi"), "count/configmaps": resource.MustParse("1M")}
			controllertest.Create(c, q)
			for i := range charged {
				p := &corev1.Pod{ObjectMeta: controllertest.Name("default", fmt.Sprint("web-", i+1)), Spec: podTemplate().Spec}
				p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}
				controllertest.Create(c, p)
			}
		},
		change: func(c *controllertest.Cluster, i int) {
			controllertest.Delete[*corev1.Pod](c, "default", fmt.Sprint("web-", i), client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			used := read[corev1.ResourceQuota](c, "web").Status.Used[corev1.ResourceRequestsMemory]
			return used.Value() == int64(charged-i)<<20
		}},
	{controller: "endpointslice-mirroring-controller",
		other: func(c *controllertest.Cluster, i int) {
			controllertest.Create(c, &corev1.Endpoints{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i))})
		},
		before: func(c *controllertest.Cluster) {
			controllertest.Create(c, webService(nil))
			e := &corev1.Endpoints{ObjectMeta: controllertest.Name("default", "web")}
			e.Subsets = []corev1.EndpointSubset{{Ports: []corev1.EndpointPort{{Port: 80, Protocol: corev1.ProtocolTCP}}, Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1"}}}}
			controllertest.Create(c, e)
		},
		change: func(c *controllertest.Cluster, i int) {
			controllertest.Update(c, "default", "web", func(e *corev1.Endpoints) { e.Subsets[0].Addresses[0].IP = fmt.Sprint("192.0.2.", i%200+1) })
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			of := labels.SelectorFromSet(map[string]string{discoveryv1.LabelServiceName: "web"})
			list, err := client.For[*discoveryv1.EndpointSlice](c.Conn()).List(context.Background(), client.ListOptions{Namespace: "default", LabelSelector: of})
			return err == nil && len(list.Items) == 1 && list.Items[0].Endpoints[0].Addresses[0] == fmt.Sprint("192.0.2.", i%200+1)
		}},
	{controller: "ephemeral-volume-controller", other: otherClaim,
		change: func(c *controllertest.Cluster, i int) {
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", fmt.Sprint("web-", i)), Spec: podTemplate().Spec}
			p.Spec.Volumes = []corev1.Volume{{Name: "a", VolumeSource: corev1.VolumeSource{
				Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claimSpec()}}}}}
			controllertest.Create(c, p)
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			return read[corev1.PersistentVolumeClaim](c, fmt.Sprint("web-", i, "-a")) != nil
		}},
	{controller: "resourceclaim-controller", other: otherDeviceClaim,
		before: func(c *controllertest.Cluster) {
			template := &resourcev1.ResourceClaimTemplate{ObjectMeta: controllertest.Name("default", "gpu")}
			template.Spec.Spec = deviceClaim()
			controllertest.Create(c, template)
		},
		change: func(c *controllertest.Cluster, i int) {
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", fmt.Sprint("web-", i)), Spec: podTemplate().Spec}
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "a", ResourceClaimTemplateName: new("gpu")}}
			controllertest.Create(c, p)
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			return len(read[corev1.Pod](c, fmt.Sprint("web-", i)).Status.ResourceClaimStatuses) == 1
		}},
	{controller: "podgroup-protection-controller",
		other: func(c *controllertest.Cluster, i int) { createGroup(c, fmt.Sprint("other-", i)) },
		change: func(c *controllertest.Cluster, _ int) {
			createGroup(c, "web")
			controllertest.Delete[*schedulingv1alpha2.PodGroup](c, "default", "web")
		},
		followed: func(c *controllertest.Cluster, _ int) bool { return absent[*schedulingv1alpha2.PodGroup](c, "web") }},
	{controller: "serviceaccount-controller",
		other: func(c *controllertest.Cluster, i int) {
			controllertest.Create(c, &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i))})
		},
		change: func(c *controllertest.Cluster, i int) { createNamespaces(c, fmt.Sprint("web-", i)) },
		followed: func(c *controllertest.Cluster, i int) bool {
			return readIn[corev1.ServiceAccount](c, fmt.Sprint("web-", i), "default") != nil
		}},
	{controller: "serviceaccount-token-controller",
		other: func(c *controllertest.Cluster, i int) {
			otherSecret(c, i)
			controllertest.Create(c, &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", fmt.Sprint("other-", i))})
		},
		before: func(c *controllertest.Cluster) {
			controllertest.Create(c, &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "robot")})
		},
		change: func(c *controllertest.Cluster, i int) {
			s := &corev1.Secret{ObjectMeta: controllertest.Name("default", fmt.Sprint("web-", i)), Type: corev1.SecretTypeServiceAccountToken}
			s.Annotations = map[string]string{corev1.ServiceAccountNameKey: "robot"}
			controllertest.Create(c, s)
			if i > 1 {
				controllertest.Delete[*corev1.Secret](c, "default", fmt.Sprint("web-", i-1))
			}
		},
		followed: func(c *controllertest.Cluster, i int) bool {
			return len(read[corev1.Secret](c, fmt.Sprint("web-", i)).Data) > 0
		}},
	{controller: "root-ca-certificate-publisher-controller", other: otherConfigMap,
		before: func(c *controllertest.Cluster) {
			controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "kube-root-ca.crt")})
		},
		change: func(c *controllertest.Cluster, _ int) {
			controllertest.Update(c, "default", "kube-root-ca.crt", func(m *corev1.ConfigMap) { m.Data = nil })
		},
		followed: func(c *controllertest.Cluster, _ int) bool {
			return len(read[corev1.ConfigMap](c, "kube-root-ca.crt").Data) > 0
		}},
}

// jobAt is the name of the Job of a time.
func jobAt(at time.Time) string { return fmt.Sprint("web-", at.Unix()/60) }

// finish completes a Job.
func finish(c *controllertest.Cluster, name string) {
	controllertest.UpdateStatus(c, "default", name, func(j *batchv1.Job) {
		now := metav1.Now()
		j.Status.StartTime, j.Status.CompletionTime, j.Status.UncountedTerminatedPods = &now, &now, &batchv1.UncountedTerminatedPods{}
		for _, typ := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: typ, Status: corev1.ConditionTrue, LastTransitionTime: now})
		}
	})
}

// createAutoscaler creates one of a ReplicaSet of the same name, by the length of a queue.
func createAutoscaler(c *controllertest.Cluster, name string) {
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: controllertest.Name("default", name)}
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name}
	h.Spec.MaxReplicas = 3
	h.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: "queue"},
		Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: new(resource.MustParse("10"))}}}}
	controllertest.Create(c, h)
}

// createGroup creates a PodGroup that its controller protects.
func createGroup(c *controllertest.Cluster, name string) {
	g := &schedulingv1alpha2.PodGroup{ObjectMeta: controllertest.Name("default", name)}
	g.Finalizers = []string{schedulingv1alpha2.Finalizer}
	g.Spec.SchedulingPolicy.Basic = &schedulingv1alpha2.BasicSchedulingPolicy{}
	controllertest.Create(c, g)
}
