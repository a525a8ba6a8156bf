package apiserver

import (
	"context"
	"fmt"
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/registry"
)

var bindingKind = schema.GroupVersionKind{Version: "v1", Kind: "Binding"}

// bind serves POST pods/NAME/binding: it assigns the pod to a node, once.
func (s *Server) bind(rt *route, r *request) {
	wo, err := r.writeOptions("CreateOptions")
	if err != nil {
		r.fail(err)
		return
	}
	binding := &corev1.Binding{}
	if err := r.decode(binding, bindingKind); err != nil {
		r.fail(err)
		return
	}
	if binding.Name != "" && binding.Name != r.info.Name {
		r.fail(sameName(binding, r.key(true)))
		return
	}
	ctx, err := s.fenceContext(r)
	if err != nil {
		r.fail(err)
		return
	}
	if err := bindPod(ctx, rt.res, r.key(true), binding, r.write(wo, createOptions(r, wo))); err != nil {
		r.fail(err)
		return
	}
	r.succeed(http.StatusCreated, nil)
}

// bindingWrite is the write of a binding that was sent as an object of its own.
var bindingWrite = registry.Write{Subresource: "binding", FieldManager: "kube-apiserver"}

// bindPod assigns a pod that has no node yet.
func bindPod(ctx context.Context, res *registry.Resource, key types.NamespacedName, binding *corev1.Binding, w registry.Write) error {
	if err := checkBinding(binding); err != nil {
		return err
	}
	pods := res.GroupResource()
	pods.Resource += "/binding"
	assign := func(obj metav1.Object) error {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return apierrors.NewInternalError(fmt.Errorf("%T cannot be bound", obj))
		}
		pod.Spec.NodeName = binding.Target.Name
		pod.Status.NominatedNodeName = "" // the pod has its node
		for k, v := range binding.Annotations {
			if pod.Annotations == nil {
				pod.Annotations = map[string]string{}
			}
			pod.Annotations[k] = v
		}
		for k, v := range binding.Labels { // those of plugins among them
			if pod.Labels == nil {
				pod.Labels = map[string]string{}
			}
			pod.Labels[k] = v
		}
		return nil
	}
	registry.SetKind(binding, bindingKind)
	binding.Name, binding.Namespace = key.Name, key.Namespace
	w.Body = &registry.Body{Kind: bindingKind, Operation: admission.Create, Object: binding, Apply: assign}
	_, _, err := res.Update(ctx, key, func(current registry.Current) (metav1.Object, error) {
		obj, err := current.Copy(ctx)
		if err != nil {
			return nil, err
		}
		pod := obj.(*corev1.Pod)
		switch {
		case binding.UID != "" && binding.UID != pod.UID:
			return nil, apierrors.NewConflict(pods, pod.Name, registry.ErrOtherUID(binding.UID, pod.UID))
		case pod.DeletionTimestamp != nil:
			return nil, apierrors.NewConflict(pods, pod.Name, fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name))
		case pod.Spec.NodeName != "":
			return nil, apierrors.NewConflict(pods, pod.Name, fmt.Errorf("pod %s is already assigned to node %q", pod.Name, pod.Spec.NodeName))
		case len(pod.Spec.SchedulingGates) > 0:
			return nil, apierrors.NewConflict(pods, pod.Name, fmt.Errorf("pod %s has non-empty .spec.schedulingGates", pod.Name))
		}
		setPodCondition(pod, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
		return pod, assign(pod)
	}, registry.UpdateOptions{Write: w, Patch: true})
	return err
}

func checkBinding(b *corev1.Binding) error {
	var errs validation.ErrorList
	p := validation.NewPath("target")
	if b.Target.Kind != "" && b.Target.Kind != "Node" {
		errs = append(errs, validation.NotSupported(p.Child("kind"), b.Target.Kind, []string{"Node", "<empty>"}))
	}
	if b.Target.Name == "" {
		errs = append(errs, validation.Required(p.Child("name"), ""))
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(bindingKind.GroupKind(), b.Name, errs)
	}
	return nil
}
