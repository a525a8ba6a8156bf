package kubelet

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// annotationResources keeps with a container the resources that it was given, so that a kubelet started later
// knows them.
const annotationResources = "keelson.dev/resources"

// resourcesText is the value of annotationResources.
func resourcesText(r *corev1.ResourceRequirements) (string, error) {
	b, err := json.Marshal(r)
	return string(b), err
}

// given is the pod with the resources that its containers were given when they were made. Resources are not
// changed in place: containers that run keep theirs, and get the same when they are started again, because
// only those were let in. names are the containers for which the spec asks for others.
func given(pod *corev1.Pod, v *view) (_ *corev1.Pod, names []string, err error) {
	changed := pod
	for list := range 2 {
		for i, c := range *startable(pod, list) {
			run := v.latest(c.Name)
			if run == nil || run.status.GetAnnotations()[annotationResources] == "" {
				continue
			}
			had := run.status.Annotations[annotationResources]
			wants, err := resourcesText(&c.Resources)
			if err != nil {
				return nil, nil, err
			}
			if wants == had {
				continue
			}
			var r corev1.ResourceRequirements
			if err := json.Unmarshal([]byte(had), &r); err != nil {
				return nil, nil, fmt.Errorf("resources of container %s: %w", c.Name, err)
			}
			if changed == pod {
				changed = codec.DeepCopy(pod)
			}
			(*startable(changed, list))[i].Resources = r
			names = append(names, c.Name)
		}
	}
	return changed, names, nil
}

// startable are the init containers, list 0, or the others, list 1.
func startable(pod *corev1.Pod, list int) *[]corev1.Container {
	if list == 0 {
		return &pod.Spec.InitContainers
	}
	return &pod.Spec.Containers
}

// resizeCondition says that what the spec asks for is not done; nil if there is nothing to say.
func (w *worker) resizeCondition() *corev1.PodCondition {
	if len(w.unresized) == 0 {
		return nil
	}
	return &corev1.PodCondition{Type: corev1.PodResizePending, Reason: string(corev1.PodResizeStatusInfeasible),
		Message: fmt.Sprintf("This kubelet does not resize containers in place: [%s]", strings.Join(w.unresized, " "))}
}

// withoutResize drops the condition of an earlier resize.
func withoutResize(list []corev1.PodCondition) []corev1.PodCondition {
	return slices.DeleteFunc(list, func(c corev1.PodCondition) bool { return c.Type == corev1.PodResizePending })
}
