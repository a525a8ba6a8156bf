package controllers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of a controller added to a manager.
type Options struct {
	controller.Options
	// AllReplicas runs the controller, and its Channels, without leadership.
	AllReplicas bool
}

// patience is how long a controller waits for informers that it is not known to need.
const patience = 10 * time.Second

// Add makes a controller named name out of r and its sources and adds it to m. Workers start when every
// source has synced, [Reads] included; a kind that is not served has no objects, and its source begins when
// it is. For the other informers of m, which r may read too, they wait for 10 s at most: so one that cannot
// sync, for want of a right say, holds up only the controllers that need it, and reading it is an error until
// it has synced. The controller is returned for Enqueue and for its queue's debug view. A type that the
// connection's scheme does not know is an error; after an error nothing is left behind.
func Add(m *manager.Manager, name string, r reconcile.Reconciler, o Options, sources ...Source) (*controller.Controller, error) {
	if len(sources) == 0 {
		return nil, fmt.Errorf("controllers: %s has no sources: pass controllers.For[T]() at least", name)
	}
	if r == nil {
		return nil, fmt.Errorf("controllers: %s has no reconciler", name)
	}
	if o.Logger == nil {
		o.Logger = m.Logger()
	}
	monitor := m.Monitor()
	if monitor != nil && o.Queue.Metrics == nil {
		o.Queue.Metrics = monitor.Queue(name)
	}
	if monitor != nil && o.Metrics == nil {
		o.Metrics = monitor.Reconciles()
	}
	a := &added{Controller: controller.New(name, m.Wrap(name, r), o.Options), set: m.Informers(), log: o.Logger}
	var errs []error
	for _, s := range sources {
		if err := s.attach(m, a); err != nil {
			errs = append(errs, fmt.Errorf("controllers: %s: %w", name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		a.detach()
		return nil, err
	}
	if monitor != nil {
		monitor.Controller(name, a.Queue())
	}
	add := m.Add
	if o.AllReplicas {
		add = m.AddAlways
	}
	add(name, a)
	for _, c := range a.channels {
		add(name+" channel", c)
	}
	return a.Controller, nil
}

// added is a controller with its sources.
type added struct {
	*controller.Controller
	set      *informers.Set
	log      *slog.Logger
	waits    []func(context.Context) error
	handlers []*informers.Registration
	channels []channel
}

// Wait implements manager.Waiter.
func (a *added) Wait(ctx context.Context) error {
	for _, wait := range a.waits {
		if err := wait(ctx); err != nil {
			return err
		}
	}
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := a.set.WaitForSyncOrAbsent(soon)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		a.log.Warn("controller starts although not all informers have synced: reading those is an error", "controller", a.Name(), "err", err)
		return nil
	}
	return err
}

// Run works until ctx ends; then the sources feed the queue no more.
func (a *added) Run(ctx context.Context) error {
	defer a.detach()
	return a.Controller.Run(ctx)
}

func (a *added) detach() {
	for _, h := range a.handlers {
		h.Remove()
	}
}

func group(apiVersion string) string {
	if g, _, ok := strings.Cut(apiVersion, "/"); ok {
		return g
	}
	return ""
}
