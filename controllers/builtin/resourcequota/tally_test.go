package resourcequota

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// randomObject is a pod, service or claim that may be in any scope.
func randomObject(r *rand.Rand, name string) (kind string, obj metav1.Object) {
	meta := metav1.ObjectMeta{Namespace: []string{"a", "b"}[r.IntN(2)], Name: name}
	amount := resource.MustParse([]string{"100m", "1", "512Mi", "3Gi", "7"}[r.IntN(5)])
	switch r.IntN(4) {
	case 0:
		s := &corev1.Service{ObjectMeta: meta}
		s.Spec.Type = []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer}[r.IntN(3)]
		s.Spec.Ports = make([]corev1.ServicePort, 1+r.IntN(3))
		return services, s
	case 1:
		c := &corev1.PersistentVolumeClaim{ObjectMeta: meta}
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: amount}
		if r.IntN(2) == 0 {
			c.Spec.VolumeAttributesClassName = new([]string{"gold", "tin"}[r.IntN(2)])
		}
		return claims, c
	}
	p := &corev1.Pod{ObjectMeta: meta}
	p.Spec.Containers = make([]corev1.Container, 1)
	if r.IntN(2) == 0 {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: amount}
	}
	if r.IntN(3) == 0 {
		p.Spec.ActiveDeadlineSeconds = new(int64(60))
	}
	p.Spec.PriorityClassName = []string{"", "high", "low"}[r.IntN(3)]
	if r.IntN(4) == 0 {
		p.Status.Phase = corev1.PodSucceeded
	}
	if r.IntN(4) == 0 {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(metav1.NewTime(time.Now().Add(time.Duration(r.IntN(3)-1)*time.Hour))), new(int64(30))
	}
	return pods, p
}

// randomQuota limits everything in a random scope.
func randomQuota(r *rand.Rand) *corev1.ResourceQuota {
	q := &corev1.ResourceQuota{}
	scopes := []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort}
	if n := r.IntN(len(scopes) + 1); n < len(scopes) {
		q.Spec.Scopes = scopes[n : n+1]
	}
	selectors := []corev1.ScopedResourceSelectorRequirement{
		{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"high"}},
		{ScopeName: corev1.ResourceQuotaScopeVolumeAttributesClass, Operator: corev1.ScopeSelectorOpNotIn, Values: []string{"gold"}}}
	if n := r.IntN(len(selectors) + 2); n < len(selectors) {
		q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: selectors[n : n+1]}
	}
	return q
}

// The tally counts for any quota what the objects use that are there, whatever came and went before.
func TestTallyAgreesWithObjects(t *testing.T) {
	limited := []corev1.ResourceName{"pods", "count/pods", "requests.cpu", "services", "services.nodeports", "services.loadbalancers", "persistentvolumeclaims", "requests.storage"}
	for _, seed := range seeds.Of(t, 100) {
		r := seeds.Rand(seed)
		ta := tally{of: map[string]*account{}}
		type stored struct {
			kind string
			obj  metav1.Object
		}
		there := map[string]stored{}
		for step := range 200 {
			name := fmt.Sprint("o", r.IntN(20))
			if old, ok := there[name]; ok {
				ta.add(old.kind, old.obj, -1)
				delete(there, name)
			}
			if r.IntN(3) > 0 {
				kind, obj := randomObject(r, name)
				there[name] = stored{kind, obj}
				ta.add(kind, obj, 1)
			}
			q, namespace := randomQuota(r), []string{"a", "b"}[r.IntN(2)]
			got, want := corev1.ResourceList{}, corev1.ResourceList{}
			for _, name := range limited {
				got[name], want[name] = resource.Quantity{}, resource.Quantity{}
			}
			for _, kind := range []string{pods, services, claims} {
				require.NoError(t, ta.each(namespace, kind, func(obj metav1.Object, used corev1.ResourceList) {
					if used == nil {
						used = quota.Usage(kind, obj)
					}
					charge(q, got, obj, used)
				}))
			}
			for _, o := range there {
				if o.obj.GetNamespace() == namespace {
					charge(q, want, o.obj, quota.Usage(o.kind, o.obj))
				}
			}
			require.True(t, sameUsage(want, got), "seed %d, step %d: want %v, got %v", seed, step, want, got)
		}
		for _, o := range there {
			ta.add(o.kind, o.obj, -1)
		}
		require.Empty(t, ta.of, "seed %d", seed)
	}
}
