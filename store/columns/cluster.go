package columns

import (
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
)

var leaseTable = Of(func(l *coordinationv1.Lease, now time.Time) []any {
	return []any{l.Name, value(l.Spec.HolderIdentity), ageOf(l, now)}
}, name(), text("Holder", "Who holds the lease."), age())

var priorityClassTable = Of(func(p *schedulingv1.PriorityClass, now time.Time) []any {
	return []any{p.Name, int64(p.Value), p.GlobalDefault, ageOf(p, now), string(value(p.PreemptionPolicy))}
}, name(), number("Value", "Priority of pods of the class."), flag("Global-Default", "Whether pods without a class get this one."),
	age(), text("PreemptionPolicy", "Whether pods of the class push others out."))

var runtimeClassTable = Of(func(c *nodev1.RuntimeClass, now time.Time) []any {
	return []any{c.Name, c.Handler, ageOf(c, now)}
}, name(), text("Handler", "Configuration of the container runtime."), age())

var apiServiceTable = Of(func(s *apiregistrationv1.APIService, now time.Time) []any {
	service := "Local"
	if ref := s.Spec.Service; ref != nil {
		service = value(&ref.Namespace) + "/" + value(&ref.Name)
	}
	available := "Unknown"
	for _, c := range s.Status.Conditions {
		if c.Type != apiregistrationv1.Available {
			continue
		}
		available = string(c.Status)
		if c.Status != apiregistrationv1.ConditionTrue && c.Reason != "" {
			available += " (" + c.Reason + ")"
		}
	}
	return []any{s.Name, service, available, ageOf(s, now)}
}, name(), text("Service", "Service that serves the version, or Local."), text("Available", "Whether it can be reached."), age())

var mutatingWebhookTable = Of(func(c *admissionregistrationv1.MutatingWebhookConfiguration, now time.Time) []any {
	return []any{c.Name, int64(len(c.Webhooks)), ageOf(c, now)}
}, name(), number("Webhooks", "Number of webhooks."), age())

var validatingWebhookTable = Of(func(c *admissionregistrationv1.ValidatingWebhookConfiguration, now time.Time) []any {
	return []any{c.Name, int64(len(c.Webhooks)), ageOf(c, now)}
}, name(), number("Webhooks", "Number of webhooks."), age())

var validatingPolicyTable = Of(func(p *admissionregistrationv1.ValidatingAdmissionPolicy, now time.Time) []any {
	return []any{p.Name, int64(len(p.Spec.Validations)), paramKind(p.Spec.ParamKind), ageOf(p, now)}
}, name(), number("Validations", "Number of rules."), text("ParamKind", "Kind of the parameters."), age())

var mutatingPolicyTable = Of(func(p *admissionregistrationv1.MutatingAdmissionPolicy, now time.Time) []any {
	return []any{p.Name, int64(len(p.Spec.Mutations)), paramKind(p.Spec.ParamKind), ageOf(p, now)}
}, name(), number("Mutations", "Number of changes."), text("ParamKind", "Kind of the parameters."), age())

var validatingPolicyBindingTable = Of(func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding, now time.Time) []any {
	return []any{b.Name, b.Spec.PolicyName, paramRef(b.Spec.ParamRef), ageOf(b, now)}
}, name(), text("PolicyName", "Policy that is bound."), text("ParamRef", "Parameters of the policy."), age())

var mutatingPolicyBindingTable = Of(func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding, now time.Time) []any {
	return []any{b.Name, b.Spec.PolicyName, paramRef(b.Spec.ParamRef), ageOf(b, now)}
}, name(), text("PolicyName", "Policy that is bound."), text("ParamRef", "Parameters of the policy."), age())

func paramKind(k *admissionregistrationv1.ParamKind) string {
	if k == nil {
		return unset
	}
	return k.APIVersion + "/" + k.Kind
}

func paramRef(r *admissionregistrationv1.ParamRef) string {
	switch {
	case r == nil:
		return unset
	case r.Name != "":
		return orElse(r.Namespace, "*") + "/" + r.Name
	case r.Selector != nil:
		return selectorText(r.Selector)
	}
	return unset
}

var deviceClassTable = Of(func(c *resourcev1.DeviceClass, now time.Time) []any {
	return []any{c.Name, ageOf(c, now)}
}, name(), age())

var claimTemplateTable = Of(func(c *resourcev1.ResourceClaimTemplate, now time.Time) []any {
	return []any{c.Name, ageOf(c, now)}
}, name(), age())

var resourceClaimTable = Of(func(c *resourcev1.ResourceClaim, now time.Time) []any {
	var states []string
	if c.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	if c.Status.Allocation != nil {
		states = append(states, "allocated")
		if len(c.Status.ReservedFor) > 0 {
			states = append(states, "reserved")
		}
	} else if c.DeletionTimestamp == nil {
		states = append(states, "pending")
	}
	return []any{c.Name, strings.Join(states, ","), ageOf(c, now)}
}, name(), text("State", "Whether devices are allocated and in use."), age())

var resourceSliceTable = Of(func(s *resourcev1.ResourceSlice, now time.Time) []any {
	return []any{s.Name, value(s.Spec.NodeName), s.Spec.Driver, s.Spec.Pool.Name, ageOf(s, now)}
}, name(), text("Node", "Node that has the devices."), text("Driver", "Driver of the devices."), text("Pool", "Pool the slice belongs to."), age())

var flowSchemaTable = Of(func(f *flowcontrolv1.FlowSchema, now time.Time) []any {
	by, dangling := none, "?"
	if f.Spec.DistinguisherMethod != nil {
		by = string(f.Spec.DistinguisherMethod.Type)
	}
	for _, c := range f.Status.Conditions {
		if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			dangling = string(c.Status)
		}
	}
	return []any{f.Name, f.Spec.PriorityLevelConfiguration.Name, int64(f.Spec.MatchingPrecedence), by, ageOf(f, now), dangling}
}, name(), text("PriorityLevel", "Level of the matching requests."), text("MatchingPrecedence", "Lower is asked first."),
	text("DistinguisherMethod", "How requests are told apart."), age(), text("MissingPL", "Whether the level is missing."))

var priorityLevelTable = Of(func(p *flowcontrolv1.PriorityLevelConfiguration, now time.Time) []any {
	shares, queues, hand, length := any(none), any(none), any(none), any(none)
	if l := p.Spec.Limited; l != nil {
		if l.NominalConcurrencyShares != nil {
			shares = int64(*l.NominalConcurrencyShares)
		}
		if q := l.LimitResponse.Queuing; q != nil {
			queues, hand, length = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
		}
	}
	return []any{p.Name, string(p.Spec.Type), shares, queues, hand, length, ageOf(p, now)}
}, name(), text("Type", "Limited or Exempt."), text("NominalConcurrencyShares", "Share of the server's seats."),
	text("Queues", "Number of queues."), text("HandSize", "Queues one flow may use."), text("QueueLengthLimit", "Longest queue."), age())
