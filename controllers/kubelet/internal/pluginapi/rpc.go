// Package pluginapi has the messages of the gRPC interfaces between the kubelet and plugins of the node, of
// k8s.io/kubelet/pkg/apis v0.36.3: deviceplugin v1beta1, pluginregistration v1 and podresources v1. The
// messages are plain structs, which the codec of the repository encodes.
package pluginapi

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// messageCodec encodes the messages of this package for gRPC.
type messageCodec struct{}

// Marshal implements encoding.Codec.
func (messageCodec) Marshal(v any) ([]byte, error) { return codec.MarshalProto(v) }

// Unmarshal implements encoding.Codec.
func (messageCodec) Unmarshal(data []byte, v any) error { return codec.UnmarshalProto(data, v) }

// Name implements encoding.Codec.
func (messageCodec) Name() string { return "proto" }

// NewServer returns a server of methods of this package.
func NewServer() *grpc.Server { return grpc.NewServer(grpc.ForceServerCodec(messageCodec{})) }

// Dialer connects to the socket of a plugin.
type Dialer func(ctx context.Context, path string) (net.Conn, error)

// DialUnix is the Dialer of Unix sockets.
func DialUnix(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// Dial returns a connection to a plugin, which is made when it is used.
func Dial(path string, dial Dialer) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+path, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx, path) }),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(messageCodec{})), grpc.WithDisableServiceConfig())
}

// Call calls a method, such as /v1beta1.DevicePlugin/Allocate.
func Call[Reply any](ctx context.Context, c *grpc.ClientConn, method string, request any) (*Reply, error) {
	reply := new(Reply)
	if err := c.Invoke(ctx, method, request, reply); err != nil {
		return nil, err
	}
	return reply, nil
}

// Receive calls a method that answers with many messages, until one cannot be received or take returns an
// error.
func Receive[Reply any](ctx context.Context, c *grpc.ClientConn, method string, request any, take func(*Reply) error) error {
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return err
	}
	if err := s.SendMsg(request); err != nil {
		return err
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	for {
		reply := new(Reply)
		if err := s.RecvMsg(reply); err != nil {
			return err
		}
		if err := take(reply); err != nil {
			return err
		}
	}
}

// Method is a method of a server that answers with one message.
func Method[Request, Reply any](name string, answer func(context.Context, *Request) (*Reply, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		request := new(Request)
		if err := decode(request); err != nil {
			return nil, err
		}
		return answer(ctx, request)
	}}
}

// Stream is a method of a server that answers with many messages.
func Stream[Request, Reply any](name string, answer func(ctx context.Context, q *Request, send func(*Reply) error) error) grpc.StreamDesc {
	return grpc.StreamDesc{StreamName: name, ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
		request := new(Request)
		if err := s.RecvMsg(request); err != nil {
			return err
		}
		return answer(s.Context(), request, func(reply *Reply) error { return s.SendMsg(reply) })
	}}
}

// Register adds a service to a server.
func Register(s *grpc.Server, service string, methods []grpc.MethodDesc, streams ...grpc.StreamDesc) {
	s.RegisterService(&grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil), Methods: methods, Streams: streams, Metadata: fmt.Sprint(service, ".proto")}, struct{}{})
}
