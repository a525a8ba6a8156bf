package statefulset

import (
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// podName returns the name of the pod with an ordinal.
func podName(set *appsv1.StatefulSet, ordinal int) string {
	return set.Name + "-" + strconv.Itoa(ordinal)
}

// ordinalOf returns the ordinal in the name of a pod, or -1 if the name is not one that set gives.
func ordinalOf(set *appsv1.StatefulSet, pod *corev1.Pod) int {
	text, ok := strings.CutPrefix(pod.Name, set.Name+"-")
	if !ok {
		return -1
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return -1
	}
	return int(n)
}

// startOf returns the ordinal of the first pod.
func startOf(set *appsv1.StatefulSet) int {
	if set.Spec.Ordinals == nil {
		return 0
	}
	return int(set.Spec.Ordinals.Start)
}

func revisionOf(pod *corev1.Pod) string { return pod.Labels[appsv1.StatefulSetRevisionLabel] }

// newPod returns the pod of an ordinal, made from the template of a revision.
func newPod(set *appsv1.StatefulSet, template *corev1.PodTemplateSpec, revision string, ordinal int) *corev1.Pod {
	pod := podcontrol.FromTemplate(template, set, kind, set.Name)
	pod.Name = podName(set, ordinal)
	identify(set, pod, ordinal)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = revision
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, set.Spec.ServiceName
	mount(set, pod, ordinal)
	return pod
}

// identify sets the labels of an ordinal.
func identify(set *appsv1.StatefulSet, pod *corev1.Pod, ordinal int) {
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[appsv1.StatefulSetPodNameLabel] = podName(set, ordinal)
	pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(ordinal)
}

// mount sets the volumes of the claim templates, in place of those of the same name in the pod's template.
func mount(set *appsv1.StatefulSet, pod *corev1.Pod, ordinal int) {
	var volumes []corev1.Volume
	for i := range set.Spec.VolumeClaimTemplates {
		t := &set.Spec.VolumeClaimTemplates[i]
		volumes = append(volumes, corev1.Volume{Name: t.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(set, t, ordinal)}}})
	}
	for _, v := range pod.Spec.Volumes {
		if !hasTemplate(set, v.Name) {
			volumes = append(volumes, v)
		}
	}
	pod.Spec.Volumes = volumes
}

func hasTemplate(set *appsv1.StatefulSet, name string) bool {
	for i := range set.Spec.VolumeClaimTemplates {
		if set.Spec.VolumeClaimTemplates[i].Name == name {
			return true
		}
	}
	return false
}

// identified reports whether a pod has the labels and the volumes of its ordinal. Adopted pods may not.
func identified(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	if pod.Labels[appsv1.StatefulSetPodNameLabel] != pod.Name {
		return false
	}
	claims := map[string]string{}
	for i := range pod.Spec.Volumes {
		if c := pod.Spec.Volumes[i].PersistentVolumeClaim; c != nil {
			claims[pod.Spec.Volumes[i].Name] = c.ClaimName
		}
	}
	for i := range set.Spec.VolumeClaimTemplates {
		t := &set.Spec.VolumeClaimTemplates[i]
		if claims[t.Name] != claimName(set, t, ordinalOf(set, pod)) {
			return false
		}
	}
	return true
}
