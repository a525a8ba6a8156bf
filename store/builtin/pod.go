package builtin

import (
	"slices"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/registry"
)

var podStrategy = registry.Strategy{
	Generation:     registry.OnSpec,
	ReturnsDeleted: true,
	PrepareCreate:  on(preparePod),
	PrepareUpdate:  onBoth(preparePodUpdate),
	// A node that reports a status must not make the garbage collector believe that the pod has other owners.
	PrepareStatus: onBoth(func(pod, old *corev1.Pod) { pod.OwnerReferences = old.OwnerReferences }),
	Grace:         podGrace,
}

var podFields = registry.Fields{
	Names: []string{
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
		"status.phase", "status.podIP", "status.nominatedNodeName",
	},
	Paths: []string{
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
		"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
	},
	Of: func(obj metav1.Object, add func(name, value string)) {
		pod := obj.(*corev1.Pod)
		add("spec.nodeName", pod.Spec.NodeName)
		add("spec.restartPolicy", string(pod.Spec.RestartPolicy))
		add("spec.schedulerName", pod.Spec.SchedulerName)
		add("spec.serviceAccountName", pod.Spec.ServiceAccountName)
		add("spec.hostNetwork", strconv.FormatBool(pod.Spec.HostNetwork))
		add("status.phase", string(pod.Status.Phase))
		ip := pod.Status.PodIP
		if ip == "" && len(pod.Status.PodIPs) > 0 {
			ip = pod.Status.PodIPs[0].IP
		}
		add("status.podIP", ip)
		add("status.nominatedNodeName", pod.Status.NominatedNodeName)
	},
}

var podSubresources = map[string]registry.Subresource{
	// The scheduler sets nodeName: that is not a change of the desired state.
	"binding":             {Validate: unchecked, KeepsGeneration: true},
	"ephemeralcontainers": {Edit: edit(editEphemeral), Validate: check(corev1.ValidateEphemeralContainersUpdate), Reset: podMetadata},
	"resize":              {Edit: edit(editResources), Validate: check(corev1.ValidatePodResize), Reset: podMetadata},
}

var podMetadata = managedfields.NewSet(managedfields.FieldPath("metadata"))

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
	// The condition that a gate caused is removed with the last gate.
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

// podGrace sets the grace period to that of the request, else that of the pod; zero if no container runs.
func podGrace(obj metav1.Object, opts *metav1.DeleteOptions) bool {
	pod := obj.(*corev1.Pod)
	var period int64
	if opts.GracePeriodSeconds != nil {
		period = *opts.GracePeriodSeconds
	} else if pod.Spec.TerminationGracePeriodSeconds != nil {
		period = *pod.Spec.TerminationGracePeriodSeconds
	}
	if pod.Spec.NodeName == "" || pod.HasEnded() {
		period = 0
	}
	if period < 0 {
		period = 1
	}
	opts.GracePeriodSeconds = &period
	return true
}

// editEphemeral lets the ephemeralcontainers subresource change those containers only.
func editEphemeral(pod, old *corev1.Pod) {
	containers := pod.Spec.EphemeralContainers
	keepMeta(pod, old)
	pod.Spec, pod.Status = old.Spec, old.Status
	pod.Spec.EphemeralContainers = containers
}

// keepMeta restores the metadata: the right to add a container for debugging, or to change resources, does
// not include the right to set labels and annotations on which other components act.
func keepMeta(obj, old *corev1.Pod) {
	uid, version, managed := obj.UID, obj.ResourceVersion, obj.ManagedFields
	obj.ObjectMeta = old.ObjectMeta
	obj.UID, obj.ResourceVersion, obj.ManagedFields = uid, version, managed
}

// editResources lets the resize subresource change resources and resize policies only. Containers that are
// added, removed, renamed or in another order stay as requested, for the validation to refuse.
func editResources(pod, old *corev1.Pod) {
	wanted := pod.Spec
	keepMeta(pod, old)
	pod.Spec, pod.Status = old.Spec, old.Status
	pod.Spec.Containers = resized(old.Spec.Containers, wanted.Containers)
	pod.Spec.InitContainers = resized(old.Spec.InitContainers, wanted.InitContainers)
	pod.Spec.Resources = wanted.Resources
}

func resized(before, wanted []corev1.Container) []corev1.Container {
	if len(before) != len(wanted) {
		return wanted
	}
	out := slices.Clone(before)
	for i := range out {
		if out[i].Name != wanted[i].Name {
			return wanted
		}
		out[i].Resources, out[i].ResizePolicy = wanted[i].Resources, wanted[i].ResizePolicy
	}
	return out
}
