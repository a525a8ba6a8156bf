// Command runtime runs a private containerd until it is interrupted, for scripts that start a kubelet by
// themselves:
//
//	go run ./.ci/runtime DIR POD_RANGE IMAGE_DIR
//
// Its socket is DIR/containerd.sock. The pods end with it.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/keelson-dev/keelson/controllers/noderuntime"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: runtime DIR POD_RANGE IMAGE_DIR")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "runtime:", err)
		os.Exit(1)
	}
}

func run(dir, pods, images string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cidr, err := netip.ParsePrefix(pods)
	if err != nil {
		return err
	}
	node, err := noderuntime.Start(ctx, noderuntime.Options{Dir: dir, PodCIDR: cidr, ImageDir: images})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	select {
	case <-ctx.Done():
		return node.Close()
	case <-node.Done():
		return errors.Join(errors.New("containerd has exited"), node.Close())
	}
}
