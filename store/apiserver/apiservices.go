package apiserver

import (
	"cmp"
	"context"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/registry"
)

// automanaged is the label of APIService objects that the server keeps itself: onstart for versions that are
// always served, true for those that come and go with definitions of custom resources.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

var apiServices = gvr{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// groupPriorities order the built-in groups for clients that choose between groups with resources of the same
// name. Others have 1000.
var groupPriorities = map[string]int32{
	"": 18000, "apps": 17800, "events.k8s.io": 17750, "authentication.k8s.io": 17700, "authorization.k8s.io": 17600, "autoscaling": 17500,
	"batch": 17400, "certificates.k8s.io": 17300, "networking.k8s.io": 17200, "policy": 17100, "rbac.authorization.k8s.io": 17000,
	"storage.k8s.io": 16800, "apiextensions.k8s.io": 16700, "admissionregistration.k8s.io": 16700, "scheduling.k8s.io": 16600,
	"coordination.k8s.io": 16500, "node.k8s.io": 16300, "discovery.k8s.io": 16200, "resource.k8s.io": 16200, "flowcontrol.apiserver.k8s.io": 16100,
}

// versionPriorities are those of built-in versions that are not 15; versions of other groups have 100.
var versionPriorities = map[schema.GroupVersion]int32{
	{Version: "v1"}:                                        1,
	{Group: "autoscaling", Version: "v2"}:                  30,
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}: 21,
	{Group: "resource.k8s.io", Version: "v1"}:              20,
}

// apiService is the APIService of a version that this server serves itself.
func apiService(gv schema.GroupVersion) *apiregistrationv1.APIService {
	manner, group, version := "true", int32(1000), int32(100)
	if p, ok := groupPriorities[gv.Group]; ok {
		manner, group, version = "onstart", p, cmp.Or(versionPriorities[gv], 15)
	}
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: gv.Version + "." + gv.Group, Labels: map[string]string{automanaged: manner}},
		Spec:       apiregistrationv1.APIServiceSpec{Group: gv.Group, Version: gv.Version, GroupPriorityMinimum: group, VersionPriority: version},
		Status: apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{{
			Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, Reason: "Local",
			Message: "This server serves the version itself.", LastTransitionTime: metav1.Now().Truncated()}}},
	}
}

// localVersions are the served versions that have an APIService: all but that of APIService itself.
func (s *Server) localVersions() map[string]schema.GroupVersion {
	out := map[string]schema.GroupVersion{}
	for _, g := range s.table().discovery.groups {
		for _, v := range g.versions {
			if g.name != apiServices.Group {
				out[v.version+"."+g.name] = schema.GroupVersion{Group: g.name, Version: v.version}
			}
		}
	}
	return out
}

// serviceRetry is the time until a failed write of an APIService is tried again.
const serviceRetry = 5 * time.Second

// registerServices keeps the APIService objects as the resources are, until ctx ends.
func (s *Server) registerServices(ctx context.Context) {
	if s.opts.NoBootstrap || s.registry.Resource(apiServices) == nil {
		return
	}
	for {
		_, changed := s.registry.Changes()
		var retry <-chan time.Time
		if err := s.syncServices(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("update of APIService objects failed", "err", err)
			retry = time.After(serviceRetry)
		}
		select {
		case <-changed:
		case <-retry:
		case <-ctx.Done():
			return
		}
	}
}

// syncServices creates what is missing and deletes what is no longer served.
func (s *Server) syncServices(ctx context.Context) error {
	res := s.registry.Resource(apiServices)
	snap, err := res.Snapshot(ctx, registry.Freshness{}) // with what the last run wrote
	if err != nil {
		return err
	}
	want := s.localVersions()
	for o := range snap.Range("", "") {
		obj, err := res.Decode(ctx, o)
		if err != nil {
			return err
		}
		a := obj.(*apiregistrationv1.APIService)
		_, served := want[a.Name]
		delete(want, a.Name)
		if served || a.Labels[automanaged] != "true" || a.Spec.Service != nil {
			continue
		}
		err = s.Access().Delete(ctx, apiServices, types.NamespacedName{Name: a.Name}, nil, registry.Write{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	var missing []metav1.Object
	for _, gv := range want {
		missing = append(missing, apiService(gv))
	}
	return s.registry.Seed(ctx, missing...)
}
