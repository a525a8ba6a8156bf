//go:build !linux

package storetest

import (
	"net"
	"testing"
)

// FreeAddress returns a loopback address, with its port, on which nothing listens at the moment.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("find a port: %v", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
