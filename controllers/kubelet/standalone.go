package kubelet

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
)

// noServer is the connection of a standalone kubelet: a server without objects, on which nothing ever
// happens. Lists are empty, watches are silent, events are dropped, and all other requests fail.
type noServer struct{}

// Scheme implements client.Conn.
func (noServer) Scheme() *scheme.Scheme { return api.Scheme() }

// Do implements client.Conn.
func (s noServer) Do(_ context.Context, r *client.Request) (*client.Response, error) {
	answer := func(body []byte) (*client.Response, error) {
		return &client.Response{Code: http.StatusOK, ContentType: "application/json", Body: body}, nil
	}
	info := s.Scheme().ForResource(r.Resource)
	switch verb := r.Verb(); {
	case r.Resource.Resource == "events":
		return answer(r.Body)
	case verb == "list" && info != nil:
		return answer(fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"1"},"items":[]}`,
			info.ListKind().Kind, info.GVK.GroupVersion().String()))
	case verb == "get":
		return nil, apierrors.NewNotFound(r.Resource.GroupResource(), r.Name)
	}
	return nil, apierrors.NewServiceUnavailable("this kubelet runs without an API server")
}

// Stream implements client.Conn.
func (noServer) Stream(ctx context.Context, _ *client.Request) (*client.Stream, error) {
	body, end := io.Pipe()
	context.AfterFunc(ctx, func() { _ = end.Close() })
	return &client.Stream{ContentType: "application/json", Body: body}, nil
}
