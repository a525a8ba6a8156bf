package admission

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// nodeOf returns a pod's node as a plugin sees it.
func nodeOf(ctx context.Context, access Access, name string) (*corev1.Node, error) {
	obj, err := access.Get(ctx, core("nodes"), types.NamespacedName{Name: name})
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Node), nil
}

// topologyLabels are the labels of a node that its pods get.
var topologyLabels = []string{"topology.kubernetes.io/zone", "topology.kubernetes.io/region"}

// podTopologyLabels copies the topology labels of the node to the pods that are bound to it, so that
// containers read them by the downward API.
type podTopologyLabels struct {
	named
	access Access
}

func newPodTopologyLabels(access Access) Plugin {
	return &podTopologyLabels{named{"PodTopologyLabels", []Operation{Create}}, access}
}

func (p *podTopologyLabels) Admit(ctx context.Context, a *Attributes) error {
	var node string
	switch obj := a.Object.(type) {
	case *corev1.Pod:
		if a.Resource == core("pods") && a.Subresource == "" {
			node = obj.Spec.NodeName
		}
	case *corev1.Binding:
		// An empty kind is a Node's too, but upstream's plugin of 1.36.3 leaves those out.
		if obj.Target.Kind == "Node" {
			node = obj.Target.Name
		}
	}
	if node == "" {
		return nil
	}
	n, err := nodeOf(ctx, p.access, node)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	meta := metav1.MetaOf(a.Object)
	for _, key := range topologyLabels {
		if value, ok := n.Labels[key]; ok {
			if meta.Labels == nil {
				meta.Labels = map[string]string{}
			}
			meta.Labels[key] = value
		}
	}
	return nil
}

// changedOnNode returns the pod of a change of its spec on a node, through one of the subresources.
func changedOnNode(a *Attributes, subresources ...string) (pod, old *corev1.Pod, ok bool) {
	if a.Resource != core("pods") || !slices.Contains(subresources, a.Subresource) {
		return nil, nil, false
	}
	pod, isPod := a.Object.(*corev1.Pod)
	old, wasPod := a.Old.(*corev1.Pod)
	// The generation counts changes of the spec.
	return pod, old, isPod && wasPod && pod.Spec.NodeName != "" && pod.Generation != old.Generation
}

// podResize refuses resizes that the pod's node can never make.
type podResize struct {
	named
	access Access
}

func newPodResize(access Access) Plugin {
	return &podResize{named{"PodResizeValidator", []Operation{Update}}, access}
}

func (p *podResize) Validate(ctx context.Context, a *Attributes) error {
	pod, _, ok := changedOnNode(a, "resize")
	if !ok {
		return nil
	}
	node, err := nodeOf(ctx, p.access, pod.Spec.NodeName)
	if err != nil {
		return nodeRefusal(a, pod.Spec.NodeName, err)
	}
	if os, ok := node.Labels["kubernetes.io/os"]; ok && os != "linux" {
		return refuseWithCause(a, "UnsupportedPlatform", fmt.Errorf("pod resize is only supported on linux nodes, node %q is %q", node.Name, os))
	}
	requests := quota.PodTotal(pod, quota.Requests)
	var short []string
	if want, have := requests[corev1.ResourceCPU], node.Status.Allocatable[corev1.ResourceCPU]; want.Cmp(have) > 0 {
		short = append(short, fmt.Sprintf("cpu, requested: %d, allocatable: %d", want.MilliValue(), have.MilliValue()))
	}
	if want, have := requests[corev1.ResourceMemory], node.Status.Allocatable[corev1.ResourceMemory]; want.Cmp(have) > 0 {
		short = append(short, fmt.Sprintf("memory, requested: %d, allocatable: %d", want.Value(), have.Value()))
	}
	if len(short) > 0 {
		return refuseWithCause(a, "NodeCapacity", errors.New("node didn't have enough allocatable resources: "+strings.Join(short, "; ")))
	}
	return nil
}

// nodeFeatures refuses changes of pods for which their node declares no support in its status.
type nodeFeatures struct {
	named
	access Access
}

func newNodeFeatures(access Access) Plugin {
	return &nodeFeatures{named{"NodeDeclaredFeatureValidator", []Operation{Update}}, access}
}

func (p *nodeFeatures) Validate(ctx context.Context, a *Attributes) error {
	pod, old, ok := changedOnNode(a, "", "resize")
	if !ok {
		return nil
	}
	needed := neededFeatures(pod, old)
	if len(needed) == 0 {
		return nil
	}
	node, err := nodeOf(ctx, p.access, pod.Spec.NodeName)
	if err != nil {
		return nodeRefusal(a, pod.Spec.NodeName, err)
	}
	needed = slices.DeleteFunc(needed, func(f string) bool { return slices.Contains(node.Status.DeclaredFeatures, f) })
	if len(needed) > 0 {
		return refuse(a, fmt.Errorf("pod update requires features %s which are not available on node %q", strings.Join(needed, ", "), node.Name))
	}
	return nil
}

// neededFeatures returns what a node must declare for the change of a pod, sorted.
func neededFeatures(pod, old *corev1.Pod) (needed []string) {
	was, is := old.Spec.Resources, pod.Spec.Resources
	if (was == nil) != (is == nil) || was != nil && !(equalResources(was.Requests, is.Requests) && equalResources(was.Limits, is.Limits)) {
		needed = append(needed, "InPlacePodLevelResourcesVerticalScaling")
	}
	for i := range min(len(old.Spec.InitContainers), len(pod.Spec.InitContainers)) {
		c := &old.Spec.InitContainers[i]
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		if !sidecar && !reflect.DeepEqual(c.Resources, pod.Spec.InitContainers[i].Resources) {
			return append(needed, "InPlacePodVerticalScalingInitContainers")
		}
	}
	return needed
}

// nodeRefusal refuses a change of a pod whose node could not be read.
func nodeRefusal(a *Attributes, node string, err error) error {
	if apierrors.IsNotFound(err) {
		return refuse(a, fmt.Errorf("node %q not found", node))
	}
	return refuse(a, fmt.Errorf("failed to get node %q: %w", node, err))
}

// refuseWithCause refuses a request with a cause that programs compare.
func refuseWithCause(a *Attributes, cause metav1.CauseType, err error) error {
	refused := refuse(a, err)
	refused.ErrStatus.Details.Causes = append(refused.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause})
	return refused
}
