package admission

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// namespaceLifecycle refuses to create anything in a namespace that is missing or being deleted, and to
// delete the namespaces the system needs.
type namespaceLifecycle struct {
	named
	access Access
}

func newNamespaceLifecycle(access Access) Plugin {
	return &namespaceLifecycle{named{"NamespaceLifecycle", []Operation{Create, Delete}}, access}
}

// protectedNamespaces cannot be deleted.
var protectedNamespaces = map[string]bool{"default": true, "kube-system": true, "kube-public": true}

func (p *namespaceLifecycle) Admit(ctx context.Context, a *Attributes) error {
	return p.Validate(ctx, a)
}

func (p *namespaceLifecycle) Validate(ctx context.Context, a *Attributes) error {
	if a.Resource.Group == "" && a.Resource.Resource == "namespaces" {
		if a.Operation == Delete && protectedNamespaces[a.Name] {
			return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf("this namespace may not be deleted"))
		}
		return nil
	}
	if a.Operation != Create || a.Namespace == "" || isAccessReview(a) {
		return nil
	}
	obj, err := p.access.Get(ctx, core("namespaces"), types.NamespacedName{Name: a.Namespace})
	if err != nil {
		return err
	}
	ns := obj.(*corev1.Namespace)
	if ns.Status.Phase != corev1.NamespaceTerminating && ns.DeletionTimestamp == nil {
		return nil
	}
	// Events may be created until the end: they explain why the deletion takes long. Clients match the cause.
	refused := apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.Namespace))
	refused.ErrStatus.Details.Causes = append(refused.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: "NamespaceTerminating", Message: fmt.Sprintf("namespace %s is being terminated", a.Namespace), Field: "metadata.namespace"})
	return refused
}

func isAccessReview(a *Attributes) bool {
	return a.Resource.Group == "authorization.k8s.io" && a.Resource.Resource == "localsubjectaccessreviews"
}

// taintNodes makes new nodes unschedulable until the node lifecycle controller observes them as ready.
type taintNodes struct{ named }

func newTaintNodes(Access) Plugin {
	return &taintNodes{named{"TaintNodesByCondition", []Operation{Create}}}
}

func (p *taintNodes) Admit(_ context.Context, a *Attributes) error {
	node, ok := a.Object.(*corev1.Node)
	if !ok || a.Subresource != "" {
		return nil
	}
	const notReady = "node.kubernetes.io/not-ready"
	for _, t := range node.Spec.Taints {
		if t.Key == notReady && t.Effect == corev1.TaintEffectNoSchedule {
			return nil
		}
	}
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: notReady, Effect: corev1.TaintEffectNoSchedule})
	return nil
}
