package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/noderuntime"
)

// private is a containerd that the kubelet starts, for nodes that have none. The upstream kubelet has no such
// flags.
type private struct {
	dir, images, services string
}

func (p *private) flags(f *pflag.FlagSet) {
	f.StringVar(&p.dir, "private-containerd", "", "start a containerd with all its files in this folder, and a bridge with the range of --pod-cidr; it and all pods end when the kubelet does")
	f.StringVar(&p.images, "private-containerd-images", "", "folder of image archives (*.tar) the private containerd starts with")
	f.StringVar(&p.services, "private-containerd-services", "", "range of service addresses, routed to the private bridge so that they never leave the machine")
}

// start starts the containerd and makes the kubelet use it.
func (p *private) start(ctx context.Context, ko *kubelet.Options, log *slog.Logger) (*noderuntime.Runtime, error) {
	o := noderuntime.Options{ImageDir: p.images, Busybox: true, Logger: log}
	var err error
	for part := range strings.SplitSeq(ko.PodCIDR, ",") {
		pods, err := netip.ParsePrefix(part)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--private-containerd needs --pod-cidr: %w", err)
		case pods.Addr().Is6():
			o.PodCIDR6 = pods
		default:
			o.PodCIDR = pods
		}
	}
	if o.Dir, err = filepath.Abs(p.dir); err != nil {
		return nil, err
	}
	if p.services != "" {
		if o.ServiceCIDR, err = netip.ParsePrefix(p.services); err != nil {
			return nil, fmt.Errorf("--private-containerd-services: %w", err)
		}
	}
	rt, err := noderuntime.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	ko.RuntimeEndpoint, ko.ImageEndpoint, ko.StopPods = rt.Endpoint(), "", true
	return rt, nil
}

var errRuntimeEnded = errors.New("the private containerd ended")

// runWith runs the kubelet until ctx ends or the containerd does, and then ends the containerd.
func runWith(ctx context.Context, rt *noderuntime.Runtime, run func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
		case <-rt.Done():
			stop(errRuntimeEnded)
		}
	}()
	err := run(ctx)
	stop(nil)
	<-watched
	if errors.Is(context.Cause(ctx), errRuntimeEnded) {
		err = errors.Join(err, errRuntimeEnded)
	}
	return errors.Join(err, rt.Close())
}
