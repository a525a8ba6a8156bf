package corev1

import (
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidateReplicationController checks a controller to be stored.
func ValidateReplicationController(rc *ReplicationController) validation.ErrorList {
	var r check.Report
	s, p := &rc.Spec, at("spec")
	check.NonNegative(&r, p.Child("minReadySeconds"), s.MinReadySeconds)
	if len(s.Selector) == 0 {
		r.Required(p.Child("selector"), "")
	}
	if s.Replicas == nil {
		r.Required(p.Child("replicas"), "")
	} else {
		check.NonNegative(&r, p.Child("replicas"), *s.Replicas)
	}
	t := p.Child("template")
	if s.Template == nil {
		r.Required(t, "")
		return r.List()
	}
	if len(s.Selector) > 0 {
		r.Add(TemplateSelected(s.Template, func(labels map[string]string) bool { return contains(labels, s.Selector) }, t))
	}
	r.Add(ValidatePodTemplate(s.Template, t))
	r.Add(RunsForever(s.Template, t))
	return r.List()
}

func contains(labels, want map[string]string) bool {
	for k, v := range want {
		if have, ok := labels[k]; !ok || have != v {
			return false
		}
	}
	return true
}

// TemplateSelected checks that the pods of a template at p are those the controller looks for.
func TemplateSelected(t *PodTemplateSpec, matches func(labels map[string]string) bool, p *path) validation.ErrorList {
	var r check.Report
	r.If(!matches(t.Labels), p.Child("metadata", "labels"), maps.Clone(t.Labels), "`selector` does not match template `labels`")
	return r.List()
}

// RunsForever checks that the pods of a template at p never end by themselves.
func RunsForever(t *PodTemplateSpec, p *path) validation.ErrorList {
	var r check.Report
	switch t.Spec.RestartPolicy {
	case RestartPolicyNever, RestartPolicyOnFailure: // others were reported already
		check.OneOf(&r, p.Child("spec", "restartPolicy"), t.Spec.RestartPolicy, RestartPolicyAlways)
	}
	r.ForbidIf(t.Spec.ActiveDeadlineSeconds != nil, p.Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds cannot be set for pods that are to run forever")
	return r.List()
}

// ValidateReplicationControllerStatus checks a change of a controller's status.
func ValidateReplicationControllerStatus(rc, _ *ReplicationController) validation.ErrorList {
	var r check.Report
	s, p := &rc.Status, at("status")
	check.NonNegative(&r, p.Child("replicas"), s.Replicas)
	check.NonNegative(&r, p.Child("fullyLabeledReplicas"), s.FullyLabeledReplicas)
	check.NonNegative(&r, p.Child("readyReplicas"), s.ReadyReplicas)
	check.NonNegative(&r, p.Child("availableReplicas"), s.AvailableReplicas)
	check.NonNegative(&r, p.Child("observedGeneration"), s.ObservedGeneration)
	for _, f := range []struct {
		name string
		n    int32
	}{
		{"fullyLabeledReplicas", s.FullyLabeledReplicas}, {"readyReplicas", s.ReadyReplicas}, {"availableReplicas", s.AvailableReplicas},
	} {
		r.If(f.n > s.Replicas, p.Child(f.name), f.n, "cannot be greater than status.replicas")
	}
	r.If(s.AvailableReplicas > s.ReadyReplicas, p.Child("availableReplicas"), s.AvailableReplicas, "cannot be greater than readyReplicas")
	return r.List()
}

// ValidatePodTemplateObject checks a stored template.
func ValidatePodTemplateObject(t *PodTemplate) validation.ErrorList {
	return ValidatePodTemplate(&t.Template, at("template"))
}

// ValidateBinding checks a request to bind a pod to a node.
func ValidateBinding(b *Binding) validation.ErrorList {
	var r check.Report
	if b.Target.Kind != "" {
		check.OneOf(&r, at("target", "kind"), b.Target.Kind, "Node", "<empty>")
	}
	r.NonEmpty(at("target", "name"), b.Target.Name)
	return r.List()
}

// ValidateEvent checks a core/v1 event, with the few rules that this version of the API has: its namespace
// agrees with that of its object, and an event with an eventTime names its reporting component.
func ValidateEvent(e *Event) validation.ErrorList { return ValidateEventParts(e, "reportingComponent") }

// ValidateEventParts checks what all versions of an event have; controllerField is what the version
// calls the reporting controller.
func ValidateEventParts(e *Event, controllerField string) validation.ErrorList {
	const maxText, maxNote = 128, 1024
	var r check.Report
	ns := at("involvedObject", "namespace")
	involved := e.InvolvedObject.Namespace
	if e.EventTime.Time.IsZero() {
		if involved == "" {
			r.If(e.Namespace != "" && e.Namespace != NamespaceDefault, ns, involved, "does not match event.namespace")
		} else {
			r.If(e.Namespace != involved, ns, involved, "does not match event.namespace")
		}
	} else {
		if involved == "" {
			r.If(e.Namespace != NamespaceDefault && e.Namespace != "kube-system", ns, involved, "does not match event.namespace")
		}
		r.NonEmpty(at(controllerField), e.ReportingController)
		r.Each(at(controllerField), e.ReportingController, validation.IsQualifiedName(e.ReportingController))
		for _, f := range [][2]string{{"reportingInstance", e.ReportingInstance}, {"action", e.Action}, {"reason", e.Reason}} {
			r.NonEmpty(at(f[0]), f[1])
			r.If(len(f[1]) > maxText, at(f[0]), "", validation.MaxLengthText(maxText))
		}
		r.If(len(e.Message) > maxNote, at("message"), "", validation.MaxLengthText(maxNote))
	}
	if e.Namespace != "" {
		r.Each(at("namespace"), e.Namespace, validation.IsDNS1123Subdomain(e.Namespace))
	}
	return r.List()
}
