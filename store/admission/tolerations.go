package admission

import (
	"context"
	"fmt"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// The annotations with which a namespace replaces the configuration of its pods' tolerations: lists of
// tolerations in JSON.
const (
	defaultTolerationsAnnotation = "scheduler.alpha.kubernetes.io/defaultTolerations"
	allowedTolerationsAnnotation = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
)

// tolerationRestriction adds default tolerations to new pods and refuses tolerations that are not allowed in
// the namespace.
type tolerationRestriction struct {
	named
	access     Access
	configured Tolerations
}

func newTolerationRestriction(access Access, o Options) (Plugin, error) {
	t := o.Configuration.Tolerations
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("PodTolerationRestriction: %w", err)
	}
	return &tolerationRestriction{named{"PodTolerationRestriction", []Operation{Create, Update}}, access, t}, nil
}

func (t *Tolerations) check() error {
	errs := corev1.ValidateTolerations(t.Default, validation.NewPath("default"))
	return append(errs, corev1.ValidateTolerations(t.Allowed, validation.NewPath("whitelist"))...).Err()
}

func (p *tolerationRestriction) Admit(ctx context.Context, a *Attributes) error {
	pod, ok := podOf(a)
	if !ok {
		return nil
	}
	var added []corev1.Toleration
	if a.Operation == Create {
		own, chosen, err := p.ofNamespace(ctx, a.Namespace, defaultTolerationsAnnotation)
		if err != nil {
			return err
		}
		if !chosen {
			own = p.configured.Default
		}
		added = append(added, own...)
	}
	if corev1.QOSClass(pod) != corev1.PodQOSBestEffort {
		added = append(added, corev1.Toleration{Key: "node.kubernetes.io/memory-pressure", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	}
	if len(added) > 0 {
		pod.Spec.Tolerations = mergeTolerations(append(pod.Spec.Tolerations[:len(pod.Spec.Tolerations):len(pod.Spec.Tolerations)], added...))
	}
	return p.Validate(ctx, a)
}

func (p *tolerationRestriction) Validate(ctx context.Context, a *Attributes) error {
	pod, ok := podOf(a)
	if !ok || len(pod.Spec.Tolerations) == 0 {
		return nil
	}
	allowed, chosen, err := p.ofNamespace(ctx, a.Namespace, allowedTolerationsAnnotation)
	if err != nil {
		return err
	}
	scope := "namespace"
	if !chosen {
		allowed, scope = p.configured.Allowed, "cluster"
	}
	if len(allowed) == 0 {
		return nil
	}
next:
	for i := range pod.Spec.Tolerations {
		for j := range allowed {
			if tolerationCovers(&allowed[j], &pod.Spec.Tolerations[i]) {
				continue next
			}
		}
		return fmt.Errorf("pod tolerations (possibly merged with namespace default tolerations) conflict with its %s whitelist", scope)
	}
	return nil
}

// ofNamespace returns the tolerations of an annotation, and whether the namespace has it.
func (p *tolerationRestriction) ofNamespace(ctx context.Context, namespace, annotation string) ([]corev1.Toleration, bool, error) {
	obj, err := p.access.Get(ctx, core("namespaces"), types.NamespacedName{Name: namespace})
	if err != nil {
		return nil, false, err
	}
	text, ok := obj.GetAnnotations()[annotation]
	if !ok || text == "" {
		return nil, ok, nil
	}
	var list []corev1.Toleration
	if err := codec.Unmarshal([]byte(text), &list); err != nil {
		return nil, true, fmt.Errorf("annotation %s of namespace %s: %w", annotation, namespace, err)
	}
	return list, true, nil
}

// mergeTolerations leaves out every toleration that another one covers, and of equal ones all but the first.
func mergeTolerations(all []corev1.Toleration) []corev1.Toleration {
	var merged []corev1.Toleration
next:
	for i := range all {
		for j := range merged {
			if tolerationCovers(&merged[j], &all[i]) {
				continue next
			}
		}
		for j := i + 1; j < len(all); j++ {
			if !reflect.DeepEqual(all[i], all[j]) && tolerationCovers(&all[j], &all[i]) {
				continue next
			}
		}
		merged = append(merged, all[i])
	}
	return merged
}

// tolerationCovers reports whether wide tolerates every taint that narrow does, for at least as long. As
// upstream's (pkg/util/tolerations of 1.36.3) it is exact about operators: an empty one in narrow is not
// covered by Equal, unless the two are equal.
func tolerationCovers(wide, narrow *corev1.Toleration) bool {
	if reflect.DeepEqual(wide, narrow) {
		return true
	}
	if narrow.Key != wide.Key && (wide.Key != "" || wide.Operator != corev1.TolerationOpExists) {
		return false
	}
	if narrow.Effect != wide.Effect && wide.Effect != "" {
		return false
	}
	if s := wide.TolerationSeconds; wide.Effect == corev1.TaintEffectNoExecute && s != nil {
		if narrow.TolerationSeconds == nil || *narrow.TolerationSeconds > *s {
			return false
		}
	}
	switch wide.Operator {
	case corev1.TolerationOpEqual, "":
		return narrow.Operator == corev1.TolerationOpEqual && narrow.Value == wide.Value
	case corev1.TolerationOpExists:
		return true
	}
	return false
}
