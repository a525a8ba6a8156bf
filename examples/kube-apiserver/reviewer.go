package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
)

// poster sends JSON to the server of a kubeconfig, whose address is that of the webhook, path included, and
// returns the body of the response.
func poster(from kubeconfig.Options) (func(ctx context.Context, body []byte) ([]byte, error), error) {
	cfg, err := kubeconfig.Load(from)
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(cfg.Host)
	if err != nil {
		return nil, err
	}
	path := address.EscapedPath()
	if path == "" {
		path = "/"
	}
	address.Path, address.RawPath = "", ""
	cfg.Host = address.String()
	conn, err := rest.New(cfg, rest.Options{Warnings: rest.NoWarnings, Retries: 1})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, body []byte) ([]byte, error) {
		resp, err := conn.Do(ctx, &client.Request{Method: http.MethodPost, Path: path, ContentType: client.MediaJSON, Body: body})
		if err != nil {
			return nil, err
		}
		return resp.Body, nil
	}, nil
}

// reviewer sends reviews to the server of a kubeconfig, as poster does.
func reviewer[R any, P interface {
	*R
	GroupVersionKind() schema.GroupVersionKind
}](from kubeconfig.Options) (func(context.Context, P) (P, error), error) {
	post, err := poster(from)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r P) (P, error) {
		body, err := codec.Marshal(r)
		if err != nil {
			return nil, err
		}
		reply, err := post(ctx, body)
		if err != nil {
			return nil, err
		}
		want, out := r.GroupVersionKind(), P(new(R))
		if err := codec.Unmarshal(reply, out); err != nil {
			return nil, fmt.Errorf("the response is no %s: %w", want.Kind, err)
		}
		if got := out.GroupVersionKind(); got != want {
			return nil, fmt.Errorf("the response is a %s of %s, want %s of %s", got.Kind, got.GroupVersion(), want.Kind, want.GroupVersion())
		}
		return out, nil
	}, nil
}
