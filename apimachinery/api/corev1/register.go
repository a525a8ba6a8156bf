package corev1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*Binding](s, GroupVersion, scheme.Kind{Resource: "bindings", Namespaced: true, Verbs: []string{"create"}}),
		scheme.Add[*ComponentStatus](s, GroupVersion, scheme.Kind{
			Resource: "componentstatuses", ShortNames: []string{"cs"}, Verbs: []string{"get", "list"},
		}),
		scheme.Add[*ConfigMap](s, GroupVersion, scheme.Kind{Resource: "configmaps", Namespaced: true, ShortNames: []string{"cm"}}),
		scheme.Add[*Endpoints](s, GroupVersion, scheme.Kind{Resource: "endpoints", Namespaced: true, ShortNames: []string{"ep"}}),
		scheme.Add[*Event](s, GroupVersion, scheme.Kind{Resource: "events", Namespaced: true, ShortNames: []string{"ev"}}),
		scheme.Add[*LimitRange](s, GroupVersion, scheme.Kind{Resource: "limitranges", Namespaced: true, ShortNames: []string{"limits"}}),
		scheme.Add[*Namespace](s, GroupVersion, scheme.Kind{
			Resource: "namespaces", ShortNames: []string{"ns"}, Verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"},
			Subresources: []scheme.Subresource{
				{Name: "finalize", Kind: "Namespace", Verbs: []string{"update"}},
				{Name: "status", Kind: "Namespace", Verbs: []string{"get", "patch", "update"}},
			},
		}),
		scheme.Add[*Node](s, GroupVersion, scheme.Kind{
			Resource: "nodes", ShortNames: []string{"no"},
			Subresources: []scheme.Subresource{
				{Name: "proxy", Kind: "NodeProxyOptions", Verbs: []string{"create", "delete", "get", "patch", "update"}},
				{Name: "status", Kind: "Node", Verbs: []string{"get", "patch", "update"}},
			},
		}),
		scheme.Add[*PersistentVolumeClaim](s, GroupVersion, scheme.Kind{
			Resource: "persistentvolumeclaims", Namespaced: true, ShortNames: []string{"pvc"},
			Subresources: []scheme.Subresource{{Name: "status", Kind: "PersistentVolumeClaim", Verbs: []string{"get", "patch", "update"}}},
		}),
		scheme.Add[*PersistentVolume](s, GroupVersion, scheme.Kind{
			Resource: "persistentvolumes", ShortNames: []string{"pv"},
			Subresources: []scheme.Subresource{{Name: "status", Kind: "PersistentVolume", Verbs: []string{"get", "patch", "update"}}},
		}),
		scheme.Add[*Pod](s, GroupVersion, scheme.Kind{
			Resource: "pods", Namespaced: true, ShortNames: []string{"po"}, Categories: []string{"all"},
			Subresources: []scheme.Subresource{
				{Name: "attach", Kind: "PodAttachOptions", Verbs: []string{"create", "get"}},
				{Name: "binding", Kind: "Binding", Verbs: []string{"create"}},
				{Name: "ephemeralcontainers", Kind: "Pod", Verbs: []string{"get", "patch", "update"}},
				{Name: "eviction", Kind: "Eviction", Group: "policy", Version: "v1", Verbs: []string{"create"}},
				{Name: "exec", Kind: "PodExecOptions", Verbs: []string{"create", "get"}},
				{Name: "log", Kind: "Pod", Verbs: []string{"get"}},
				{Name: "portforward", Kind: "PodPortForwardOptions", Verbs: []string{"create", "get"}},
				{Name: "proxy", Kind: "PodProxyOptions", Verbs: []string{"create", "delete", "get", "patch", "update"}},
				{Name: "resize", Kind: "Pod", Verbs: []string{"get", "patch", "update"}},
				{Name: "status", Kind: "Pod", Verbs: []string{"get", "patch", "update"}},
			},
		}),
		scheme.Add[*PodTemplate](s, GroupVersion, scheme.Kind{Resource: "podtemplates", Namespaced: true}),
		scheme.Add[*ReplicationController](s, GroupVersion, scheme.Kind{
			Resource: "replicationcontrollers", Namespaced: true, ShortNames: []string{"rc"}, Categories: []string{"all"},
			Subresources: []scheme.Subresource{
				{Name: "scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Verbs: []string{"get", "patch", "update"}},
				{Name: "status", Kind: "ReplicationController", Verbs: []string{"get", "patch", "update"}},
			},
		}),
		scheme.Add[*ResourceQuota](s, GroupVersion, scheme.Kind{
			Resource: "resourcequotas", Namespaced: true, ShortNames: []string{"quota"},
			Subresources: []scheme.Subresource{{Name: "status", Kind: "ResourceQuota", Verbs: []string{"get", "patch", "update"}}},
		}),
		scheme.Add[*Secret](s, GroupVersion, scheme.Kind{Resource: "secrets", Namespaced: true}),
		scheme.Add[*ServiceAccount](s, GroupVersion, scheme.Kind{
			Resource: "serviceaccounts", Namespaced: true, ShortNames: []string{"sa"},
			Subresources: []scheme.Subresource{{Name: "token", Kind: "TokenRequest", Group: "authentication.k8s.io", Version: "v1", Verbs: []string{"create"}}},
		}),
		scheme.Add[*Service](s, GroupVersion, scheme.Kind{
			Resource: "services", Namespaced: true, ShortNames: []string{"svc"}, Categories: []string{"all"},
			Subresources: []scheme.Subresource{
				{Name: "proxy", Kind: "ServiceProxyOptions", Verbs: []string{"create", "delete", "get", "patch", "update"}},
				{Name: "status", Kind: "Service", Verbs: []string{"get", "patch", "update"}},
			},
		}),
	)
}
