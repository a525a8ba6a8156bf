package storetest

import (
	"net"
	"strconv"
	"syscall"
	"testing"
)

// FreeAddress returns a loopback address, with its port, on which nothing listens. Until the test ends only
// listeners that name it get it, one after the other: neither a connection of another process, nor a listener
// that takes any port, can be given it before the program that it is for listens, or while that restarts.
func FreeAddress(t testing.TB) string {
	t.Helper()
	port, err := reserve(t)
	if err != nil {
		t.Fatalf("reserve a port: %v", err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// reserve binds a socket until the test ends. As it permits others on its address and does not listen, a
// listener may have the same address; the kernel chooses it for no other socket.
func reserve(t testing.TB) (port int, err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return at.(*syscall.SockaddrInet4).Port, nil
}
