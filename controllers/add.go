package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	// OwnInformersOnly says that the reconciler reads no informers of the manager but those of its sources, [Reads] included. Then the
	// controller waits for these only. Otherwise it waits for all informers of the manager, for it must not take an
	// informer that has not synced for one without objects, and one that cannot sync, for want of a right say, holds it up.
	OwnInformersOnly bool
}

// Add makes a controller named name out of r and its sources and adds it to m. Workers start when every
// source has synced, and the other informers of m too unless Options.OwnInformersOnly is set; a kind that is not served has no
// objects, and its source begins when it is. The controller is returned for Enqueue and for its queue's debug view. A type
// that the connection's scheme does not know is an error; after an error nothing is left behind.
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
	a := &added{Controller: controller.New(name, m.Wrap(name, r), o.Options)}
	if !o.OwnInformersOnly {
		a.waits = append(a.waits, m.Informers().WaitForServed)
	}
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
	return nil
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
