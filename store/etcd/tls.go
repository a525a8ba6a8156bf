package etcd

import (
	"context"
	"crypto/tls"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// dialOptions secure connections to members as Options.TLS says, and report their calls; endpoints are all of
// the kind of the first.
func (o *Options) dialOptions() []grpc.DialOption {
	var out []grpc.DialOption
	if o.Calls != nil {
		out = append(out, grpc.WithStatsHandler(o.Calls))
	}
	first := o.Endpoints[0]
	if o.TLS == nil || strings.HasPrefix(first, "http:") || strings.HasPrefix(first, "unix:") {
		return out
	}
	return append(out, grpc.WithTransportCredentials(perConnection{credentials.NewTLS(nil), o.TLS}))
}

// perConnection makes the TLS configuration of each connection when it is opened.
type perConnection struct {
	credentials.TransportCredentials
	config func() *tls.Config
}

// ClientHandshake implements credentials.TransportCredentials.
func (p perConnection) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(p.config()).ClientHandshake(ctx, authority, conn)
}

// Clone implements credentials.TransportCredentials.
func (p perConnection) Clone() credentials.TransportCredentials {
	return perConnection{p.TransportCredentials.Clone(), p.config}
}
