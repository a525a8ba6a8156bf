package kubelet

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// eventFlow takes up the runtime's events. Safe for concurrent use.
type eventFlow struct {
	*pleg
	// changed, of capacity 1, receives when events begin or end to come.
	changed chan struct{}

	mu   sync.Mutex
	flow bool
}

// The delays between attempts to get events.
const (
	eventsAgain = time.Second
	eventsLater = 5 * time.Minute // the runtime has none
)

// eventsSilence is how long the answer to a subscription may take before events count as coming. Runtimes
// such as containerd answer with their first event, those without events at once.
const eventsSilence = 5 * time.Second

// flows reports whether events come.
func (f *eventFlow) flows() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.flow
}

func (f *eventFlow) set(flow bool) {
	f.mu.Lock()
	changed := f.flow != flow
	f.flow = flow
	f.mu.Unlock()
	if !changed {
		return
	}
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// run follows events until ctx ends.
func (f *eventFlow) run(ctx context.Context) {
	complained := ""
	for {
		err := f.follow(ctx)
		f.set(false)
		if ctx.Err() != nil {
			return
		}
		f.metrics.streamErrors.Inc()
		again := eventsAgain
		if status.Code(err) == codes.Unimplemented {
			again = eventsLater // it may be updated
		}
		if complained != err.Error() {
			complained = err.Error()
			f.log.Warn("the runtime sends no events, it is listed instead", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(again):
		}
	}
}

// follow takes up events until they end.
func (f *eventFlow) follow(ctx context.Context) error {
	stream, err := f.rt.GetContainerEvents(ctx, &cri.GetEventsRequest{})
	if err != nil {
		return err
	}
	answered := make(chan error, 1)
	go func() {
		_, err := stream.Header() // until the stream ends at the latest
		answered <- err
	}()
	select {
	case err := <-answered:
		if err != nil {
			return err
		}
	case <-time.After(eventsSilence):
	}
	f.metrics.streams.Inc()
	for first := true; ; first = false {
		if first {
			f.set(true)
		}
		e, err := stream.Recv()
		if err != nil {
			return err
		}
		f.metrics.eventAge.Observe(time.Since(time.Unix(0, e.CreatedAt)).Seconds())
		f.take(ctx, e)
	}
}

// take takes up one event.
func (f *eventFlow) take(ctx context.Context, e *cri.ContainerEventResponse) {
	box := e.GetPodSandboxStatus()
	uid := types.UID(box.GetLabels()[labelPodUID])
	if uid == "" {
		f.set(false) // it does not say what it is about, so all is listed
		f.set(true)
		return
	}
	// What is left after a removal is in no event.
	if e.ContainerEventType == cri.ContainerEventType_CONTAINER_DELETED_EVENT || !f.views.merge(uid, time.Unix(0, e.CreatedAt), box, e.ContainersStatuses) {
		if _, err := f.views.now(ctx, uid); err != nil {
			f.log.Info("look at pod failed", "uid", uid, "err", err)
		}
	}
	f.note(uid)
	f.pleg.changed(uid)
}
