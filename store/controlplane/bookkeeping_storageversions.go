package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiserverinternalv1alpha1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/registry"
)

// How often a server looks for its lease before its first report, repeats its reports, and tries one that
// failed again, at most versionAttempts times in a row.
const (
	versionLease    = 100 * time.Millisecond
	versionPeriod   = 10 * time.Minute
	versionRetry    = time.Second
	versionAttempts = 3
)

var storageVersionsResource = apiserverinternalv1alpha1.GroupVersion.WithResource("storageversions")

type serverStorageVersion = apiserverinternalv1alpha1.ServerStorageVersion

// storageVersions reports in which versions one server stores and serves its built-in resources.
type storageVersions struct {
	server *apiserver.Server
	id     string // the name of the server's lease
	all    []*storedResource
	of     map[schema.GroupResource]*storedResource // constant after init
	open   atomic.Bool                              // everything has been reported
	mu     sync.Mutex                               // guards what all have reported
}

// storedResource is a resource, which may be served in several groups and versions.
type storedResource struct {
	name   string // of its StorageVersion
	report serverStorageVersion
	done   bool  // it has been reported
	err    error // of the last attempt
}

// init finds the resources of a server, before it serves any. If it does not serve StorageVersions there is
// nothing to report.
func (v *storageVersions) init(s *apiserver.Server, id string) {
	v.server, v.id, v.all, v.of = s, id, nil, map[schema.GroupResource]*storedResource{}
	if s.Registry().Resource(storageVersionsResource) == nil {
		v.open.Store(true)
		return
	}
	byStored := map[schema.GroupResource]*storedResource{}
	for res := range s.Registry().All() {
		d := res.Definition()
		if d.Custom {
			continue
		}
		stored := d.Info
		if d.Stored != nil {
			stored = d.Stored
		}
		group := stored.GVR.GroupResource()
		r := byStored[group]
		if r == nil {
			r = &storedResource{name: cmp.Or(group.Group, "core") + "." + group.Resource}
			r.report = serverStorageVersion{APIServerID: id, EncodingVersion: cmp.Or(d.StoredVersion, stored.GVK.APIVersion())}
			byStored[group], v.all = r, append(v.all, r)
		}
		version := d.Info.GVK.APIVersion()
		r.report.DecodableVersions = append(r.report.DecodableVersions, version)
		if d.Info.GVR.Group == group.Group {
			r.report.ServedVersions = append(r.report.ServedVersions, version)
		}
		v.of[d.Info.GVR.GroupResource()] = r
	}
	for _, r := range v.all {
		if !slices.Contains(r.report.DecodableVersions, r.report.EncodingVersion) {
			r.report.DecodableVersions = append(r.report.DecodableVersions, r.report.EncodingVersion)
		}
	}
	slices.SortFunc(v.all, func(a, b *storedResource) int { return strings.Compare(a.name, b.name) })
}

// writable implements apiserver.Options.Writable.
func (v *storageVersions) writable(gr schema.GroupResource) error {
	if v.open.Load() {
		return nil
	}
	r := v.of[gr]
	if r == nil {
		return nil // it is not stored, or a custom resource
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if r.done {
		return nil
	}
	return fmt.Errorf("wait for storage version registration to complete for resource: %v, last seen error: %v", gr, r.err)
}

// ready implements a health check.
func (v *storageVersions) ready(context.Context) error {
	if !v.open.Load() {
		return errors.New("not finished")
	}
	return nil
}

// run reports until ctx ends: other clients may have changed or deleted reports.
func (v *storageVersions) run(ctx context.Context) {
	if len(v.all) == 0 {
		return
	}
	// Reports of a server without a lease would be collected as garbage.
	lease := types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: v.id}
	err := backoff.Poll(ctx, versionLease, func(ctx context.Context) (bool, error) {
		_, err := v.server.Access().GetLatest(ctx, leasesResource, lease)
		return err == nil, nil
	})
	if err != nil {
		return // ctx has ended
	}
	_ = backoff.Poll(ctx, versionPeriod, func(ctx context.Context) (bool, error) { // ends with ctx
		v.reportAll(ctx)
		return false, nil
	})
}

func (v *storageVersions) reportAll(ctx context.Context) {
	complete := true
	for _, r := range v.all {
		err := v.retry(ctx, r)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			v.server.Logger().Warn("reporting a storage version failed", "name", r.name, "err", err)
			complete = false
		}
		v.mu.Lock()
		r.done, r.err = r.done || err == nil, err
		v.mu.Unlock()
	}
	if complete {
		v.open.Store(true)
	}
}

// retry reports one resource. That other servers write at the same time is no failed attempt.
func (v *storageVersions) retry(ctx context.Context, r *storedResource) (err error) {
	for attempt := 0; attempt < versionAttempts; {
		if err = v.report(ctx, r); err == nil {
			return nil
		}
		if !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			attempt++
		}
		if backoff.Sleep(ctx, versionRetry) != nil {
			break
		}
	}
	return err
}

func (v *storageVersions) report(ctx context.Context, r *storedResource) error {
	access, key := v.server.Access(), types.NamespacedName{Name: r.name}
	change := func(obj metav1.Object) error {
		obj.(*apiserverinternalv1alpha1.StorageVersion).Report(r.report, metav1.Now().Truncated())
		return nil
	}
	status := registry.Write{FieldManager: "kube-apiserver", Subresource: "status"}
	_, err := access.Update(ctx, storageVersionsResource, key, change, status)
	if !apierrors.IsNotFound(err) {
		return err
	}
	obj := &apiserverinternalv1alpha1.StorageVersion{ObjectMeta: metav1.ObjectMeta{Name: r.name}}
	if _, err := access.Create(ctx, storageVersionsResource, obj, registry.Write{FieldManager: "kube-apiserver"}); err != nil {
		return err
	}
	_, err = access.Update(ctx, storageVersionsResource, key, change, status)
	return err
}
