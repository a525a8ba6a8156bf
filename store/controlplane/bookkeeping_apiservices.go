package controlplane

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/registry"
)

// automanaged is the label of APIService objects that the server maintains: onstart for versions that are
// always served, true for those that are added and removed with definitions of custom resources.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

var apiServiceResource = apiregistrationv1.GroupVersion.WithResource("apiservices")

// apiService is the APIService of a version that this server serves itself.
func apiService(gv schema.GroupVersion) *apiregistrationv1.APIService {
	mode := "true"
	group, version, builtin := apiserver.Priorities(gv)
	if builtin {
		mode = "onstart"
	}
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: apiServiceName(gv), Labels: map[string]string{automanaged: mode}},
		Spec:       apiregistrationv1.APIServiceSpec{Group: gv.Group, Version: gv.Version, GroupPriorityMinimum: group, VersionPriority: version},
		Status: apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{{
			Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, Reason: "Local",
			Message: "This server serves the version itself.", LastTransitionTime: metav1.Now().Truncated()}}},
	}
}

// localVersions are the served versions that have an APIService: all but that of APIService itself.
func localVersions(s *apiserver.Server) []schema.GroupVersion {
	return slices.DeleteFunc(s.GroupVersions(), func(gv schema.GroupVersion) bool { return gv.Group == apiServiceResource.Group })
}

func apiServiceName(gv schema.GroupVersion) string { return gv.Version + "." + gv.Group }

// apiServiceRetry is the time until a failed write of an APIService is tried again.
const apiServiceRetry = 5 * time.Second

// apiServices keeps the APIService objects of a server.
type apiServices struct {
	server *apiserver.Server
	agreed atomic.Int64 // generation of the registry with which the objects agree
}

// run keeps the objects in agreement with the served versions until ctx ends.
func (a *apiServices) run(ctx context.Context) {
	res := a.server.Registry().Resource(apiServiceResource)
	if res == nil {
		return
	}
	for {
		generation, changed := a.server.Registry().Changes()
		var retry <-chan time.Time
		if a.agreed.Load() != generation {
			switch err := a.sync(ctx, res); {
			case err == nil:
				a.agreed.Store(generation)
			case ctx.Err() == nil:
				a.server.Logger().Warn("update of APIService objects failed", "err", err)
				retry = time.After(apiServiceRetry)
			}
		}
		select {
		case <-changed:
		case <-retry:
		case <-ctx.Done():
			return
		}
	}
}

// sync creates what is missing and deletes what is no longer served.
func (a *apiServices) sync(ctx context.Context, res *registry.Resource) error {
	snap, err := res.Snapshot(ctx, registry.Freshness{}) // with what the last run wrote
	if err != nil {
		return err
	}
	want := map[string]bool{}
	for _, gv := range localVersions(a.server) {
		want[apiServiceName(gv)] = true
	}
	for o := range snap.Range("", "") {
		obj, err := res.Decode(ctx, o)
		if err != nil {
			return err
		}
		have := obj.(*apiregistrationv1.APIService)
		served := want[have.Name]
		delete(want, have.Name)
		if served || have.Labels[automanaged] != "true" || have.Spec.Service != nil {
			continue
		}
		err = a.server.Access().Delete(ctx, apiServiceResource, types.NamespacedName{Name: have.Name}, nil, registry.Write{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	var missing []metav1.Object
	for _, gv := range localVersions(a.server) {
		if want[apiServiceName(gv)] {
			missing = append(missing, apiService(gv))
		}
	}
	return a.server.Registry().Seed(ctx, missing...)
}
