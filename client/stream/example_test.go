package stream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/stream"
)

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
