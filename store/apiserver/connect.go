package apiserver

import (
	"net"
	"net/http"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// NodeConn reaches the servers of kubelets.
type NodeConn interface {
	// RoundTrip sends a request, whose URL host is the node's address and port, over TLS with the server's client certificate.
	RoundTrip(r *http.Request) (*http.Response, error)
}

func (s *Server) connect(_ *route, r *request) {
	r.fail(apierrors.NewServiceUnavailable("this server cannot reach nodes"))
}

func joinHostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
