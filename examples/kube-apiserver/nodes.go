package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/examples/internal/component"
)

// nodeClient is how kubelets are reached.
type nodeClient struct {
	caFile, certFile, keyFile string
	addressTypes              []string
	timeout                   time.Duration // to connect, and again for the handshake
	// read is called after each reading of caFile but the first, with labels of its outcome.
	read func(result, reason string)
	// dial opens connections; nil uses the network.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// addressTypes are all types, in kube-apiserver's order.
var addressTypes = []string{string(corev1.NodeHostName), string(corev1.NodeInternalDNS), string(corev1.NodeInternalIP), string(corev1.NodeExternalDNS), string(corev1.NodeExternalIP)}

func (n *nodeClient) flags(f *pflag.FlagSet) {
	f.StringVar(&n.caFile, "kubelet-certificate-authority", "", "authority of the kubelets' serving certificates (empty: not verified)")
	f.StringVar(&n.certFile, "kubelet-client-certificate", "", "client certificate for kubelets")
	f.StringVar(&n.keyFile, "kubelet-client-key", "", "key of --kubelet-client-certificate")
	f.StringSliceVar(&n.addressTypes, "kubelet-preferred-address-types", addressTypes, "types of the addresses of nodes at which kubelets are reached; the first that a node has is used")
	f.DurationVar(&n.timeout, "kubelet-timeout", 5*time.Second, "time to connect to a kubelet")
}

func (n *nodeClient) validate() error {
	var errs []error
	for _, t := range n.addressTypes {
		if !slices.Contains(addressTypes, t) {
			errs = append(errs, fmt.Errorf("--kubelet-preferred-address-types: %q is none of %s", t, strings.Join(addressTypes, ", ")))
		}
	}
	if len(n.addressTypes) == 0 {
		errs = append(errs, errors.New("--kubelet-preferred-address-types: want at least one"))
	}
	if (n.certFile == "") != (n.keyFile == "") {
		errs = append(errs, errors.New("--kubelet-client-certificate and --kubelet-client-key belong together"))
	}
	if n.timeout <= 0 {
		errs = append(errs, fmt.Errorf("--kubelet-timeout=%v: want more than 0", n.timeout))
	}
	return errors.Join(errs...)
}

// preferred are the types in their order.
func (n *nodeClient) preferred() []corev1.NodeAddressType {
	var out []corev1.NodeAddressType
	for _, t := range n.addressTypes {
		out = append(out, corev1.NodeAddressType(t))
	}
	return out
}

// transports reach kubelets over HTTP/1.1, which upgrades to streams need. The second accepts any certificate
// of a kubelet. Both send the client's.
func (n *nodeClient) transports(log *slog.Logger) (verified, unverified http.RoundTripper, err error) {
	files, err := component.NewClientTLS(log, n.caFile, n.certFile, n.keyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("kubelet client: %w", err)
	}
	if n.read != nil {
		files.OnRead(func(changed bool, err error) { n.read(readOutcome(changed, err)) })
	}
	transport := func(insecure bool) http.RoundTripper {
		return component.NewTransport(files, func(cfg *tls.Config) *http.Transport {
			cfg.InsecureSkipVerify = insecure
			cfg.NextProtos = []string{"http/1.1"}
			return &http.Transport{TLSClientConfig: cfg, DialContext: n.connect, TLSHandshakeTimeout: n.timeout, MaxIdleConnsPerHost: 10, IdleConnTimeout: time.Minute}
		})
	}
	return transport(n.caFile == ""), transport(true), nil
}

// readOutcome returns the labels of a reading of authorities.
func readOutcome(changed bool, err error) (result, reason string) {
	_, unreadable := errors.AsType[*fs.PathError](err)
	switch {
	case unreadable:
		return "failure", "read_error"
	case errors.Is(err, component.ErrEmpty):
		return "failure", "empty"
	case err != nil:
		return "failure", "ca_parse_error"
	case changed:
		return "success", "updated"
	}
	return "success", "unchanged"
}

func (n *nodeClient) connect(ctx context.Context, network, address string) (net.Conn, error) {
	if n.dial != nil {
		return n.dial(ctx, network, address)
	}
	return (&net.Dialer{Timeout: n.timeout}).DialContext(ctx, network, address)
}
