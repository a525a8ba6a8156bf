package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/peers"
)

// peering is how requests are passed on to other servers over the same etcd, and by them to this one.
type peering struct {
	caFile, ip, port string
}

func (p *peering) flags(f *pflag.FlagSet) {
	f.StringVar(&p.caFile, "peer-ca-file", "", "authorities of the serving certificates of other API servers, which are valid for kubernetes.default.svc; with it, requests for resources that only others serve are passed on to those, with --proxy-client-cert-file")
	f.StringVar(&p.ip, "peer-advertise-ip", "", "address at which other API servers reach this one (empty: --advertise-address)")
	f.StringVar(&p.port, "peer-advertise-port", "", "port at which other API servers reach this one (empty: --secure-port)")
}

func (p *peering) validate(o *options) error {
	var errs []error
	for name, value := range map[string]string{"peer-ca-file": p.caFile, "peer-advertise-ip": p.ip, "peer-advertise-port": p.port} {
		switch {
		case value == "":
		case !o.features.Enabled(mixedVersions):
			errs = append(errs, fmt.Errorf("--%s requires UnknownVersionInteroperabilityProxy feature to be turned on", name))
		case !o.features.Enabled(apiServerIdentity):
			errs = append(errs, fmt.Errorf("--%s requires the feature APIServerIdentity: servers find each other by their leases", name))
		case o.backend != "etcd3":
			errs = append(errs, fmt.Errorf("--%s does not go with --storage-backend=%s: no other server uses it", name, o.backend))
		}
	}
	if p.caFile != "" && (o.aggregation.certFile == "" || o.aggregation.keyFile == "") {
		errs = append(errs, errors.New("--peer-ca-file requires --proxy-client-cert-file and --proxy-client-key-file: other servers know this one by them"))
	}
	if _, err := netip.ParseAddr(p.ip); p.ip != "" && err != nil {
		errs = append(errs, fmt.Errorf("--peer-advertise-ip: %w", err))
	}
	if n, err := strconv.ParseUint(p.port, 10, 16); p.port != "" && (err != nil || n == 0) {
		errs = append(errs, fmt.Errorf("--peer-advertise-port=%s: want 1 to 65535", p.port))
	}
	return errors.Join(errs...)
}

// apply adds it to the options of the server, which have the certificate for other servers and the name of
// the host.
func (p *peering) apply(co *controlplane.Options, o *options, metrics *apimetrics.Metrics, log *slog.Logger) error {
	if !o.features.Enabled(mixedVersions) || !o.features.Enabled(apiServerIdentity) {
		return nil
	}
	ip, port := p.ip, p.port
	if ip == "" {
		ip = o.advertise()
	}
	if port == "" {
		port = strconv.Itoa(o.securePort)
	}
	co.Bookkeeping.PeerAddress = net.JoinHostPort(ip, port)
	if p.caFile == "" {
		return nil
	}
	authorities, err := component.Reload(log, component.ReadAuthorities, p.caFile)
	if err != nil {
		return fmt.Errorf("--peer-ca-file: %w", err)
	}
	co.Server.Peers = peers.New(co.Bookkeeping.IdentityName(), peers.Options{Certificate: co.Aggregation.Certificate,
		Roots: func() *x509.CertPool { return authorities.Get().Pool }, Logger: log, Metrics: metrics.Peers()})
	return nil
}
