package admission

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// alwaysDeny refuses every write. Upstream has it for tests of its own; so may others.
type alwaysDeny struct{ named }

func newAlwaysDeny(Access) Plugin {
	return &alwaysDeny{named{"AlwaysDeny", []Operation{Create, Update, Delete, Connect}}}
}

func (p *alwaysDeny) Admit(ctx context.Context, a *Attributes) error { return p.Validate(ctx, a) }

func (p *alwaysDeny) Validate(_ context.Context, a *Attributes) error {
	return refuse(a, errors.New("admission control is denying all modifications"))
}

// alwaysAdmit handles nothing.
type alwaysAdmit struct{ named }

func newAlwaysAdmit(Access) Plugin { return &alwaysAdmit{named{name: "AlwaysAdmit"}} }

func (*alwaysAdmit) Validate(context.Context, *Attributes) error { return nil }

// namespaceProvision creates the namespace of a new object if it is missing.
type namespaceProvision struct {
	named
	access Access
}

func newNamespaceProvision(access Access) Plugin {
	return &namespaceProvision{named{"NamespaceAutoProvision", []Operation{Create}}, access}
}

func (p *namespaceProvision) Admit(ctx context.Context, a *Attributes) error {
	if a.DryRun || a.Namespace == "" || a.Resource == core("namespaces") {
		return nil
	}
	_, err := p.access.Get(ctx, core("namespaces"), types.NamespacedName{Name: a.Namespace})
	if apierrors.IsNotFound(err) {
		err = p.access.Create(ctx, core("namespaces"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.Namespace}})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
	}
	if err != nil {
		return refuse(a, err)
	}
	return nil
}

// denyExternalIPs refuses new external addresses of Services, with which a user who may write Services can
// receive the traffic of others.
type denyExternalIPs struct{ named }

func newDenyExternalIPs(Access) Plugin {
	return &denyExternalIPs{named{"DenyServiceExternalIPs", []Operation{Create, Update}}}
}

func (p *denyExternalIPs) Validate(_ context.Context, a *Attributes) error {
	service, ok := a.Object.(*corev1.Service)
	if !ok || a.Resource != core("services") || a.Subresource != "" {
		return nil
	}
	var had []string
	if old, ok := a.Old.(*corev1.Service); ok {
		had = old.Spec.ExternalIPs
	}
	for _, ip := range service.Spec.ExternalIPs {
		if !slices.Contains(had, ip) {
			return forbid(a, "Use of external IPs is denied by admission control")
		}
	}
	return nil
}

// extendedTolerations makes pods tolerate the taints of nodes with the extended resources they request: such
// nodes are tainted with the name of the resource to keep other pods away.
type extendedTolerations struct{ named }

func newExtendedTolerations(Access) Plugin {
	return &extendedTolerations{named{"ExtendedResourceToleration", []Operation{Create, Update}}}
}

func (p *extendedTolerations) Admit(_ context.Context, a *Attributes) error {
	pod, ok := podOf(a)
	if !ok {
		return nil
	}
	requested := map[string]bool{}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if corev1.IsExtendedResource(name) {
					requested[string(name)] = true
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(requested)) {
		t := corev1.Toleration{Key: name, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(have corev1.Toleration) bool {
			return have.Key == t.Key && have.Operator == t.Operator && have.Value == "" && have.Effect == t.Effect
		}) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, t)
		}
	}
	return nil
}

// limitAntiAffinity refuses pods that keep others away from more than a node.
type limitAntiAffinity struct{ named }

func newLimitAntiAffinity(Access) Plugin {
	return &limitAntiAffinity{named{"LimitPodHardAntiAffinityTopology", []Operation{Create, Update}}}
}

func (p *limitAntiAffinity) Validate(_ context.Context, a *Attributes) error {
	const node = "kubernetes.io/hostname"
	pod, ok := podOf(a)
	if !ok || pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	for _, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if term.TopologyKey != node {
			return forbid(a, "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey %s but only key %s is allowed", term.TopologyKey, node)
		}
	}
	return nil
}

// namespaceExists refuses every write in a namespace that is missing; NamespaceLifecycle refuses creates
// only.
type namespaceExists struct {
	named
	access Access
}

func newNamespaceExists(access Access) Plugin {
	return &namespaceExists{named{"NamespaceExists", []Operation{Create, Update, Delete}}, access}
}

func (p *namespaceExists) Validate(ctx context.Context, a *Attributes) error {
	if a.Namespace == "" || a.Resource == core("namespaces") {
		return nil
	}
	_, err := p.access.Get(ctx, core("namespaces"), types.NamespacedName{Name: a.Namespace})
	return err
}
