package admission

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// DefaultNodeSelector is the key of Configuration.NodeSelectors for namespaces that do not choose.
const DefaultNodeSelector = "clusterDefaultNodeSelector"

// nodeSelectorAnnotation is the node selector that a namespace adds to its pods.
const nodeSelectorAnnotation = "scheduler.alpha.kubernetes.io/node-selector"

// nodeSelectors adds the node selector of the namespace to new pods, and refuses those that select labels
// their namespace may not use.
type nodeSelectors struct {
	named
	access  Access
	allowed map[string]map[string]string
}

func newNodeSelectors(access Access, o Options) (Plugin, error) {
	allowed, err := parseNodeSelectors(o.Configuration.NodeSelectors)
	if err != nil {
		return nil, fmt.Errorf("PodNodeSelector: %w", err)
	}
	return &nodeSelectors{named{"PodNodeSelector", []Operation{Create}}, access, allowed}, nil
}

func parseNodeSelectors(texts map[string]string) (map[string]map[string]string, error) {
	out := make(map[string]map[string]string, len(texts))
	for namespace, text := range texts {
		labels, err := parseLabelMap(text)
		if err != nil {
			return nil, fmt.Errorf("podNodeSelectorPluginConfig[%s]: %w", namespace, err)
		}
		out[namespace] = labels
	}
	return out, nil
}

func (p *nodeSelectors) Admit(ctx context.Context, a *Attributes) error {
	pod, ok := podOf(a)
	if !ok {
		return nil
	}
	added, err := p.ofNamespace(ctx, a, pod)
	if err != nil {
		return err
	}
	if len(added) > 0 {
		merged := make(map[string]string, len(added)+len(pod.Spec.NodeSelector))
		for _, labels := range []map[string]string{added, pod.Spec.NodeSelector} {
			for k, v := range labels {
				merged[k] = v
			}
		}
		pod.Spec.NodeSelector = merged
	}
	return p.mayUse(a, pod)
}

// Validate checks the result after the plugins that followed.
func (p *nodeSelectors) Validate(ctx context.Context, a *Attributes) error {
	pod, ok := podOf(a)
	if !ok {
		return nil
	}
	if _, err := p.ofNamespace(ctx, a, pod); err != nil {
		return err
	}
	return p.mayUse(a, pod)
}

// ofNamespace returns the selector that the pod's namespace adds, or an error if the pod selects other
// values of it.
func (p *nodeSelectors) ofNamespace(ctx context.Context, a *Attributes, pod *corev1.Pod) (map[string]string, error) {
	obj, err := p.access.Get(ctx, core("namespaces"), types.NamespacedName{Name: a.Namespace})
	if err != nil {
		return nil, err
	}
	added := p.allowed[DefaultNodeSelector]
	if text, ok := obj.GetAnnotations()[nodeSelectorAnnotation]; ok {
		if added, err = parseLabelMap(text); err != nil {
			return nil, fmt.Errorf("annotation %s of namespace %s: %w", nodeSelectorAnnotation, a.Namespace, err)
		}
	}
	for k, v := range added {
		if have, ok := pod.Spec.NodeSelector[k]; ok && have != v {
			return nil, p.refuse(pod, "pod node label selector conflicts with its namespace node label selector")
		}
	}
	return added, nil
}

// mayUse checks the labels that the pod selects against those of its namespace, if there are any.
func (p *nodeSelectors) mayUse(a *Attributes, pod *corev1.Pod) error {
	allowed := p.allowed[a.Namespace]
	if len(allowed) == 0 {
		return nil
	}
	for k, v := range pod.Spec.NodeSelector {
		if want, ok := allowed[k]; !ok || want != v {
			return p.refuse(pod, "pod node label selector labels conflict with its namespace whitelist")
		}
	}
	return nil
}

func (p *nodeSelectors) refuse(pod *corev1.Pod, why string) error {
	return apierrors.NewForbidden(core("pods").GroupResource(), pod.Name, fmt.Errorf("%s", why))
}
