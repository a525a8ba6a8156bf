package fakecri

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// eventsBehind is how many events a subscriber may be behind before its stream is ended.
const eventsBehind = 1000

// GetContainerEvents implements CRI, if Events is true.
func (r *Runtime) GetContainerEvents(_ *cri.GetEventsRequest, stream grpc.ServerStreamingServer[cri.ContainerEventResponse]) error {
	if !r.Events {
		return status.Error(codes.Unimplemented, "this runtime has no events")
	}
	events, cut := make(chan *cri.ContainerEventResponse, eventsBehind), make(chan struct{})
	r.mu.Lock()
	if r.away {
		r.mu.Unlock()
		return unavailable
	}
	r.subscribers[events] = cut
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.subscribers, events)
	}()
	for {
		select {
		case e := <-events:
			if r.Fault != nil && r.Fault("GetContainerEvents", e) != 0 {
				return unavailable
			}
			if err := stream.Send(e); err != nil {
				return err
			}
		case <-cut:
			return unavailable
		case <-stream.Context().Done():
			return nil
		}
	}
}

// emit sends an event about a container, or the sandbox itself, to all subscribers. The lock is held.
func (r *Runtime) emit(kind cri.ContainerEventType, id string, s *sandbox) {
	if len(r.subscribers) == 0 {
		return
	}
	e := &cri.ContainerEventResponse{ContainerId: id, ContainerEventType: kind, CreatedAt: time.Now().UnixNano(), PodSandboxStatus: s.status()}
	for _, c := range byID(r.containers) {
		if c.sandbox == s.id {
			e.ContainersStatuses = append(e.ContainersStatuses, r.status(c))
		}
	}
	for events, cut := range r.subscribers {
		select {
		case events <- e:
		default:
			close(cut)
			delete(r.subscribers, events)
		}
	}
}

// cutEvents ends all streams of events. The lock is held.
func (r *Runtime) cutEvents() {
	for events, cut := range r.subscribers {
		close(cut)
		delete(r.subscribers, events)
	}
}
