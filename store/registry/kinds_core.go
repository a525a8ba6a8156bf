package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// coreStrategy is the strategy of kinds of the core group, and of events in both.
func coreStrategy(r *Registry, obj metav1.Object) (Strategy, bool) {
	switch obj.(type) {
	case *corev1.Pod:
		return Strategy{PrepareCreate: on(preparePod), PrepareUpdate: onBoth(preparePodUpdate), Grace: podGrace, ReturnsDeleted: true,
			// Whoever reports on a pod, a node for one, must not let the garbage collector believe that
			// others own it.
			PrepareStatus: func(_ context.Context, obj, old metav1.Object) {
				metav1.MetaOf(obj).OwnerReferences = metav1.MetaOf(old).OwnerReferences
			},
			Warnings: podWarnings}, true
	case *corev1.Namespace:
		return Strategy{
			Complete:      labelNamespace,
			PrepareCreate: on(func(ns *corev1.Namespace) { prepareNamespace(ns); labelNamespace(ns) }),
			PrepareUpdate: onBoth(func(ns, old *corev1.Namespace) { ns.Spec = old.Spec }),
			Held:          func(obj metav1.Object) bool { return len(obj.(*corev1.Namespace).Spec.Finalizers) > 0 },
			MarkDeleted:   func(obj metav1.Object) { obj.(*corev1.Namespace).Status.Phase = corev1.NamespaceTerminating },
		}, true
	case *corev1.Service:
		return r.serviceStrategy(), true
	case *corev1.Event, *eventsv1.Event:
		return r.eventTTL(), true
	case *corev1.Node:
		return Strategy{KeepStatus: true}, true
	case *corev1.PersistentVolume:
		return Strategy{ReturnsDeleted: true, PrepareCreate: on(func(pv *corev1.PersistentVolume) {
			now := metav1.Now().Truncated()
			pv.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
		}), PrepareStatus: func(_ context.Context, obj, old metav1.Object) {
			pv, before := obj.(*corev1.PersistentVolume), old.(*corev1.PersistentVolume)
			if pv.Status.Phase != before.Status.Phase && pv.Status.LastPhaseTransitionTime.Equal(before.Status.LastPhaseTransitionTime) {
				now := metav1.Now().Truncated()
				pv.Status.LastPhaseTransitionTime = &now
			}
		}}, true
	case *corev1.PersistentVolumeClaim:
		return Strategy{ReturnsDeleted: true, PrepareCreate: on(func(claim *corev1.PersistentVolumeClaim) {
			claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
			if ref := claim.Spec.DataSourceRef; ref != nil && ref.Namespace != nil && *ref.Namespace != "" {
				// Sources in other namespaces are a feature that is off, as it is by default upstream.
				claim.Spec.DataSourceRef = nil
			}
		})}, true
	case *corev1.ServiceAccount:
		return Strategy{ReturnsDeleted: true, PrepareCreate: on(namesOfSecrets),
			PrepareUpdate: onBoth(func(sa, _ *corev1.ServiceAccount) { namesOfSecrets(sa) })}, true
	case *corev1.LimitRange:
		return Strategy{PrepareCreate: on(func(l *corev1.LimitRange) {
			if l.Name == "" { // a name nobody chose is as good as any
				l.Name = string(newUID())
			}
		})}, true
	case *corev1.PodTemplate, *corev1.ResourceQuota:
		return Strategy{ReturnsDeleted: true}, true
	}
	return Strategy{}, false
}

// podWarnings warns of names that do not become good host names.
func podWarnings(obj, old metav1.Object) []string {
	if old != nil {
		return nil
	}
	if wrong := validation.IsDNS1123Label(obj.GetName()); len(wrong) > 0 {
		return []string{fmt.Sprintf("metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: %v", wrong)}
	}
	return nil
}

func preparePod(pod *corev1.Pod) {
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.QOSClass(pod)}
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated",
			Message: "Scheduling is blocked due to non-empty scheduling gates", LastTransitionTime: metav1.Now(),
		}}
	}
}

func preparePodUpdate(pod, old *corev1.Pod) {
	pod.Status = old.Status
	// A gate that is gone leaves no condition that still speaks of it.
	if len(pod.Spec.SchedulingGates) == 0 && len(old.Spec.SchedulingGates) > 0 {
		kept := make([]corev1.PodCondition, 0, len(old.Status.Conditions))
		for _, c := range old.Status.Conditions {
			if c.Type != corev1.PodScheduled || c.Reason != "SchedulingGated" {
				kept = append(kept, c)
			}
		}
		pod.Status.Conditions = kept
	}
}

// podGrace is the time a pod gets to end: what the request says, else what the pod says; none where nothing
// runs.
func podGrace(obj metav1.Object, o *metav1.DeleteOptions) bool {
	pod := obj.(*corev1.Pod)
	var period int64
	if o.GracePeriodSeconds != nil {
		period = *o.GracePeriodSeconds
	} else if pod.Spec.TerminationGracePeriodSeconds != nil {
		period = *pod.Spec.TerminationGracePeriodSeconds
	}
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		period = 0
	}
	if period < 0 {
		period = 1
	}
	o.GracePeriodSeconds = &period
	return true
}

func prepareNamespace(ns *corev1.Namespace) {
	ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

// labelNamespace gives a namespace the label by which selectors find it by name.
func labelNamespace(obj metav1.Object) {
	ns := obj.(*corev1.Namespace)
	if ns.Name == "" || ns.Labels[corev1.LabelMetadataName] == ns.Name {
		return
	}
	ns.Labels = maps.Clone(ns.Labels)
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

// namesOfSecrets keeps of the references to secrets what they are: names in the account's namespace.
func namesOfSecrets(sa *corev1.ServiceAccount) {
	for i, ref := range sa.Secrets {
		sa.Secrets[i] = corev1.ObjectReference{Name: ref.Name}
	}
}
