package kubelet

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

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
	case r.Resource.Resource == "events" && verb == "create":
		return &client.Response{Code: http.StatusCreated, ContentType: r.ContentType, Body: r.Body}, nil
	case verb == "list" && info != nil:
		return answer(fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"1"},"items":[]}`,
			info.ListKind().Kind, info.GVK.GroupVersion().String()))
	case verb == "get" || r.Resource.Resource == "events":
		return nil, apierrors.NewNotFound(r.Resource.GroupResource(), r.Name)
	}
	return nil, apierrors.NewServiceUnavailable("this kubelet runs without an API server")
}

// bookmarkPeriod is that of a server: a watch without events for longer is taken for a lost one.
const bookmarkPeriod = time.Minute

// Stream implements client.Conn: a watch that has bookmarks only.
func (s noServer) Stream(ctx context.Context, r *client.Request) (*client.Stream, error) {
	info := s.Scheme().ForResource(r.Resource)
	if info == nil {
		return nil, apierrors.NewNotFound(r.Resource.GroupResource(), "")
	}
	bookmark := fmt.Appendf(nil, `{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"1"}}}`+"\n",
		info.GVK.Kind, info.GVK.GroupVersion().String())
	body, out := io.Pipe()
	context.AfterFunc(ctx, func() { _ = out.Close() })
	go func() {
		tick := time.NewTicker(bookmarkPeriod)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if _, err := out.Write(bookmark); err != nil {
				return // the reader has closed its side
			}
		}
	}()
	return &client.Stream{ContentType: "application/json", Body: body}, nil
}
