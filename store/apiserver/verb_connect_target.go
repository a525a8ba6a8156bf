package apiserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// The addresses of pods and nodes are written by any client that may write their status, and this server
// dials them for any client that may use a proxy, a log or a shell. So that neither reaches targets through
// it that only it can reach, such as its own loopback ports, the metadata service of a cloud or, with its own
// credentials, itself, an address must be one that is reachable from elsewhere too:
//   - a global unicast one; a loopback one only with Options.Local,
//   - and never one where this server listens.

// checkReachable checks a host, an IP address or a name all of whose addresses must do, and a port. The error
// of a name that cannot be resolved is that of a connection to it.
func (s *Server) checkReachable(r *request, host string, port int) error {
	ips, err := resolve(r.Context(), host)
	if err != nil {
		return &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	for _, ip := range ips {
		if !ip.IsGlobalUnicast() && !(ip.IsLoopback() && s.opts.Local) || s.isOwnAddress(r, ip, port) {
			return apierrors.NewBadRequest(fmt.Sprintf("address not allowed: %s", joinHostPort(ip.String(), port)))
		}
	}
	return nil
}

func resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip.Unmap()}, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found, err
}

// isOwnAddress reports whether this server is known to listen there: at the address of the request's
// connection, at that port on loopback, or at the advertised address.
func (s *Server) isOwnAddress(r *request, ip netip.Addr, port int) bool {
	if advertised, err := netip.ParseAddr(s.opts.AdvertiseAddress); err == nil && ip == advertised.Unmap() && port == s.opts.AdvertisePort {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && port == local.Port && (ip.IsLoopback() || ip == local.AddrPort().Addr().Unmap())
}

// checkReachableAddress is checkReachable for a host and port in one string.
func (s *Server) checkReachableAddress(r *request, address string) error {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid port %q", text))
	}
	return s.checkReachable(r, host, int(port))
}
