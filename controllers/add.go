package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// Options of a controller added to a manager.
type Options struct {
	controller.Options
	// AllReplicas runs the controller without leadership.
	AllReplicas bool
}

// Add makes a controller named name out of r and its sources and adds it to m. Workers start when every
// source has synced; a kind that is not served has no objects, and its source begins when it is. The controller is returned for Enqueue and for its queue's debug view. A type that the connection's scheme does
// not know is an error.
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
	c := controller.New(name, r, o.Options)
	if monitor != nil {
		monitor.Controller(name, c.Queue())
	}
	var waits []func(context.Context) error
	var errs []error
	for _, s := range sources {
		wait, err := s.attach(m, c)
		if err != nil {
			errs = append(errs, fmt.Errorf("controllers: %s: %w", name, err))
		}
		if wait != nil {
			waits = append(waits, wait)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	run := manager.Func(func(ctx context.Context) error {
		for _, wait := range waits {
			if err := wait(ctx); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
		}
		return c.Run(ctx)
	})
	if o.AllReplicas {
		m.AddAlways(name, run)
	} else {
		m.Add(name, run)
	}
	return c, nil
}

func group(apiVersion string) string {
	if g, _, ok := strings.Cut(apiVersion, "/"); ok {
		return g
	}
	return ""
}
