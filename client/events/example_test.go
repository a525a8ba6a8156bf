package events_test

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
)

// A controller records what it does to the objects it watches over.
func Example() {
	control := func(ctx context.Context, conn client.Conn, pod *corev1.Pod) {
		rec := events.New(conn, events.Options{Component: "pod-watcher"})
		go func() { _ = rec.Run(ctx) }()
		rec.Eventf(pod, events.Warning, "TooBig", "the pod asks for %d containers", len(pod.Spec.Containers))
		rec.Action(pod, nil, events.Normal, "TooBig", "Evicting", "making room")
	}
	_ = control
}
