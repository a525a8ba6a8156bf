// Package storageversionmigrator executes StorageVersionMigration objects: it rewrites every object of a
// resource, so that all are stored in the current storage version. For a custom resource it then removes the
// other versions from status.storedVersions, so that they can be removed from the definition, and reports the
// progress in the condition StorageMigrating.
//
// Migrations of one resource run one at a time, the oldest first. A migration interrupted by a restart or a
// failing server continues without rewriting the same objects again. The API storagemigration.k8s.io/v1beta1
// is disabled by default; do not add the controller if it is not served.
package storageversionmigrator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagemigrationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// FieldManager is the field manager of the rewritten objects.
const FieldManager = "storage-version-migrator-controller"

type migration = storagemigrationv1beta1.StorageVersionMigration

// The reasons and messages of the conditions, as upstream.
const (
	reasonRunning   = "MigrationRunning"
	reasonCompleted = "MigrationCompleted"
	reasonSucceeded = "StorageVersionMigrationSucceeded"
	reasonFailed    = "StorageVersionMigrationFailed"
)

const (
	// patience is how long a resource may be unknown before its migration fails: it may have been defined a
	// moment ago.
	patience = time.Minute
	// again is when to look for it again.
	again = 5 * time.Second
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of resources migrated concurrently; 0 means 5.
	Concurrency int
}

// Add adds the controller to m. Its user must be able to list and patch every resource to migrate, to write
// the status of migrations, and to read and write the status of CustomResourceDefinitions.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 5
	}
	gv := storagemigrationv1beta1.GroupVersion
	migrations := informers.ForResource[*migration](m.Informers(), client.Resource{GVR: gv.WithResource("storageversionmigrations"), GVK: gv.WithKind("StorageVersionMigration")})
	g := &migrator{
		list: migrations.Lister(), conn: m.Conn(), discovery: discovery.New(m.Conn(), discovery.Options{}),
		client:      client.ForResource[*migration](m.Conn(), migrations.Client().Resource()),
		definitions: client.For[*apiextensionsv1.CustomResourceDefinition](m.Conn()),
	}
	_, err := controllers.Add(m, "storage-version-migrator", reconcile.Func(g.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.From(migrations, g.sameResource))
	return err
}

type migrator struct {
	list        informers.Lister[*migration]
	client      *client.Client[*migration]
	definitions *client.Client[*apiextensionsv1.CustomResourceDefinition]
	conn        client.Conn
	discovery   *discovery.Client
}

// sameResource are the migrations of a resource: when one ends it may be the turn of another.
func (g *migrator) sameResource(e informers.Event[*migration]) []reconcile.Request {
	var out []reconcile.Request
	resource := e.Object().Spec.Resource
	// A migration that cannot be read now is reconciled when it can.
	all, _ := g.list.List(informers.ListOptions{})
	for _, m := range all {
		if m.Spec.Resource == resource && !ended(m) {
			out = append(out, reconcile.Request{Name: m.Name})
		}
	}
	return out
}

func ended(m *migration) bool {
	return m.Is(storagemigrationv1beta1.MigrationSucceeded) || m.Is(storagemigrationv1beta1.MigrationFailed)
}

func (g *migrator) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	m, err := g.list.Get(req)
	if apierrors.IsNotFound(err) || err == nil && ended(m) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if turn, err := g.turn(m); err != nil || !turn {
		return reconcile.Result{}, err
	}
	r, err := g.migrate(ctx, m)
	if final, ok := errors.AsType[*finalError](err); ok {
		return reconcile.Result{}, apierrors.IgnoreNotFound(g.end(ctx, m, storagemigrationv1beta1.MigrationFailed, reasonFailed, "migration encountered unhandled error: "+final.Error()))
	}
	return r, apierrors.IgnoreNotFound(err)
}

// turn reports whether m runs, or is the next to run.
func (g *migrator) turn(m *migration) (bool, error) {
	if m.Is(storagemigrationv1beta1.MigrationRunning) {
		return true, nil
	}
	all, err := g.list.List(informers.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, other := range all {
		if other.Spec.Resource != m.Spec.Resource || other.Name == m.Name || ended(other) {
			continue
		}
		if other.Is(storagemigrationv1beta1.MigrationRunning) || older(other, m) {
			return false, nil
		}
	}
	return true, nil
}

func older(a, b *migration) bool {
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c < 0
	}
	return strings.Compare(a.Name, b.Name) < 0
}

// finalError is one that trying again does not help against.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

// migrate brings m as far as it gets. It may change m.
func (g *migrator) migrate(ctx context.Context, m *migration) (reconcile.Result, error) {
	if !m.Is(storagemigrationv1beta1.MigrationRunning) {
		if err := g.announce(ctx, m); err != nil {
			return reconcile.Result{}, err
		}
		metav1.SetCondition(&m.Status.Conditions, metav1.Condition{Type: string(storagemigrationv1beta1.MigrationRunning), Status: metav1.ConditionTrue,
			Reason: reasonRunning, Message: "The migration is running"})
		if err := g.write(ctx, m); err != nil {
			return reconcile.Result{}, err
		}
	}
	r, err := g.find(ctx, m)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case r == nil && time.Since(m.CreationTimestamp.Time) < patience:
		return reconcile.Result{RequeueAfter: again}, nil
	case r == nil:
		return reconcile.Result{}, &finalError{errors.New("unable to obtain GVR from discovery")}
	}
	if ready, err := g.switched(ctx, m, r); err != nil || !ready {
		return reconcile.Result{RequeueAfter: again}, err
	}
	if m.Status.ResourceVersion == "" {
		if m.Status.ResourceVersion, err = g.version(ctx, r); err != nil {
			return reconcile.Result{}, err
		}
		if err := g.write(ctx, m); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := g.rewrite(ctx, r, m.Status.ResourceVersion); err != nil {
		return reconcile.Result{}, err
	}
	if err := g.trim(ctx, m, true); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, g.end(ctx, m, storagemigrationv1beta1.MigrationSucceeded, reasonSucceeded, "")
}

// find is the resource in its preferred version; nil if the server has none, which an API server that does
// not answer leaves open.
func (g *migrator) find(ctx context.Context, m *migration) (*discovery.Resource, error) {
	ask := g.discovery.Catalog
	for range 2 {
		catalog, err := ask(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range catalog.Preferred() {
			if r.GVR.Group != m.Spec.Resource.Group || r.GVR.Resource != m.Spec.Resource.Resource {
				continue
			}
			if !r.HasVerb("list") || !r.HasVerb("patch") {
				return nil, &finalError{fmt.Errorf("resource %s cannot be migrated: it has to serve list and patch", r.GVR.GroupResource())}
			}
			return &r, nil
		}
		for _, gv := range catalog.Stale {
			if gv.Group == m.Spec.Resource.Group {
				return nil, fmt.Errorf("the server of %s does not respond", gv)
			}
		}
		ask = g.discovery.Refresh
	}
	return nil, nil
}

// end makes a final condition true.
func (g *migrator) end(ctx context.Context, m *migration, c storagemigrationv1beta1.MigrationConditionType, reason, message string) error {
	if c == storagemigrationv1beta1.MigrationFailed {
		if err := g.trim(ctx, m, false); err != nil {
			return err
		}
	}
	metav1.SetCondition(&m.Status.Conditions, metav1.Condition{Type: string(storagemigrationv1beta1.MigrationRunning), Status: metav1.ConditionFalse,
		Reason: reasonCompleted, Message: "Migration completed"})
	metav1.SetCondition(&m.Status.Conditions, metav1.Condition{Type: string(c), Status: metav1.ConditionTrue, Reason: reason, Message: message})
	return g.write(ctx, m)
}

// write stores the status of m and makes m what is stored.
func (g *migrator) write(ctx context.Context, m *migration) error {
	stored, err := g.client.UpdateStatus(ctx, m)
	if err == nil {
		*m = *stored
	}
	return err
}
