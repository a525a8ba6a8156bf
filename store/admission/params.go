package admission

import (
	"context"
	"errors"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// findParams returns the parameters of a policy, which is applied once with each: null if the policy takes
// none or the binding names none.
func findParams(ctx context.Context, access Access, kind *admissionregistrationv1.ParamKind, r *admissionregistrationv1.ParamRef, namespace string) ([]any, error) {
	if kind == nil || r == nil {
		return []any{orNull(nil)}, nil
	}
	gvr, namespaced, ok := access.ResourceOf(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
	switch {
	case !ok:
		return nil, fmt.Errorf("paramKind kind `%s, Kind=%s` not known", kind.APIVersion, kind.Kind)
	case !namespaced && r.Namespace != "":
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	case !namespaced:
		namespace = ""
	case r.Namespace != "":
		namespace = r.Namespace
	case namespace == "":
		return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	}
	objs, err := paramObjects(ctx, access, gvr, namespace, r)
	if err != nil {
		return nil, err
	}
	if len(objs) == 0 && (r.ParameterNotFoundAction == nil || *r.ParameterNotFoundAction == admissionregistrationv1.DenyAction) {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	out := make([]any, len(objs))
	for i, obj := range objs {
		if out[i], err = treeOf(obj); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func paramObjects(ctx context.Context, access Access, gvr schema.GroupVersionResource, namespace string, r *admissionregistrationv1.ParamRef) ([]metav1.Object, error) {
	if r.Name != "" {
		obj, err := access.Get(ctx, gvr, types.NamespacedName{Namespace: namespace, Name: r.Name})
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return []metav1.Object{obj}, nil
	}
	sel := labels.Everything()
	if r.Selector != nil {
		var err error
		if sel, err = r.Selector.Selector(); err != nil {
			return nil, err
		}
	}
	return access.List(ctx, gvr, namespace, sel)
}
