package controllers

import (
	"context"
	"errors"
	"fmt"

	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/workqueue"
)

// attachment is what a controller's sources hold in one manager.
type attachment struct {
	controller string
	queue      any                                               // a queue[K], K being the type of the keys
	onEvent    func(controller string, req any, e manager.Event) // may be nil
	waits      []func(context.Context) error
	handlers   []*informers.Registration
	// releases are called by detach, for the informers and clusters that the sources have obtained.
	releases []func()
	runs     []func(context.Context) error // of channels, beside the controller
	detached chan struct{}                 // closed by detach
}

// queue is where sources add keys.
type queue[K comparable] interface {
	AddWith(k K, opts workqueue.AddOptions)
}

func newAttachment[K comparable](controller string, q queue[K], onEvent func(string, any, manager.Event)) *attachment {
	return &attachment{controller: controller, queue: q, onEvent: onEvent, detached: make(chan struct{})}
}

// queueOf returns the queue for a source of keys of type K.
func queueOf[K comparable](a *attachment) (queue[K], error) {
	q, ok := a.queue.(queue[K])
	if !ok {
		return nil, fmt.Errorf("a source has keys of type %T, which are not those of the reconciler: use controllers.Watches or controllers.From with a function that returns the reconciler's, or for controllers.ClusterRequest controllers.InClusters", *new(K))
	}
	return q, nil
}

// attachAll attaches sources, or none of them if one fails.
func (a *attachment) attachAll(m *manager.Manager, sources []Source) error {
	var errs []error
	for _, s := range sources {
		if err := s.attach(m, a); err != nil {
			errs = append(errs, fmt.Errorf("controllers: %s: %w", a.controller, err))
		}
	}
	err := errors.Join(errs...)
	if err != nil {
		a.detach()
	}
	return err
}

// wait waits until every source has synced.
func (a *attachment) wait(ctx context.Context) error {
	for _, wait := range a.waits {
		if err := wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// detach is called once, after the last use of the attachment.
func (a *attachment) detach() {
	close(a.detached)
	for _, h := range a.handlers {
		h.Remove()
	}
	for _, release := range a.releases {
		release()
	}
}
