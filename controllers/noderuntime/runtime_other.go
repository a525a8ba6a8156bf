//go:build !linux

package noderuntime

import (
	"context"
	"errors"
	"net/netip"
)

// Missing returns an error that lists what this host lacks to run a private containerd, or nil.
func Missing() error { return errors.New("containers need Linux") }

// Runtime is a running containerd.
type Runtime struct{}

// Start starts containerd.
func Start(context.Context, Options) (*Runtime, error) { return nil, errors.ErrUnsupported }

// Endpoint returns the CRI socket, for kubelet.Options.RuntimeEndpoint.
func (r *Runtime) Endpoint() string { return "" }

// Gateway returns the address of the node in the range of its pods.
func (r *Runtime) Gateway() netip.Addr { return netip.Addr{} }

// Version returns the version of containerd.
func (r *Runtime) Version() string { return "" }

// Done returns a channel that is closed when containerd has exited.
func (r *Runtime) Done() <-chan struct{} { return nil }

// Import imports an image archive.
func (r *Runtime) Import(context.Context, string) error { return errors.ErrUnsupported }

// Close ends containerd and removes what it left.
func (r *Runtime) Close() error { return nil }
