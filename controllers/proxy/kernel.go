package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// Kernel is the part of the node that the proxy reads and changes. [NewKernel] returns the real one.
type Kernel interface {
	// Run runs nft, ipset, iptables, iptables-restore or the IPv6 forms of these and returns what was
	// printed; of a command with input that may include its messages. One that fails is a *CommandError.
	Run(ctx context.Context, stdin []byte, name string, args ...string) ([]byte, error)
	// NFTRules returns the number of rules in a chain of a table of nftables, 0 if there is no such chain. It
	// reads no more than these, while nft reads all sets first: 3 s of CPU with 10,000 Services.
	NFTRules(f Family, table, chain string) (int, error)
	// SetSysctl sets a parameter such as net/ipv4/ip_forward; the error wraps fs.ErrNotExist if the kernel
	// has none of that name.
	SetSysctl(name, value string) error
	// Sysctl reads a parameter.
	Sysctl(name string) (string, error)
	// Addrs are the addresses of the node's interfaces, except for IPVSDevice.
	Addrs() ([]netip.Addr, error)
	// Listen listens on the node.
	Listen(ctx context.Context, network, address string) (net.Listener, error)
	// DeleteFlows deletes the matching flows of a family from connection tracking and returns their number.
	DeleteFlows(f Family, match func(Flow) bool) (int, error)
	// IPVS returns what mode ipvs needs; the error wraps ErrNoIPVS if the kernel does not have it.
	IPVS() (IPVSKernel, error)
}

// Flow is a UDP flow of connection tracking.
type Flow struct {
	Protocol corev1.Protocol
	// From and To are the source and destination of the first packet.
	From, To netip.AddrPort
	// Server is the address that replies; it equals To without address translation.
	Server netip.AddrPort
}

// ErrUnsupported is returned on systems other than Linux.
var ErrUnsupported = errors.New("proxy: service rules need Linux")

// CommandError is a command that failed.
type CommandError struct {
	// Command is the command line in shell syntax.
	Command string
	// Output is its standard error.
	Output string
	// Err is the error of the command.
	Err error
}

// Error implements error.
func (e *CommandError) Error() string {
	if e.Output == "" {
		return fmt.Sprintf("%s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("%s: %v: %s", e.Command, e.Err, e.Output)
}

// ExitCode returns the exit code of the command, or -1 if it did not exit.
func (e *CommandError) ExitCode() int {
	if ended, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](e.Err); ok {
		return ended.ExitCode()
	}
	return -1
}

// Unwrap returns Err, which is exec.ErrNotFound if the program does not exist.
func (e *CommandError) Unwrap() error { return e.Err }
