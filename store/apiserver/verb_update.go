package apiserver

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/registry"
)

func updateOptions(r *request, wo writeOptions) *metav1.UpdateOptions {
	return &metav1.UpdateOptions{DryRun: wo.list(), FieldManager: wo.fieldManager, FieldValidation: r.query.Get("fieldValidation")}
}

func (s *Server) update(rt *route, r *request) {
	var o registry.UpdateOptions
	if rt.res.Definition().Strategy.CreateOnUpdate {
		o.Create = r.mayCreate
	}
	s.put(rt, r, o)
}

// put replaces an object, or the part of it that the subresource may change.
func (s *Server) put(rt *route, r *request, o registry.UpdateOptions) {
	out, err := r.accepts(rt.offers(false))
	if err != nil {
		r.fail(err)
		return
	}
	wo, err := r.writeOptions("UpdateOptions")
	if err != nil {
		r.fail(err)
		return
	}
	key := r.key(rt.info.Namespaced)
	body := rt.info.New()
	if err := r.decode(body, rt.info.GVK); err != nil {
		r.fail(err)
		return
	}
	if err := sameName(body, key); err != nil {
		r.fail(err)
		return
	}
	ctx, err := s.fenceContext(r)
	if err != nil {
		r.fail(err)
		return
	}
	o.Write = r.write(wo, updateOptions(r, wo))
	first := true
	obj, created, err := rt.res.Update(ctx, key, func(registry.Current) (metav1.Object, error) {
		if first {
			first = false
			return body, nil
		}
		// Update mutates the object, so the retry decodes it again.
		again := rt.info.New()
		return again, r.decode(again, rt.info.GVK)
	}, o)
	if err != nil {
		r.fail(err)
		return
	}
	r.sendWritten(rt, out, obj, created)
}

// sameName compares the name and namespace in a body with those in the path.
func sameName(obj metav1.Object, key types.NamespacedName) error {
	switch name := obj.GetName(); name {
	case key.Name:
	case "":
		return apierrors.NewBadRequest("the name of the object (from the body) must be set")
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, key.Name))
	}
	if ns := obj.GetNamespace(); ns != "" && key.Namespace != "" && ns != key.Namespace {
		return apierrors.NewBadRequest(fmt.Sprintf("the namespace of the object (%s) does not match the namespace on the request (%s)", ns, key.Namespace))
	}
	return nil
}
