package events_test

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
)

// notebook is a server that prints the events it receives.
type notebook struct{}

func (notebook) Scheme() *scheme.Scheme { return api.Scheme() }

func (notebook) Do(_ context.Context, r *client.Request) (*client.Response, error) {
	if r.ContentType == client.MediaProtobuf {
		return nil, apierrors.NewUnsupportedMediaType("JSON only")
	}
	e := &corev1.Event{}
	if err := codec.Unmarshal(r.Body, e); err != nil {
		return nil, err
	}
	fmt.Println(e.Type, e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message)
	return &client.Response{Code: 201, ContentType: client.MediaJSON, Body: r.Body}, nil
}

func (notebook) Stream(context.Context, *client.Request) (*client.Stream, error) { return nil, nil }

// A controller records what it does to the objects it manages. Events that are queued when Run's context ends
// are written before it returns.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	rec := events.New(notebook{}, events.Options{Component: "pod-watcher"})
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = "default", "web-0"
	pod.Spec.Containers = make([]corev1.Container, 12)
	rec.Eventf(pod, events.Warning, "TooBig", "the pod asks for %d containers", len(pod.Spec.Containers))
	cancel()
	if err := rec.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output: Warning TooBig Pod web-0 the pod asks for 12 containers
}
