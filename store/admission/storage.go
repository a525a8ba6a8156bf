package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// storageProtection adds the finalizers that keep volumes, claims and attribute classes while they are in
// use.
type storageProtection struct{ named }

func newStorageProtection(Access) Plugin {
	return &storageProtection{named{"StorageObjectInUseProtection", []Operation{Create}}}
}

func (p *storageProtection) Admit(_ context.Context, a *Attributes) error {
	if a.Subresource != "" {
		return nil
	}
	var finalizer string
	switch a.Object.(type) {
	case *corev1.PersistentVolumeClaim:
		finalizer = "kubernetes.io/pvc-protection"
	case *corev1.PersistentVolume:
		finalizer = "kubernetes.io/pv-protection"
	case *storagev1.VolumeAttributesClass:
		finalizer = "kubernetes.io/vac-protection"
	default:
		return nil
	}
	if have := a.Object.GetFinalizers(); !slices.Contains(have, finalizer) {
		a.Object.SetFinalizers(append(have, finalizer))
	}
	return nil
}

// newest returns the default-annotated object of a list that was created last, by name among equals.
func newest[T metav1.Object](all []metav1.Object, annotation string) (best T, found bool) {
	for _, obj := range all {
		if obj.GetAnnotations()[annotation] != "true" {
			continue
		}
		if !found || newer(obj, best) {
			best, found = obj.(T), true
		}
	}
	return best, found
}

func newer(a, b metav1.Object) bool {
	ta, tb := metav1.MetaOf(a).CreationTimestamp.Time, metav1.MetaOf(b).CreationTimestamp.Time
	if !ta.Equal(tb) {
		return ta.After(tb)
	}
	return strings.Compare(a.GetName(), b.GetName()) < 0
}

// defaultStorageClass sets the default class of claims without one.
type defaultStorageClass struct {
	named
	access Access
}

func newDefaultStorageClass(access Access) Plugin {
	return &defaultStorageClass{named{"DefaultStorageClass", []Operation{Create}}, access}
}

func (p *defaultStorageClass) Admit(ctx context.Context, a *Attributes) error {
	pvc, ok := a.Object.(*corev1.PersistentVolumeClaim)
	if !ok || a.Subresource != "" || pvc.Spec.StorageClassName != nil || pvc.Annotations["volume.beta.kubernetes.io/storage-class"] != "" {
		return nil
	}
	all, err := p.access.List(ctx, resource("storage.k8s.io", "v1", "storageclasses"), "", labels.Everything())
	if err != nil {
		return err
	}
	if class, ok := newest[*storagev1.StorageClass](all, "storageclass.kubernetes.io/is-default-class"); ok {
		pvc.Spec.StorageClassName = new(class.Name)
	}
	return nil
}

// claimResize refuses the expansion of claims whose class does not allow it.
type claimResize struct {
	named
	access Access
}

func newClaimResize(access Access) Plugin {
	return &claimResize{named{"PersistentVolumeClaimResize", []Operation{Update}}, access}
}

func (p *claimResize) Validate(ctx context.Context, a *Attributes) error {
	claim, ok := a.Object.(*corev1.PersistentVolumeClaim)
	old, both := a.Old.(*corev1.PersistentVolumeClaim)
	if !ok || !both || a.Subresource != "" {
		return nil
	}
	wanted, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	if wanted.Cmp(has) <= 0 {
		return nil
	}
	if old.Status.Phase != corev1.ClaimBound {
		return forbid(a, "Only bound persistent volume claims can be expanded")
	}
	grows, err := p.mayGrow(ctx, claim, old)
	if err != nil {
		return err
	}
	if !grows {
		return forbid(a, "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
	}
	return nil
}

func (p *claimResize) mayGrow(ctx context.Context, claim, old *corev1.PersistentVolumeClaim) (bool, error) {
	name := classOf(claim)
	if name == "" || name != classOf(old) {
		return false, nil
	}
	obj, err := p.access.Get(ctx, resource("storage.k8s.io", "v1", "storageclasses"), types.NamespacedName{Name: name})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	allowed := obj.(*storagev1.StorageClass).AllowVolumeExpansion
	return allowed != nil && *allowed, nil
}

// classOf returns the storage class of a claim: that of the annotation, which predates the field, if it is
// set.
func classOf(claim *corev1.PersistentVolumeClaim) string {
	if class, ok := claim.Annotations["volume.beta.kubernetes.io/storage-class"]; ok {
		return class
	}
	if claim.Spec.StorageClassName == nil {
		return ""
	}
	return *claim.Spec.StorageClassName
}

// defaultIngressClass sets the default class of ingresses without one.
type defaultIngressClass struct {
	named
	access Access
}

func newDefaultIngressClass(access Access) Plugin {
	return &defaultIngressClass{named{"DefaultIngressClass", []Operation{Create}}, access}
}

func (p *defaultIngressClass) Admit(ctx context.Context, a *Attributes) error {
	ing, ok := a.Object.(*networkingv1.Ingress)
	if !ok || a.Subresource != "" || ing.Spec.IngressClassName != nil || ing.Annotations["kubernetes.io/ingress.class"] != "" {
		return nil
	}
	all, err := p.access.List(ctx, resource("networking.k8s.io", "v1", "ingressclasses"), "", labels.Everything())
	if err != nil {
		return err
	}
	const annotation = "ingressclass.kubernetes.io/is-default-class"
	class, found := newest[*networkingv1.IngressClass](all, annotation)
	for _, obj := range all {
		if found && obj.GetAnnotations()[annotation] == "true" && obj.GetName() != class.Name &&
			metav1.MetaOf(obj).CreationTimestamp.Time.Equal(class.CreationTimestamp.Time) {
			return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf("2 default IngressClasses were found, only 1 allowed: %s and %s", class.Name, obj.GetName()))
		}
	}
	if found {
		ing.Spec.IngressClassName = new(class.Name)
	}
	return nil
}
