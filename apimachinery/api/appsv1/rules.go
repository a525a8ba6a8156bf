package appsv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*Deployment]{
			Default: DefaultDeployment, Validate: ValidateDeployment,
			ValidateUpdate: ValidateDeploymentUpdate, ValidateStatus: ValidateDeploymentStatus,
			Warnings: func(d, old *Deployment) []string { return warnings(&d.ObjectMeta, old == nil, &d.Spec.Template) },
		}.Attach(s),
		scheme.RulesFor[*ReplicaSet]{
			Default: DefaultReplicaSet, Validate: ValidateReplicaSet,
			ValidateUpdate: ValidateReplicaSetUpdate, ValidateStatus: ValidateReplicaSetStatus,
			Warnings: func(r, old *ReplicaSet) []string { return warnings(&r.ObjectMeta, old == nil, &r.Spec.Template) },
		}.Attach(s),
		scheme.RulesFor[*StatefulSet]{
			NameRule: validation.NameIsLabel,
			Default:  DefaultStatefulSet, Validate: ValidateStatefulSet,
			ValidateUpdate: ValidateStatefulSetUpdate, ValidateStatus: ValidateStatefulSetStatus,
			Warnings: statefulSetWarnings,
		}.Attach(s),
		scheme.RulesFor[*DaemonSet]{
			Default: DefaultDaemonSet, Validate: ValidateDaemonSet,
			ValidateUpdate: ValidateDaemonSetUpdate, ValidateStatus: ValidateDaemonSetStatus,
			Warnings: func(d, _ *DaemonSet) []string { return templateWarnings(&d.Spec.Template) },
		}.Attach(s),
		scheme.RulesFor[*ControllerRevision]{
			Meta:     scheme.MetaStrict,
			Validate: ValidateControllerRevision, ValidateUpdate: ValidateControllerRevisionUpdate,
		}.Attach(s),
	)
}

func templateWarnings(t *corev1.PodTemplateSpec) []string {
	return corev1.PodSpecWarnings(&t.Spec, at("spec", "template", "spec"))
}

// warnings are those of a template and, when it is made, of the name of what makes pods of it.
func warnings(m *metav1.ObjectMeta, created bool, t *corev1.PodTemplateSpec) []string {
	var out []string
	if created {
		out = corev1.NameWarnings(m.Name)
	}
	return append(out, templateWarnings(t)...)
}

func statefulSetWarnings(s, _ *StatefulSet) []string {
	out := templateWarnings(&s.Spec.Template)
	if n := s.Spec.RevisionHistoryLimit; n != nil && *n < 0 {
		out = append(out, "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")
	}
	return out
}
