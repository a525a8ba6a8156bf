// Package podindex holds the pod indexes that several controllers share, so that each is kept once.
package podindex

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/informers"
)

// The names of the indexes.
const (
	byNode  = "spec.nodeName"
	byOwner = "controller"
)

// Pods is a pod lister with the shared indexes.
type Pods struct{ informers.Lister[*corev1.Pod] }

// Of returns the pods of a set, adding the indexes if they are not there yet.
func Of(set *informers.Set) Pods {
	inf := informers.For[*corev1.Pod](set)
	// An index of the name that is there already is this one.
	_ = inf.AddIndex(byNode, func(p *corev1.Pod) []string {
		if p.Spec.NodeName == "" {
			return nil
		}
		return []string{p.Spec.NodeName}
	})
	_ = inf.AddIndex(byOwner, func(p *corev1.Pod) []string {
		if ref := metav1.ControllerOf(p); ref != nil {
			return []string{string(ref.UID)}
		}
		return []string{"/" + p.Namespace}
	})
	return Pods{inf.Lister()}
}

// OnNode returns the pods bound to a node, shared and read-only.
func (p Pods) OnNode(node string) []*corev1.Pod { return p.view(byNode, node) }

// ControlledBy returns the pods whose controller has the uid, shared and read-only.
func (p Pods) ControlledBy(uid types.UID) []*corev1.Pod { return p.view(byOwner, string(uid)) }

// Orphans returns the pods of a namespace without a controller, shared and read-only.
func (p Pods) Orphans(namespace string) []*corev1.Pod { return p.view(byOwner, "/"+namespace) }

func (p Pods) view(index, value string) []*corev1.Pod {
	var out []*corev1.Pod
	p.ViewByIndex(index, value, func(pod *corev1.Pod) bool {
		out = append(out, pod)
		return true
	})
	return out
}
