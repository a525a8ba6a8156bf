package builtin

import (
	"maps"
	"slices"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// core returns the kinds of the core group, without those of coreOptions.
func core(s *scheme.Scheme) []registry.Definition {
	gv := corev1.GroupVersion
	return []registry.Definition{
		{Info: kind[*corev1.ConfigMap](s, gv), Table: configMapTable},
		{
			Info: kind[*corev1.Endpoints](s, gv), Prefix: "/services/endpoints/", Table: endpointsTable,
			Strategy:   registry.Strategy{CreateOnUpdate: true},
			Deprecated: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
		},
		{
			Info: kind[*corev1.LimitRange](s, gv),
			Strategy: registry.Strategy{CreateOnUpdate: true, PrepareCreate: on(func(l *corev1.LimitRange) {
				if l.Name == "" {
					l.Name = string(registry.NewUID())
				}
			})},
		},
		{
			Info: kind[*corev1.Namespace](s, gv), Table: namespaceTable, Strategy: namespaceStrategy,
			Fields: clusterScoped(field("status.phase", func(ns *corev1.Namespace) string { return string(ns.Status.Phase) })),
			Subresources: map[string]registry.Subresource{
				"finalize": {Edit: edit(editFinalizers), Validate: unchecked},
			},
		},
		{
			Info: kind[*corev1.Node](s, gv), Prefix: "/minions/", Table: nodeTable,
			Strategy: registry.Strategy{KeepStatus: true},
			Fields: clusterScoped(field("spec.unschedulable", func(n *corev1.Node) string {
				return strconv.FormatBool(n.Spec.Unschedulable)
			})),
		},
		{Info: kind[*corev1.PersistentVolume](s, gv), Table: volumeTable, Strategy: volumeStrategy},
		{
			Info: kind[*corev1.PersistentVolumeClaim](s, gv), Table: claimTable,
			Strategy: registry.Strategy{ReturnsDeleted: true, PrepareCreate: on(prepareClaim)},
		},
		{
			Info: kind[*corev1.Pod](s, gv), Table: podTable, Strategy: podStrategy, Fields: podFields,
			Subresources: podSubresources,
		},
		{
			Info: kind[*corev1.PodTemplate](s, gv), Table: podTemplateTable,
			Strategy: registry.Strategy{ReturnsDeleted: true},
		},
		{
			Info: kind[*corev1.ReplicationController](s, gv), Prefix: "/controllers/", Table: replicationControllerTable,
			Scale: scale(func(rc *corev1.ReplicationController) **int32 { return &rc.Spec.Replicas },
				func(rc *corev1.ReplicationController) (int32, *metav1.LabelSelector) {
					return rc.Status.Replicas, &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}
				}),
			Strategy: registry.Strategy{Generation: registry.OnSpec, Orphans: true},
			Fields: field("status.replicas", func(rc *corev1.ReplicationController) string {
				return strconv.Itoa(int(rc.Status.Replicas))
			}),
		},
		{
			Info: kind[*corev1.ResourceQuota](s, gv), Table: resourceQuotaTable,
			Strategy: registry.Strategy{ReturnsDeleted: true},
		},
		{
			Info: kind[*corev1.Secret](s, gv), Table: secretTable,
			Fields: field("type", func(secret *corev1.Secret) string { return string(secret.Type) }),
		},
		{
			Info: kind[*corev1.ServiceAccount](s, gv), Table: serviceAccountTable,
			Strategy: registry.Strategy{
				ReturnsDeleted: true, PrepareCreate: on(keepSecretNames),
				PrepareUpdate: onBoth(func(sa, _ *corev1.ServiceAccount) { keepSecretNames(sa) }),
			},
		},
	}
}

// coreOptions returns the kinds of the core group whose rules depend on the server's options.
func (k *Kinds) coreOptions(s *scheme.Scheme) []registry.Definition {
	gv := corev1.GroupVersion
	return []registry.Definition{
		{
			Info: kind[*corev1.Event](s, gv), Table: coreEventTable, Fields: eventFields,
			Strategy: registry.Strategy{CreateOnUpdate: true, BareFinalizers: true, TTL: k.ttl},
		},
		{
			Info: kind[*corev1.Service](s, gv), Prefix: "/services/specs/", Table: serviceTable,
			Strategy: k.serviceStrategy(),
			Fields: registry.Fields{
				Names: []string{"spec.clusterIP", "spec.type"},
				Of: func(obj metav1.Object, add func(name, value string)) {
					svc := obj.(*corev1.Service)
					add("spec.clusterIP", svc.Spec.ClusterIP)
					add("spec.type", string(svc.Spec.Type))
				},
			},
		},
	}
}

// clusterScoped removes metadata.namespace from the field selectors.
func clusterScoped(f registry.Fields) registry.Fields {
	f.NoNamespace = true
	return f
}

var namespaceStrategy = registry.Strategy{
	Complete: labelNamespace,
	PrepareCreate: on(func(ns *corev1.Namespace) {
		prepareNamespace(ns)
		labelNamespace(ns)
	}),
	PrepareUpdate: onBoth(func(ns, old *corev1.Namespace) { ns.Spec = old.Spec }),
	Held:          func(obj metav1.Object) bool { return len(obj.(*corev1.Namespace).Spec.Finalizers) > 0 },
	MarkDeleted:   func(obj metav1.Object) { obj.(*corev1.Namespace).Status.Phase = corev1.NamespaceTerminating },
}

func prepareNamespace(ns *corev1.Namespace) {
	ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

// labelNamespace sets the label by which selectors find a namespace by name.
func labelNamespace(obj metav1.Object) {
	ns := obj.(*corev1.Namespace)
	if ns.Name == "" || ns.Labels[corev1.LabelMetadataName] == ns.Name {
		return
	}
	ns.Labels = maps.Clone(ns.Labels)
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

// editFinalizers lets the finalize subresource change spec.finalizers only.
func editFinalizers(ns, old *corev1.Namespace) {
	finalizers := ns.Spec.Finalizers
	ns.Spec, ns.Status = old.Spec, old.Status
	ns.Spec.Finalizers = finalizers
}

var volumeStrategy = registry.Strategy{
	ReturnsDeleted: true,
	PrepareCreate: on(func(pv *corev1.PersistentVolume) {
		now := metav1.Now().Truncated()
		pv.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
	}),
	PrepareStatus: onBoth(func(pv, old *corev1.PersistentVolume) {
		if pv.Status.Phase != old.Status.Phase && pv.Status.LastPhaseTransitionTime.Equal(old.Status.LastPhaseTransitionTime) {
			now := metav1.Now().Truncated()
			pv.Status.LastPhaseTransitionTime = &now
		}
	}),
}

func prepareClaim(claim *corev1.PersistentVolumeClaim) {
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	if ref := claim.Spec.DataSourceRef; ref != nil && ref.Namespace != nil && *ref.Namespace != "" {
		// Sources in other namespaces are behind a feature gate that upstream leaves off by default.
		claim.Spec.DataSourceRef = nil
	}
}

// keepSecretNames reduces references to secrets to names in the account's namespace.
func keepSecretNames(sa *corev1.ServiceAccount) {
	for i, ref := range sa.Secrets {
		sa.Secrets[i] = corev1.ObjectReference{Name: ref.Name}
	}
}
