package kubelet

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// sandboxTimeout bounds the making of a sandbox, which waits for the network plugins.
	sandboxTimeout = 4 * time.Minute
	// maxMessage is the largest answer of the runtime, in bytes.
	maxMessage = 16 << 20
)

// runtime is the CRI connection. It connects when first used and again after failures.
type runtime struct {
	cri.RuntimeServiceClient
	images cri.ImageServiceClient
	conns  []*grpc.ClientConn
}

func newRuntime(opts Options, observe grpc.UnaryClientInterceptor) (*runtime, error) {
	r := &runtime{}
	c, err := dialCRI(opts.RuntimeEndpoint, &opts, observe)
	if err != nil {
		return nil, err
	}
	r.conns = append(r.conns, c)
	r.RuntimeServiceClient, r.images = cri.NewRuntimeServiceClient(c), cri.NewImageServiceClient(c)
	if opts.ImageEndpoint != opts.RuntimeEndpoint {
		c, err := dialCRI(opts.ImageEndpoint, &opts, observe)
		if err != nil {
			r.close()
			return nil, err
		}
		r.conns = append(r.conns, c)
		r.images = cri.NewImageServiceClient(c)
	}
	return r, nil
}

func (r *runtime) close() {
	for _, c := range r.conns {
		_ = c.Close()
	}
}

func dialCRI(endpoint string, opts *Options, observe grpc.UnaryClientInterceptor) (*grpc.ClientConn, error) {
	dial := opts.RuntimeDial
	if dial == nil {
		network, address, err := splitEndpoint(endpoint)
		if err != nil {
			return nil, err
		}
		dial = func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		}
	}
	var traced []grpc.DialOption
	if calls := opts.Tracing.Runtime; calls != nil {
		traced = append(traced, grpc.WithStatsHandler(calls))
	}
	return grpc.NewClient("passthrough:///"+endpoint, append(traced,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx, endpoint) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		// Without jitter: a runtime has one client.
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: 5 * time.Second,
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, MaxDelay: 3 * time.Second}}),
		grpc.WithChainUnaryInterceptor(observe, withTimeout(opts.RuntimeTimeout)),
		grpc.WithDisableServiceConfig(),
	)...)
}

// splitEndpoint reads unix:///path and tcp://host:port.
func splitEndpoint(endpoint string) (network, address string, err error) {
	network, address, ok := strings.Cut(endpoint, "://")
	switch {
	case !ok && strings.HasPrefix(endpoint, "/"):
		return "unix", endpoint, nil
	case network == "unix" && strings.HasPrefix(address, "/"), network == "tcp" && address != "":
		return network, address, nil
	}
	return "", "", fmt.Errorf("kubelet: runtime endpoint %q: want unix:///path/to/socket", endpoint)
}

// withTimeout gives calls a deadline. Pulling an image takes as long as it takes.
func withTimeout(timeout time.Duration) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if _, ok := ctx.Deadline(); !ok && !strings.HasSuffix(method, "/PullImage") {
			limit := timeout
			if strings.HasSuffix(method, "/RunPodSandbox") {
				limit = max(sandboxTimeout, timeout)
			}
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}
}
