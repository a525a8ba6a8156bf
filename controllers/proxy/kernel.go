package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// Kernel is what the proxy reads and changes of the node. [NewKernel] is the real one; tests record.
type Kernel interface {
	// Run runs nft, iptables, iptables-restore or their IPv6 forms and returns what was printed. A command
	// that fails is a *CommandError.
	Run(ctx context.Context, stdin []byte, name string, args ...string) ([]byte, error)
	// SetSysctl sets a parameter such as net/ipv4/ip_forward; the error wraps fs.ErrNotExist if the kernel
	// has none of that name.
	SetSysctl(name, value string) error
	// Sysctl reads a parameter.
	Sysctl(name string) (string, error)
	// Addrs are the addresses of the node's interfaces.
	Addrs() ([]netip.Addr, error)
	// Listen listens on the node.
	Listen(ctx context.Context, network, address string) (net.Listener, error)
	// DeleteFlows makes connection tracking forget the flows of a family that match and returns how many
	// there were.
	DeleteFlows(f Family, match func(Flow) bool) (int, error)
}

// Flow is a UDP flow connection tracking knows.
type Flow struct {
	Protocol corev1.Protocol
	// To is where the first packet was sent, From who sent it.
	From, To netip.AddrPort
	// Server is who answers: To if nothing has translated it.
	Server netip.AddrPort
}

// ErrUnsupported says that this system has no such kernel.
var ErrUnsupported = errors.New("proxy: service rules need Linux")

// CommandError is a command that failed.
type CommandError struct {
	// Command as a shell would take it.
	Command string
	// Output is what it said on standard error.
	Output string
	// Err says how it ended.
	Err error
}

// Error names the command and what it said.
func (e *CommandError) Error() string {
	if e.Output == "" {
		return fmt.Sprintf("%s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("%s: %v: %s", e.Command, e.Err, e.Output)
}

// ExitCode is the code it ended with, -1 if it did not run to its end.
func (e *CommandError) ExitCode() int {
	if ended, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](e.Err); ok {
		return ended.ExitCode()
	}
	return -1
}

// Unwrap returns how it ended; exec.ErrNotFound if there is no such program.
func (e *CommandError) Unwrap() error { return e.Err }

func run(ctx context.Context, stdin []byte, argv []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &errOut
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(errOut.String())
		if len(text) > 1000 {
			text = text[:1000] + " ..."
		}
		return out.Bytes(), &CommandError{Command: strings.Join(argv, " "), Output: text, Err: err}
	}
	return out.Bytes(), nil
}
