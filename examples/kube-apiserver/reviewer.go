package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/webhook"
)

// webhookServer is the connection to the server of a kubeconfig, and the path there.
type webhookServer struct {
	conn *rest.Conn
	path string
}

func connectWebhook(from kubeconfig.Options, m apimetrics.Requests) (*webhookServer, error) {
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
	conn, err := rest.New(cfg, rest.Options{Warnings: rest.NoWarnings, Retries: 1, Metrics: m.Metrics})
	return &webhookServer{conn, path}, err
}

// poster sends JSON to the server of a kubeconfig, whose address is that of the webhook, path included, and
// returns the body of the response. Changes of the file are followed, of which those that cannot be used
// change nothing; requests that are under way end on the connections that they are on.
func poster(from kubeconfig.Options, m apimetrics.Requests, log *slog.Logger) (func(ctx context.Context, body []byte) ([]byte, error), error) {
	var server *component.Reloaded[*webhookServer]
	var err error
	if from.Path != "" {
		server, err = component.Reload(log, func([][]byte) (*webhookServer, error) { return connectWebhook(from, m) }, from.Path)
	} else {
		var pod *webhookServer
		pod, err = connectWebhook(from, m)
		server = component.Unchanging(pod)
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, body []byte) ([]byte, error) {
		s := server.Get()
		var lookups webhook.Lookups
		if m.Looked != nil {
			ctx = lookups.Trace(ctx)
			defer func() { m.Looked(lookups.All()) }()
		}
		resp, err := s.conn.Do(ctx, &client.Request{Method: http.MethodPost, Path: s.path, ContentType: client.MediaJSON, Body: body})
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
}](from kubeconfig.Options, m apimetrics.Requests, log *slog.Logger) (func(context.Context, P) (P, error), error) {
	post, err := poster(from, m, log)
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
