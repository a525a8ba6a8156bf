//go:build !linux

package proxy

// NewKernel returns ErrUnsupported.
func NewKernel(netns string) (Kernel, error) { return nil, ErrUnsupported }
