package informers

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
)

// schemeConn is a connection without a server, for informers whose events come from the test.
type schemeConn struct {
	do func(r *client.Request) (*client.Response, error)
}

func (schemeConn) Scheme() *scheme.Scheme { return api.Scheme() }

func (c schemeConn) Do(_ context.Context, r *client.Request) (*client.Response, error) {
	if c.do != nil {
		return c.do(r)
	}
	return nil, errors.New("connected to nowhere")
}

func (schemeConn) Stream(context.Context, *client.Request) (*client.Stream, error) {
	return nil, errors.New("connected to nowhere")
}

// streamConn answers every stream with the same bytes and then stays silent.
type streamConn struct {
	schemeConn
	body []byte
}

func (c streamConn) Stream(ctx context.Context, _ *client.Request) (*client.Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	return &client.Stream{ContentType: client.MediaProtobuf + ";stream=watch", Body: &heldOpen{Reader: bytes.NewReader(c.body), ended: ctx.Done(), cancel: cancel}}, nil
}

type heldOpen struct {
	*bytes.Reader
	ended  <-chan struct{}
	cancel context.CancelFunc
}

func (h *heldOpen) Read(p []byte) (int, error) {
	if n, err := h.Reader.Read(p); err == nil {
		return n, nil
	}
	<-h.ended
	return 0, io.EOF
}

func (h *heldOpen) Close() error {
	h.cancel()
	return nil
}
