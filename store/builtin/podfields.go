package builtin

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/internal/podtemplate"
	"github.com/keelson-dev/keelson/store/registry"
)

// gatedField is a field of pods that is of no use where a kind is not served.
type gatedField struct {
	used  func(*corev1.PodSpec) bool
	clear func(*corev1.PodSpec)
}

var (
	groupField = gatedField{
		func(s *corev1.PodSpec) bool { return s.SchedulingGroup != nil },
		func(s *corev1.PodSpec) { s.SchedulingGroup = nil },
	}
	bundleField      = sourceField(func(s *corev1.VolumeProjection) **corev1.ClusterTrustBundleProjection { return &s.ClusterTrustBundle })
	certificateField = sourceField(func(s *corev1.VolumeProjection) **corev1.PodCertificateProjection { return &s.PodCertificate })
)

// sourceField is a kind of source of projected volumes.
func sourceField[T any](of func(*corev1.VolumeProjection) **T) gatedField {
	each := func(s *corev1.PodSpec, f func(**T)) {
		for i := range s.Volumes {
			if p := s.Volumes[i].Projected; p != nil {
				for j := range p.Sources {
					f(of(&p.Sources[j]))
				}
			}
		}
	}
	return gatedField{
		func(s *corev1.PodSpec) (used bool) {
			each(s, func(v **T) { used = used || *v != nil })
			return used
		},
		func(s *corev1.PodSpec) { each(s, func(v **T) { *v = nil }) },
	}
}

// uselessFields are those of kinds that s does not serve.
func uselessFields(s *scheme.Scheme) (list []gatedField) {
	if kind[*schedulingv1alpha2.PodGroup](s, schedulingv1alpha2.GroupVersion) == nil {
		list = append(list, groupField)
	}
	if !servesBundles(s) {
		list = append(list, bundleField)
	}
	if kind[*certificatesv1beta1.PodCertificateRequest](s, certificatesv1beta1.GroupVersion) == nil {
		list = append(list, certificateField)
	}
	return list
}

// servesBundles reports whether s has ClusterTrustBundle.
func servesBundles(s *scheme.Scheme) bool {
	return kind[*certificatesv1beta1.ClusterTrustBundle](s, certificatesv1beta1.GroupVersion) != nil
}

// drop removes fields from new objects of a kind. Objects that have one keep it.
func drop(s *registry.Strategy, fields []gatedField) {
	create, update := s.PrepareCreate, s.PrepareUpdate
	remove := func(obj, old metav1.Object) {
		spec, was := podSpec(obj), podSpec(old)
		if spec == nil {
			return
		}
		for _, f := range fields {
			if was == nil || !f.used(was) {
				f.clear(spec)
			}
		}
	}
	s.PrepareCreate = func(ctx context.Context, obj metav1.Object) {
		remove(obj, nil)
		if create != nil {
			create(ctx, obj)
		}
	}
	s.PrepareUpdate = func(ctx context.Context, obj, old metav1.Object) {
		remove(obj, old)
		if update != nil {
			update(ctx, obj, old)
		}
	}
}

// podSpec is that of a pod or of a template of pods; nil if there is none.
func podSpec(obj metav1.Object) *corev1.PodSpec {
	if pod, ok := obj.(*corev1.Pod); ok {
		return &pod.Spec
	}
	if t := podtemplate.Of(obj); t != nil {
		return &t.Spec
	}
	return nil
}
