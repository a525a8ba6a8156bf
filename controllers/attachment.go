package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

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
	mu         sync.Mutex
	handlers   []*informers.Registration // guarded by mu
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

// addHandler adds a handler of an informer to those that detach removes.
func (a *attachment) addHandler(h *informers.Registration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handlers = append(a.handlers, h)
}

// resync has every object of the controller's sources mapped to keys again. It is called when events may have
// been merged that a reconcile depends on: any key may be concerned, also one that no longer has objects in
// the source that is behind.
func (a *attachment) resync() {
	a.mu.Lock()
	handlers := slices.Clone(a.handlers)
	a.mu.Unlock()
	for _, h := range handlers {
		h.Resync()
	}
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
	a.mu.Lock()
	handlers := a.handlers
	a.mu.Unlock()
	for _, h := range handlers {
		h.Remove()
	}
	for _, release := range a.releases {
		release()
	}
}
