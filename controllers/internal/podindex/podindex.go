// Package podindex holds the pod indexes that several controllers share, so that each is kept once.
package podindex

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/informers"
)

var byNode = informers.DefineIndex("spec.nodeName", func(p *corev1.Pod) []string {
	if p.Spec.NodeName == "" {
		return nil
	}
	return []string{p.Spec.NodeName}
})

// ByClaim files pods under the keys, as namespace/name, of the PersistentVolumeClaims of their volumes.
var ByClaim = informers.DefineIndex("volumes.claims", func(p *corev1.Pod) []string {
	var out []string
	for _, key := range p.VolumeClaims() {
		out = append(out, key.String())
	}
	return out
})

// Pods is a pod lister with the shared indexes.
type Pods struct {
	informers.Lister[*corev1.Pod]
	controllers.Controlled[*corev1.Pod]
	byNode informers.Index[*corev1.Pod]
}

// Of returns the pods of a set, and adds the indexes if they do not exist yet.
func Of(set *informers.Set) Pods {
	inf := informers.For[*corev1.Pod](set)
	return Pods{Lister: inf.Lister(), Controlled: controllers.ControlledIn[*corev1.Pod](set), byNode: inf.Index(byNode)}
}

// OnNode returns the pods bound to a node, shared and read-only.
func (p Pods) OnNode(node string) ([]*corev1.Pod, error) {
	var out []*corev1.Pod
	err := p.byNode.View(node, func(pod *corev1.Pod) bool {
		out = append(out, pod)
		return true
	})
	return out, err
}
