package appsv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
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
			Warnings: func(d, _ *Deployment) []string { return templateWarnings(&d.Spec.Template) },
		}.Attach(s),
		scheme.RulesFor[*ReplicaSet]{
			Default: DefaultReplicaSet, Validate: ValidateReplicaSet,
			ValidateUpdate: ValidateReplicaSetUpdate, ValidateStatus: ValidateReplicaSetStatus,
			Warnings: func(r, _ *ReplicaSet) []string { return templateWarnings(&r.Spec.Template) },
		}.Attach(s),
		scheme.RulesFor[*StatefulSet]{
			Default: DefaultStatefulSet, Validate: ValidateStatefulSet,
			ValidateUpdate: ValidateStatefulSetUpdate, ValidateStatus: ValidateStatefulSetStatus, NameRule: validation.NameIsLabel,
			Warnings: func(s, _ *StatefulSet) []string { return templateWarnings(&s.Spec.Template) },
		}.Attach(s),
		scheme.RulesFor[*DaemonSet]{
			Default: DefaultDaemonSet, Validate: ValidateDaemonSet,
			ValidateUpdate: ValidateDaemonSetUpdate, ValidateStatus: ValidateDaemonSetStatus,
			Warnings: func(d, _ *DaemonSet) []string { return templateWarnings(&d.Spec.Template) },
		}.Attach(s),
		scheme.RulesFor[*ControllerRevision]{
			Validate: ValidateControllerRevision, ValidateUpdate: ValidateControllerRevisionUpdate,
		}.Attach(s),
	)
}

func templateWarnings(t *corev1.PodTemplateSpec) []string {
	return corev1.PodSpecWarnings(&t.Spec, at("spec", "template", "spec"))
}
