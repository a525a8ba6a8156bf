// Command resets cancels requests to the API server of a kubeconfig at random points until it is ended: see
// clienttest.Reset. The walks of .ci run it against their clusters.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/kubeconfig"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "resets:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: resets KUBECONFIG")
	}
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: os.Args[1]})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	clienttest.Reset(ctx, 1, -1, cfg)
	return nil
}
