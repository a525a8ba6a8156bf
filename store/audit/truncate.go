package audit

import (
	"context"
	"errors"
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// TruncateOptions configure Truncate. Sizes are those of the JSON of events, in bytes.
type TruncateOptions struct {
	// MaxEvent is the greatest size of an event. A larger one loses the bodies of request and response, and
	// gets the annotation audit.k8s.io/truncated; it is dropped if that is not enough.
	MaxEvent int
	// MaxBatch is the greatest size of the events passed on together.
	MaxBatch int
	// Failed is called with each event that is dropped; nil means not at all.
	Failed FailedFunc
}

var errTooLarge = errors.New("audit: the event is too large even after truncating")

// Truncate bounds the size of the events passed on to next.
func Truncate(next Backend, opts TruncateOptions) Backend { return &truncating{next, opts} }

type truncating struct {
	next Backend
	opts TruncateOptions
}

func (t *truncating) Record(ctx context.Context, events ...*auditv1.Event) error {
	var errs []error
	var batch []*auditv1.Event
	total := 0
	flush := func() {
		if len(batch) > 0 {
			errs = append(errs, t.next.Record(ctx, batch...))
		}
		batch, total = nil, 0
	}
	for _, e := range events {
		e, size, err := t.fit(e)
		if err != nil {
			_ = t.opts.Failed.failed("truncate", err, 1)
			continue
		}
		if total+size > t.opts.MaxBatch {
			flush()
		}
		batch, total = append(batch, e), total+size
	}
	flush()
	return errors.Join(errs...)
}

// fit returns the event, or what of it fits, and its size.
func (t *truncating) fit(e *auditv1.Event) (*auditv1.Event, int, error) {
	text, err := codec.Marshal(e)
	if err != nil || len(text) <= t.opts.MaxEvent {
		return e, len(text), err
	}
	if e.RequestObject == nil && e.ResponseObject == nil {
		return nil, 0, errTooLarge
	}
	cut := *e
	cut.RequestObject, cut.ResponseObject = nil, nil
	cut.Annotations = maps.Clone(e.Annotations)
	if cut.Annotations == nil {
		cut.Annotations = map[string]string{}
	}
	cut.Annotations["audit.k8s.io/truncated"] = "true"
	if text, err = codec.Marshal(&cut); err == nil && len(text) > t.opts.MaxEvent {
		err = errTooLarge
	}
	return &cut, len(text), err
}
