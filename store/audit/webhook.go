package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// WebhookOptions configure a Webhook.
type WebhookOptions struct {
	// Send sends an EventList, as JSON, to the server that collects events. Required.
	Send func(ctx context.Context, list []byte) error
	// InitialBackoff is the time before the first retry; each later one is half as much longer. Zero means 10
	// seconds.
	InitialBackoff time.Duration
	// Timeout of one attempt. Zero means 30 seconds.
	Timeout time.Duration
	// Failed is called with events that could not be delivered; nil means not at all.
	Failed FailedFunc
}

// webhookAttempts is how often a delivery is attempted.
const webhookAttempts = 5

// Webhook is a Backend that sends events to a server. Failed deliveries are retried whatever the error is. An
// event can arrive more than once.
type Webhook struct{ opts WebhookOptions }

// NewWebhook returns a Webhook.
func NewWebhook(opts WebhookOptions) *Webhook {
	if opts.InitialBackoff == 0 {
		opts.InitialBackoff = 10 * time.Second
	}
	if opts.Timeout == 0 {
		opts.Timeout = 30 * time.Second
	}
	return &Webhook{opts}
}

// Record sends events and waits until they have been received, or the attempts have failed.
func (w *Webhook) Record(ctx context.Context, events ...*auditv1.Event) error {
	list := &auditv1.EventList{Items: make([]auditv1.Event, len(events))}
	list.SetGroupVersionKind(auditv1.GroupVersion.WithKind("EventList"))
	for i, e := range events {
		list.Items[i] = *e
	}
	body, err := codec.Marshal(list)
	if err == nil {
		policy := backoff.Policy{Initial: w.opts.InitialBackoff, Factor: 1.5, Jitter: 0.2, Steps: webhookAttempts}
		err = backoff.Retry(ctx, policy, nil, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, w.opts.Timeout)
			defer cancel()
			return w.opts.Send(ctx, body)
		})
	}
	if err != nil {
		return w.opts.Failed.failed("webhook", fmt.Errorf("audit: sending events: %w", err), len(events))
	}
	return nil
}
