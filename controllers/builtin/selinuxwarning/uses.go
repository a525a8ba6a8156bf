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

// conflict is one for the event of a pod; there is another one for that of the other.
type conflict struct {
	property          string // SELinuxLabel or SELinuxChangePolicy
	pod, other        types.NamespacedName
	value, otherValue string
}

// uses are those of all volumes by pods. They are kept so that a conflict is reported once, and are found
// again after a restart. Safe for concurrent use.
type uses struct {
	mu       sync.Mutex
	byVolume map[string]map[types.NamespacedName]use
	byPod    map[types.NamespacedName][]string
}

func newUses() *uses {
	return &uses{byVolume: map[string]map[types.NamespacedName]use{}, byPod: map[types.NamespacedName][]string{}}
}

// add takes in the use of a volume by a pod and returns the conflicts with others if it is new or differs
// from before, for both pods each, in the order of the pods.
func (u *uses) add(volume string, pod types.NamespacedName, now use) (out []conflict) {
	u.mu.Lock()
	defer u.mu.Unlock()
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
		theirs := users[other]
		report := func(property, value, otherValue string) {
			out = append(out, conflict{property, pod, other, value, otherValue}, conflict{property, other, pod, otherValue, value})
		}
		if theirs.policy != now.policy {
			report("SELinuxChangePolicy", string(now.policy), string(theirs.policy))
		}
		if clash(theirs.label, now.label) {
			report("SELinuxLabel", now.label, theirs.label)
		}
	}
	return out
}

// remove forgets a pod.
func (u *uses) remove(pod types.NamespacedName) {
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
