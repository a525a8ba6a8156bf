package stream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/client/stream"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// Read what a container has written, line by line.
func ExampleLogLines() {
	l := pipenet.New()
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.URL)
		fmt.Fprintln(w, "started\nlistening on :80")
	})}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	conn, err := rest.New(rest.Config{Host: "http://memory", Dial: l.Dial}, rest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	for line, err := range stream.LogLines(context.Background(), conn, types.NamespacedName{Namespace: "default", Name: "web-0"}, stream.LogOptions{Container: "web"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(line)
	}
	// Output:
	// /api/v1/namespaces/default/pods/web-0/log?container=web
	// started
	// listening on :80
}

// Run a command in a pod and learn its exit code.
func ExampleExec() {
	run := func(ctx context.Context, conn client.Conn) error {
		err := stream.Exec(ctx, conn, types.NamespacedName{Namespace: "default", Name: "web-0"}, stream.Options{
			Command: []string{"sh", "-c", "ls /data"}, Stdout: os.Stdout, Stderr: os.Stderr,
		})
		if exit, ok := errors.AsType[*stream.ExitError](err); ok {
			fmt.Println("exit code", exit.Code)
			return nil
		}
		return err
	}
	_ = run
}

// Forward a local port to a pod.
func ExampleForward() {
	forward := func(ctx context.Context, conn client.Conn) error {
		f, err := stream.Forward(ctx, conn, types.NamespacedName{Namespace: "default", Name: "web-0"}, stream.Auto)
		if err != nil {
			return err
		}
		defer f.Close()
		l, err := net.Listen("tcp", "127.0.0.1:8080")
		if err != nil {
			return err
		}
		return f.Serve(l, 80)
	}
	_ = forward
}
