package controlplane

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// genericGroups are the API groups of a control plane without containers.
var genericGroups = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io",
	"coordination.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "rbac.authorization.k8s.io", "storagemigration.k8s.io",
}

// genericCore are the resources of the core group that it has.
var genericCore = []string{"configmaps", "events", "namespaces", "resourcequotas", "secrets", "serviceaccounts"}

// IsGeneric reports whether a kind is one of those that a control plane without containers serves:
// namespaces, users and their rights, policy, leases, events, configuration and custom resources, but no
// pods, nodes or services. The set is that of Kubernetes' sample of such a server. For a server that serves
// nothing else, set Options.Server.Scheme to what [scheme.Scheme.Only] returns for it of
// [apiserver.BuiltinScheme]:
//
//	all, err := apiserver.BuiltinScheme()
//	generic := all.Only(controlplane.IsGeneric)
func IsGeneric(info *scheme.Info) bool {
	if info.GVK.Group == "" {
		return slices.Contains(genericCore, info.GVR.Resource)
	}
	return slices.Contains(genericGroups, info.GVK.Group)
}
