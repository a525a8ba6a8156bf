package stream

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// Exec runs a command in a container of a running pod and returns when it has ended: nil for code zero, an
// *ExitError for another, any other error if it could not be run or followed. When ctx ends the streams are
// closed; whether the process ends too depends on the node.
func Exec(ctx context.Context, c client.Conn, pod types.NamespacedName, opts Options) error {
	if len(opts.Command) == 0 {
		return errors.New("stream: Options.Command is empty")
	}
	return run(ctx, c, pod, "exec", opts)
}

// Attach connects to the main process of a container and returns as Exec does, or when the container's
// streams end.
func Attach(ctx context.Context, c client.Conn, pod types.NamespacedName, opts Options) error {
	opts.Command = nil
	return run(ctx, c, pod, "attach", opts)
}

func run(ctx context.Context, c client.Conn, pod types.NamespacedName, sub string, opts Options) error {
	if err := opts.check(); err != nil {
		return err
	}
	q := url.Values{}
	if opts.Container != "" {
		q.Set("container", opts.Container)
	}
	for _, a := range opts.Command {
		q.Add("command", a)
	}
	for name, on := range map[string]bool{"stdin": opts.Stdin != nil, "stdout": opts.Stdout != nil, "stderr": opts.Stderr != nil, "tty": opts.TTY} {
		if on {
			q.Set(name, "true")
		}
	}
	r := client.Request{Resource: pods, Namespace: pod.Namespace, Name: pod.Name, Subresource: sub, Query: q}
	if opts.Protocol != SPDY {
		ws, err := dialWebSocket(ctx, c, r, "v5.channel.k8s.io")
		if err == nil {
			return runWebSocket(ctx, ws, opts)
		}
		if opts.Protocol == WebSocket || !fallBack(ctx, err) {
			return fmt.Errorf("stream: %s %s: %w", sub, pod, err)
		}
	}
	conn, version, err := dialSPDY(ctx, c, r, "v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
	if err != nil {
		return fmt.Errorf("stream: %s %s: %w", sub, pod, err)
	}
	return runSPDY(ctx, conn, version, opts)
}

// fallBack reports whether another protocol may succeed after err.
func fallBack(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsUnauthorized(err)
}
