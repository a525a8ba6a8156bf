package selinuxwarning

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// use is how a pod would have a volume mounted.
type use struct {
	label  string // user:role:type:level, empty for none
	policy corev1.PodSELinuxChangePolicy
}

// useOf returns the use of a volume by a pod of which at most one label is known. Without a label, or a
// driver that mounts with one, files are labelled one by one whatever the pod says.
func useOf(pod *corev1.Pod, labels []string, mounts bool) use {
	u := use{policy: corev1.SELinuxChangePolicyMountOption}
	if s := pod.Spec.SecurityContext; s != nil && s.SELinuxChangePolicy != nil {
		u.policy = *s.SELinuxChangePolicy
	}
	if len(labels) == 1 && mounts && u.policy != corev1.SELinuxChangePolicyRecursive {
		u.label = labels[0]
	}
	if u.label == "" {
		u.policy = corev1.SELinuxChangePolicyRecursive
	}
	return u
}

// labelsOf returns the distinct labels of the containers that mount a volume, and whether one mounts it.
// Containers without options have no label.
func labelsOf(pod *corev1.Pod, volume string) (labels []string, mounted bool) {
	visit := func(mounts []corev1.VolumeMount, own *corev1.SecurityContext) {
		if !slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool { return m.Name == volume }) {
			return
		}
		mounted = true
		var options *corev1.SELinuxOptions
		if s := pod.Spec.SecurityContext; s != nil {
			options = s.SELinuxOptions
		}
		if own != nil && own.SELinuxOptions != nil {
			options = own.SELinuxOptions
		}
		if options == nil {
			return
		}
		label := strings.Join([]string{options.User, options.Role, options.Type, options.Level}, ":")
		if label == ":::" {
			label = ""
		}
		if !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			visit(list[i].VolumeMounts, list[i].SecurityContext)
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		visit(pod.Spec.EphemeralContainers[i].VolumeMounts, pod.Spec.EphemeralContainers[i].SecurityContext)
	}
	return labels, mounted
}

// Conflict is one for a pod; there is another one for the other pod.
type Conflict struct {
	// Property is SELinuxLabel or SELinuxChangePolicy.
	Property   string
	Pod, Other types.NamespacedName
	// Value and OtherValue are those of the pods.
	Value, OtherValue string
}

// Conflicts are those between the pods that use volumes. The zero value has none. Safe for concurrent use.
type Conflicts struct {
	mu       sync.Mutex
	byVolume map[string]map[types.NamespacedName]use
	byPod    map[types.NamespacedName][]string
}

// All returns the conflicts of all pods that have not ended, in no order.
func (u *Conflicts) All() []Conflict {
	all := map[Conflict]bool{} // two pods may have several volumes
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, users := range u.byVolume {
		pods := map[use][]types.NamespacedName{}
		for pod, now := range users {
			pods[now] = append(pods[now], pod)
		}
		for a := range pods {
			for b := range pods {
				for property, values := range a.differs(b) {
					for _, pod := range pods[a] {
						for _, other := range pods[b] {
							all[Conflict{property, pod, other, values[0], values[1]}] = true
						}
					}
				}
			}
		}
	}
	return slices.Collect(maps.Keys(all))
}

// differs returns the properties in which two uses exclude each other, with the values of both.
func (u use) differs(other use) map[string][2]string {
	out := map[string][2]string{}
	if u.policy != other.policy {
		out["SELinuxChangePolicy"] = [2]string{string(u.policy), string(other.policy)}
	}
	if clash(u.label, other.label) {
		out["SELinuxLabel"] = [2]string{u.label, other.label}
	}
	return out
}

// add takes in the use of a volume by a pod and returns the conflicts with others if it is new or differs
// from before, for both pods each, in the order of the pods.
func (u *Conflicts) add(volume string, pod types.NamespacedName, now use) (out []Conflict) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byVolume == nil {
		u.byVolume, u.byPod = map[string]map[types.NamespacedName]use{}, map[types.NamespacedName][]string{}
	}
	users := u.byVolume[volume]
	if users == nil {
		users = map[types.NamespacedName]use{}
		u.byVolume[volume] = users
	}
	before, known := users[pod]
	if known && before == now {
		return nil
	}
	if users[pod] = now; !known {
		u.byPod[pod] = append(u.byPod[pod], volume)
	}
	for _, other := range slices.SortedFunc(maps.Keys(users), types.NamespacedName.Compare) {
		values := now.differs(users[other])
		for _, property := range slices.Sorted(maps.Keys(values)) {
			v := values[property]
			out = append(out, Conflict{property, pod, other, v[0], v[1]}, Conflict{property, other, pod, v[1], v[0]})
		}
	}
	return out
}

// remove forgets a pod.
func (u *Conflicts) remove(pod types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, volume := range u.byPod[pod] {
		users := u.byVolume[volume]
		delete(users, pod)
		if len(users) == 0 {
			delete(u.byVolume, volume)
		}
	}
	delete(u.byPod, pod)
}

// clash reports whether two labels cannot be the same on a node: their levels differ, or a user, role or type
// that both have.
func clash(a, b string) bool {
	x, y := parts(a), parts(b)
	for i := range 3 {
		if x[i] != y[i] && x[i] != "" && y[i] != "" {
			return true
		}
	}
	return x[3] != y[3]
}

// parts returns user, role, type and level, which has colons of its own.
func parts(label string) (out [4]string) {
	copy(out[:], strings.SplitN(label, ":", 4))
	return out
}
