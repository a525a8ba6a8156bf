package apiserver

import (
	"context"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/builtin"
)

// builtinComputed are the built-in resources that are not stored and need nothing but the server.
func (s *Server) builtinComputed() []Computed {
	var out []Computed
	if info := s.scheme.ForResource(gvr{Version: "v1", Resource: "componentstatuses"}); info != nil {
		out = append(out, Computed{
			Info: info, Get: s.componentStatus, List: s.componentStatuses,
			Table: builtin.ComponentStatusTable, Deprecated: "v1 ComponentStatus is deprecated in v1.19+",
		})
	}
	if info := s.scheme.ForResource(gvr{Version: "v1", Resource: "bindings"}); info != nil {
		out = append(out, Computed{Info: info, Create: s.createBinding})
	}
	return out
}

// componentStatuses reports the status of the components that the server can check: the store. The resource
// is deprecated.
func (s *Server) componentStatuses(ctx context.Context, _ string) ([]metav1.Object, error) {
	condition := corev1.ComponentCondition{Type: corev1.ComponentHealthy, Status: corev1.ConditionTrue, Message: "ok"}
	if _, err := s.store.Progress(ctx, "/"); err != nil {
		condition.Status, condition.Message, condition.Error = corev1.ConditionFalse, "", "the store does not answer"
	}
	return []metav1.Object{&corev1.ComponentStatus{ObjectMeta: metav1.ObjectMeta{Name: "etcd-0"},
		Conditions: []corev1.ComponentCondition{condition}}}, nil
}

func (s *Server) componentStatus(ctx context.Context, key types.NamespacedName) (metav1.Object, error) {
	all, err := s.componentStatuses(ctx, "")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(o metav1.Object) bool { return o.GetName() == key.Name })
	if i < 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "componentstatuses"}, key.Name)
	}
	return all[i], nil
}

// createBinding binds the pod that has the binding's name: the form that predates the binding subresource.
func (s *Server) createBinding(ctx context.Context, namespace string, obj metav1.Object) (metav1.Object, error) {
	binding := obj.(*corev1.Binding)
	res := s.registry.Resource(gvr{Version: "v1", Resource: "pods"})
	if res == nil {
		return nil, errNoResource()
	}
	w := bindingWrite
	w.DryRun = DryRun(ctx)
	return binding, bindPod(ctx, res, types.NamespacedName{Namespace: namespace, Name: binding.Name}, binding, w)
}
