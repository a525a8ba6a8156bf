package apiserver_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/storetest"
)

// recordedHook records what a server does with its start hook.
type recordedHook struct {
	failures []error // of the first calls of Start
	events   []string
}

func (h *recordedHook) add(s *apiserver.Server, event string) {
	select {
	case <-s.Ready():
		event += ", ready"
	default:
	}
	h.events = append(h.events, event)
}

// Start implements apiserver.StartHook.
func (h *recordedHook) Start(ctx context.Context, s *apiserver.Server) error {
	h.add(s, "start")
	if len(h.failures) > 0 {
		err := h.failures[0]
		h.failures = h.failures[1:]
		return err
	}
	return nil
}

// Run implements apiserver.StartHook.
func (h *recordedHook) Run(ctx context.Context, s *apiserver.Server) {
	h.add(s, "run")
	<-ctx.Done()
	if _, err := s.Access().List(context.WithoutCancel(ctx), configMapsGVR, "", labels.Everything()); err != nil {
		h.add(s, err.Error())
	}
	h.add(s, "end")
}

// A start hook is started before the server is ready, again while the store is away, and runs until the
// server begins to shut down; while it ends it can still read.
func TestStartHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := &store.UnavailableError{Op: "txn", Err: storetest.ErrInjected}
		h := &recordedHook{failures: []error{away, away}}
		s, err := apiserver.New(apiserver.Options{StartHook: h})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- s.Run(ctx) }()
		<-s.Ready()
		require.Equal(t, http.StatusOK, direct(s, "GET", "/readyz", "").Code)
		stop()
		require.NoError(t, <-ran)
		require.Equal(t, []string{"start", "start", "start", "run, ready", "end, ready"}, h.events)
	})
}

// An error that the next attempt would meet again ends the server.
func TestStartHookFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the range of services is not a range")
		h := &recordedHook{failures: []error{broken}}
		s, err := apiserver.New(apiserver.Options{StartHook: h})
		require.NoError(t, err)
		began := time.Now()
		require.ErrorIs(t, s.Run(t.Context()), broken)
		require.Zero(t, time.Since(began))
		require.Equal(t, []string{"start"}, h.events)
	})
}

// brokenAggregation is an Aggregation whose Run fails.
type brokenAggregation struct {
	apiserver.Aggregation
	err error
}

// Run implements apiserver.Aggregation.
func (b brokenAggregation) Run(context.Context) error { return b.err }

// Synced implements apiserver.Aggregation.
func (brokenAggregation) Synced() <-chan struct{} { return nil }

// A server that cannot find out what other servers serve ends with the error: it would never be ready.
func TestAggregationFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the objects cannot be read")
		s, err := apiserver.New(apiserver.Options{Aggregation: brokenAggregation{err: broken}})
		require.NoError(t, err)
		require.ErrorIs(t, s.Run(t.Context()), broken)
		select {
		case <-s.Ready():
			t.Fatal("it was ready")
		default:
		}
	})
}
