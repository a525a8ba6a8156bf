//go:build !linux

package noderuntime

import (
	"context"
	"errors"
	"net/netip"
)

// Missing tells what keeps this host from running a private containerd; nil means nothing.
func Missing() error { return errors.New("containers need Linux") }

// Runtime is a running containerd.
type Runtime struct{}

// Start starts containerd.
func Start(context.Context, Options) (*Runtime, error) { return nil, errors.ErrUnsupported }

// Endpoint is the CRI socket, as kubelet.Options.RuntimeEndpoint wants it.
func (r *Runtime) Endpoint() string { return "" }

// Gateway is the node's own address in the range of its pods.
func (r *Runtime) Gateway() netip.Addr { return netip.Addr{} }

// Version is containerd's.
func (r *Runtime) Version() string { return "" }

// Done is closed when containerd has ended.
func (r *Runtime) Done() <-chan struct{} { return nil }

// Import loads an image archive.
func (r *Runtime) Import(context.Context, string) error { return errors.ErrUnsupported }

// Close ends containerd and removes what it left.
func (r *Runtime) Close() error { return nil }
