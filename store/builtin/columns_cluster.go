package builtin

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiserverinternalv1alpha1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1alpha3"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1beta2"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/columns"
)

var leaseTable = columns.Of(func(l *coordinationv1.Lease, now time.Time) []any {
	return []any{l.Name, value(l.Spec.HolderIdentity), columns.AgeOf(l, now)}
}, columns.Name(), columns.Text("Holder", "Who holds the lease."), columns.Age())

var leaseCandidateTable = columns.Of(func(c *coordinationv1beta1.LeaseCandidate, now time.Time) []any {
	return []any{c.Name, c.Spec.LeaseName, c.Spec.BinaryVersion, c.Spec.EmulationVersion, columns.AgeOf(c, now)}
}, columns.Name(), columns.Text("LeaseName", "Name of the lease."), columns.Text("BinaryVersion", "Version of the program."),
	columns.Text("EmulationVersion", "Version that the program emulates."), columns.Age())

var priorityClassTable = columns.Of(func(p *schedulingv1.PriorityClass, now time.Time) []any {
	return []any{p.Name, int64(p.Value), p.GlobalDefault, columns.AgeOf(p, now), string(value(p.PreemptionPolicy))}
}, columns.Name(), columns.Number("Value", "Priority of pods of the class."), columns.Bool("Global-Default", "Whether pods without a class get this one."),
	columns.Age(), columns.Text("PreemptionPolicy", "Whether pods of the class push others out."))

var podGroupTable = columns.Of(func(g *schedulingv1alpha2.PodGroup, now time.Time) []any {
	policy, workload, state := "Basic", unset, "Pending"
	if g.Spec.SchedulingPolicy.Gang != nil {
		policy = "Gang"
	}
	if ref := g.Spec.PodGroupTemplateRef; ref != nil && ref.Workload != nil {
		workload = ref.Workload.WorkloadName
	}
	if c := metav1.FindCondition(g.Status.Conditions, schedulingv1alpha2.PodGroupScheduled); c != nil {
		state = "Unschedulable"
		if c.Status == metav1.ConditionTrue {
			state = "Scheduled"
		}
	}
	if c := metav1.FindCondition(g.Status.Conditions, schedulingv1alpha2.DisruptionTarget); c != nil {
		state = c.Reason
	}
	return []any{g.Name, policy, workload, state, columns.AgeOf(g, now)}
}, columns.Name(), columns.Text("Policy", "How the pods of the group are scheduled."), columns.Text("Workload", "Workload that the group was created from."),
	columns.Text("Status", "What the scheduler has done."), columns.Age())

var workloadTable = columns.Of(func(w *schedulingv1alpha2.Workload, now time.Time) []any {
	return []any{w.Name, columns.AgeOf(w, now)}
}, columns.Name(), columns.Age())

var runtimeClassTable = columns.Of(func(c *nodev1.RuntimeClass, now time.Time) []any {
	return []any{c.Name, c.Handler, columns.AgeOf(c, now)}
}, columns.Name(), columns.Text("Handler", "Configuration of the container runtime."), columns.Age())

var apiServiceTable = columns.Of(func(s *apiregistrationv1.APIService, now time.Time) []any {
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
	return []any{s.Name, service, available, columns.AgeOf(s, now)}
}, columns.Name(), columns.Text("Service", "Service that serves the version, or Local."), columns.Text("Available", "Whether it can be reached."), columns.Age())

var mutatingWebhookTable = columns.Of(func(c *admissionregistrationv1.MutatingWebhookConfiguration, now time.Time) []any {
	return []any{c.Name, int64(len(c.Webhooks)), columns.AgeOf(c, now)}
}, columns.Name(), columns.Number("Webhooks", "Number of webhooks."), columns.Age())

var validatingWebhookTable = columns.Of(func(c *admissionregistrationv1.ValidatingWebhookConfiguration, now time.Time) []any {
	return []any{c.Name, int64(len(c.Webhooks)), columns.AgeOf(c, now)}
}, columns.Name(), columns.Number("Webhooks", "Number of webhooks."), columns.Age())

var validatingPolicyTable = columns.Of(func(p *admissionregistrationv1.ValidatingAdmissionPolicy, now time.Time) []any {
	return []any{p.Name, int64(len(p.Spec.Validations)), paramKind(p.Spec.ParamKind), columns.AgeOf(p, now)}
}, columns.Name(), columns.Number("Validations", "Number of rules."), columns.Text("ParamKind", "Kind of the parameters."), columns.Age())

var mutatingPolicyTable = columns.Of(func(p *admissionregistrationv1.MutatingAdmissionPolicy, now time.Time) []any {
	return []any{p.Name, int64(len(p.Spec.Mutations)), paramKind(p.Spec.ParamKind), columns.AgeOf(p, now)}
}, columns.Name(), columns.Number("Mutations", "Number of changes."), columns.Text("ParamKind", "Kind of the parameters."), columns.Age())

var validatingPolicyBindingTable = columns.Of(func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding, now time.Time) []any {
	return []any{b.Name, b.Spec.PolicyName, paramRef(b.Spec.ParamRef), columns.AgeOf(b, now)}
}, columns.Name(), columns.Text("PolicyName", "Policy that is bound."), columns.Text("ParamRef", "Parameters of the policy."), columns.Age())

var mutatingPolicyBindingTable = columns.Of(func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding, now time.Time) []any {
	return []any{b.Name, b.Spec.PolicyName, paramRef(b.Spec.ParamRef), columns.AgeOf(b, now)}
}, columns.Name(), columns.Text("PolicyName", "Policy that is bound."), columns.Text("ParamRef", "Parameters of the policy."), columns.Age())

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

var deviceClassTable = columns.Of(func(c *resourcev1.DeviceClass, now time.Time) []any {
	return []any{c.Name, columns.AgeOf(c, now)}
}, columns.Name(), columns.Age())

var claimTemplateTable = columns.Of(func(c *resourcev1.ResourceClaimTemplate, now time.Time) []any {
	return []any{c.Name, columns.AgeOf(c, now)}
}, columns.Name(), columns.Age())

var deviceTaintRuleTable = columns.Of(func(r *resourcev1beta2.DeviceTaintRule, now time.Time) []any {
	t := &r.Spec.Taint
	added := ""
	if t.TimeAdded != nil {
		added = columns.Since(t.TimeAdded.Time, now)
	}
	return []any{r.Name, t.Key, t.Value, string(t.Effect), added, columns.AgeOf(r, now)}
}, columns.Name(), columns.Text("Key", "Key of the taint."), columns.Text("Value", "Value of the taint."), columns.Text("Effect", "Effect of the taint."),
	columns.Text("TimeAdded", "Time since the taint has this effect."), columns.Age())

var storageVersionTable = columns.Of(func(v *apiserverinternalv1alpha1.StorageVersion, now time.Time) []any {
	var servers []string
	for _, s := range v.Status.StorageVersions {
		servers = append(servers, s.APIServerID+"="+s.EncodingVersion)
	}
	return []any{v.Name, orElse(value(v.Status.CommonEncodingVersion), unset), orElse(few(servers, 3, ","), unset), columns.AgeOf(v, now)}
}, columns.Name(), columns.Text("CommonEncodingVersion", "Version in which all servers store objects."),
	columns.Text("StorageVersions", "Version in which each server stores objects."), columns.Age())

var poolStatusRequestTable = columns.Of(func(r *resourcev1alpha3.ResourcePoolStatusRequest, now time.Time) []any {
	row := []any{r.Name, r.Spec.Driver, "-", "-", "-", "-", "-", int64(0), "Pending", none}
	if r.Status == nil {
		return row
	}
	count, returned := value(r.Status.PoolCount), len(r.Status.Pools)
	row[7] = int64(count)
	switch c := r.Answered(); {
	case c == nil || c.Status != metav1.ConditionTrue:
	case c.Type == resourcev1alpha3.Failed:
		row[8] = c.Type
		return row
	case int(count) > returned:
		row[8], row[9] = fmt.Sprintf("Complete (%d/%d pools)", returned, count), columns.Since(c.LastTransitionTime.Time, now)
	default:
		row[8], row[9] = c.Type, columns.Since(c.LastTransitionTime.Time, now)
	}
	var sums [5]int // in the order of the columns
	for i := range r.Status.Pools {
		p := &r.Status.Pools[i]
		for j, n := range []*int32{p.TotalDevices, p.AvailableDevices, p.AllocatedDevices, p.UnavailableDevices} {
			sums[j] += int(value(n))
		}
		if p.ValidationError != nil {
			sums[4]++
		}
	}
	for i, n := range sums {
		row[2+i] = strconv.Itoa(n)
	}
	return row
}, columns.Name(), columns.Text("Driver", "Driver whose pools were counted."), columns.Text("Total", "Devices of the pools."), columns.Text("Available", "Devices that are left."),
	columns.Text("Allocated", "Allocations to claims."), columns.Text("Unavailable", "Devices that cannot be allocated."), columns.Text("Errors", "Pools with an error."),
	columns.Number("Pools", "Matching pools."), columns.Text("Status", "Pending, Complete or Failed."), columns.Text("Completed", "Time since the count."))

var resourceClaimTable = columns.Of(func(c *resourcev1.ResourceClaim, now time.Time) []any {
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
	return []any{c.Name, strings.Join(states, ","), columns.AgeOf(c, now)}
}, columns.Name(), columns.Text("State", "Whether devices are allocated and in use."), columns.Age())

var resourceSliceTable = columns.Of(func(s *resourcev1.ResourceSlice, now time.Time) []any {
	return []any{s.Name, value(s.Spec.NodeName), s.Spec.Driver, s.Spec.Pool.Name, columns.AgeOf(s, now)}
}, columns.Name(), columns.Text("Node", "Node that has the devices."), columns.Text("Driver", "Driver of the devices."), columns.Text("Pool", "Pool the slice belongs to."), columns.Age())

var flowSchemaTable = columns.Of(func(f *flowcontrolv1.FlowSchema, now time.Time) []any {
	by, dangling := none, "?"
	if f.Spec.DistinguisherMethod != nil {
		by = string(f.Spec.DistinguisherMethod.Type)
	}
	for _, c := range f.Status.Conditions {
		if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			dangling = string(c.Status)
		}
	}
	return []any{f.Name, f.Spec.PriorityLevelConfiguration.Name, int64(f.Spec.MatchingPrecedence), by, columns.AgeOf(f, now), dangling}
}, columns.Name(), columns.Text("PriorityLevel", "Level of the matching requests."), columns.Text("MatchingPrecedence", "Lower is matched first."),
	columns.Text("DistinguisherMethod", "How requests are divided into flows."), columns.Age(), columns.Text("MissingPL", "Whether the level is missing."))

var priorityLevelTable = columns.Of(func(p *flowcontrolv1.PriorityLevelConfiguration, now time.Time) []any {
	shares, queues, hand, length := any(none), any(none), any(none), any(none)
	if l := p.Spec.Limited; l != nil {
		if l.NominalConcurrencyShares != nil {
			shares = int64(*l.NominalConcurrencyShares)
		}
		if q := l.LimitResponse.Queuing; q != nil {
			queues, hand, length = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
		}
	}
	return []any{p.Name, string(p.Spec.Type), shares, queues, hand, length, columns.AgeOf(p, now)}
}, columns.Name(), columns.Text("Type", "Limited or Exempt."), columns.Text("NominalConcurrencyShares", "Share of the server's seats."),
	columns.Text("Queues", "Number of queues."), columns.Text("HandSize", "Queues one flow may use."), columns.Text("QueueLengthLimit", "Longest queue."), columns.Age())
