package apiserver

import (
	"cmp"

	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// groupPriorities order the built-in groups for clients that choose between resources of the same name in
// several groups. Other groups have 1000.
var groupPriorities = map[string]int32{
	"": 18000, "apiregistration.k8s.io": 18000, "apps": 17800, "events.k8s.io": 17750, "authentication.k8s.io": 17700, "authorization.k8s.io": 17600,
	"autoscaling": 17500, "batch": 17400, "certificates.k8s.io": 17300, "networking.k8s.io": 17200, "policy": 17100, "rbac.authorization.k8s.io": 17000,
	"storage.k8s.io": 16800, "apiextensions.k8s.io": 16700, "admissionregistration.k8s.io": 16700, "scheduling.k8s.io": 16600,
	"coordination.k8s.io": 16500, "node.k8s.io": 16300, "discovery.k8s.io": 16200, "resource.k8s.io": 16200, "flowcontrol.apiserver.k8s.io": 16100,
}

// versionPriorities are the priorities of built-in versions that differ from the default 15; versions of
// other groups have 100.
var versionPriorities = map[schema.GroupVersion]int32{
	{Version: "v1"}:                                        1,
	{Group: "autoscaling", Version: "v2"}:                  30,
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}: 21,
	{Group: "resource.k8s.io", Version: "v1"}:              20,
}

// Priorities order a version that this server serves among others: its group, and the version in it; larger
// ones are first. builtin is false for groups that Kubernetes does not have.
func Priorities(gv schema.GroupVersion) (group, version int32, builtin bool) {
	if p, ok := groupPriorities[gv.Group]; ok {
		return p, cmp.Or(versionPriorities[gv], 15), true
	}
	return 1000, 100, false
}
