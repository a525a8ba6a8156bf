// Package podindex holds the pod indexes that several controllers share, so that each is kept once.
package podindex

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/informers"
)

var byNode = informers.DefineIndex("spec.nodeName", func(p *corev1.Pod) []string {
	if p.Spec.NodeName == "" {
		return nil
	}
	return []string{p.Spec.NodeName}
})

var byOwner = informers.DefineIndex("controller", func(p *corev1.Pod) []string {
	if ref := metav1.ControllerOf(p); ref != nil {
		return []string{string(ref.UID)}
	}
	return []string{"/" + p.Namespace}
})

// Pods is a pod lister with the shared indexes.
type Pods struct {
	informers.Lister[*corev1.Pod]
	byNode, byOwner informers.Index[*corev1.Pod]
}

// Of returns the pods of a set, adding the indexes if they are not there yet.
func Of(set *informers.Set) Pods {
	inf := informers.For[*corev1.Pod](set)
	return Pods{Lister: inf.Lister(), byNode: inf.Index(byNode), byOwner: inf.Index(byOwner)}
}

// OnNode returns the pods bound to a node, shared and read-only.
func (p Pods) OnNode(node string) ([]*corev1.Pod, error) { return all(p.byNode, node) }

// ControlledBy returns the pods whose controller has the uid, shared and read-only.
func (p Pods) ControlledBy(uid types.UID) ([]*corev1.Pod, error) { return all(p.byOwner, string(uid)) }

// Orphans returns the pods of a namespace without a controller, shared and read-only.
func (p Pods) Orphans(namespace string) ([]*corev1.Pod, error) { return all(p.byOwner, "/"+namespace) }

func all(index informers.Index[*corev1.Pod], value string) ([]*corev1.Pod, error) {
	var out []*corev1.Pod
	err := index.View(value, func(pod *corev1.Pod) bool {
		out = append(out, pod)
		return true
	})
	return out, err
}
