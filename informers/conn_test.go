package informers

import (
	"context"
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
)

// schemeConn is a connection to nowhere, for informers that are fed otherwise.
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
