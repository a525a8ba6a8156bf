package etcdserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/keelson-dev/keelson/store"
)

// Options refine a Server. The zero value is useful.
type Options struct {
	// Name is the name of the member. Empty means "default".
	Name string
	// ClientURLs are the client URLs that MemberList returns; they have no other effect.
	ClientURLs []string
	// TLS, if not nil, is required of connections. Its ClientAuth decides whether clients need certificates.
	TLS *tls.Config
	// MaxRequestBytes is the size of the largest request, in bytes. Zero means 1.5 MiB, etcd's limit. The
	// store has a limit of its own, towards which each value counts up to 20 bytes more.
	MaxRequestBytes int
	// ProgressInterval is how often watches with progress notifications receive one while they have no
	// events. Zero means 10 min, etcd's default.
	ProgressInterval time.Duration
	// Logger receives errors that no client receives. Nil discards.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "default"
	}
	if o.MaxRequestBytes <= 0 {
		o.MaxRequestBytes = 3 << 19
	}
	if o.ProgressInterval <= 0 {
		o.ProgressInterval = 10 * time.Minute
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

const (
	// overhead is how much larger than the largest request a gRPC message may be, in bytes.
	overhead = 512 << 10
	// streams is the greatest number of open requests and streams of one connection.
	streams = 1 << 20
	// quiet is how long a connection may receive nothing before the server pings the client.
	quiet = 30 * time.Second
	// grace is how long running requests may continue when the server ends.
	grace = 2 * time.Second
)

// Server serves etcd's clients from a store. It implements the servers of etcdserverpb.
type Server struct {
	store   store.Store
	opts    Options
	gate    gate
	leases  *leases
	begin   func() // admits writers, once the leases are loaded
	served  atomic.Bool
	closing chan struct{} // closed when Serve ends
	tasks   sync.WaitGroup
}

var (
	_ pb.KVServer          = (*Server)(nil)
	_ pb.WatchServer       = (*Server)(nil)
	_ pb.LeaseServer       = (*Server)(nil)
	_ pb.ClusterServer     = (*Server)(nil)
	_ pb.MaintenanceServer = (*Server)(nil)
)

// New returns a server over a store, to which nothing else may write until Serve has returned, and which the
// caller closes. Its methods may also be called directly; writes wait until Serve has begun.
func New(s store.Store, opts Options) *Server {
	server := &Server{store: s, opts: opts.withDefaults(), gate: newGate(), leases: newLeases(), closing: make(chan struct{})}
	server.begin, _ = server.gate.alone(context.Background()) // the gate is free
	return server
}

// Serve serves the connections of the listeners and revokes expired leases until ctx ends. Then it waits at
// most two seconds for running requests, ends all streams, closes the listeners and returns nil when all its
// goroutines have returned. It may be called once.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	if s.served.Swap(true) {
		return errors.New("etcdserver: Serve called twice")
	}
	closeAll := func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}
	defer closeAll()
	err := s.load(ctx)
	s.begin()
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rpc := s.register()
	server := s.http(rpc)
	var tasks sync.WaitGroup
	tasks.Go(func() { s.expire(ctx) })
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		tasks.Go(func() {
			serve := func() error { return server.Serve(l) }
			if server.TLSConfig != nil {
				serve = func() error { return server.ServeTLS(l, "", "") }
			}
			if err := serve(); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		})
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	close(s.closing)
	bounded, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
	if server.Shutdown(bounded) != nil {
		_ = server.Close()
	}
	stop()
	rpc.Stop()
	tasks.Wait()
	s.tasks.Wait()
	return err
}

// register returns a gRPC server of all services.
func (s *Server) register() *grpc.Server {
	rpc := grpc.NewServer(grpc.MaxRecvMsgSize(s.opts.MaxRequestBytes+overhead), grpc.MaxSendMsgSize(math.MaxInt32))
	pb.RegisterKVServer(rpc, s)
	pb.RegisterWatchServer(rpc, s)
	pb.RegisterLeaseServer(rpc, s)
	pb.RegisterClusterServer(rpc, s)
	pb.RegisterMaintenanceServer(rpc, s)
	pb.RegisterAuthServer(rpc, auth{s: s})
	alive := health.NewServer()
	for _, name := range []string{"", "etcdserverpb.KV", "etcdserverpb.Watch", "etcdserverpb.Lease"} {
		alive.SetServingStatus(name, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	grpc_health_v1.RegisterHealthServer(rpc, alive)
	return rpc
}

// http returns the server of all connections: gRPC, and the few plain paths that etcd answers on the same
// port.
func (s *Server) http(rpc *grpc.Server) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler: s.handler(rpc), Protocols: protocols, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streams, SendPingTimeout: quiet, PingTimeout: grace * 5},
		ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
	}
	if s.opts.TLS != nil {
		server.TLSConfig = s.opts.TLS.Clone()
	}
	return server
}
