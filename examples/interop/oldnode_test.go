package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	exitcode "k8s.io/client-go/util/exec"
	nodeforward "k8s.io/cri-streaming/pkg/streaming/portforward"
	nodecommand "k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// oldNode is the server of a kubelet before Kubernetes 1.36 with the package that those and container
// runtimes use: of WebSockets it knows neither of the two protocols of today's clients.
type oldNode struct {
	mu    sync.Mutex
	asked []string
}

func (n *oldNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.asked = append(n.asked, strings.TrimSpace(r.Header.Get("Upgrade")+" "+r.Header.Get("Sec-Websocket-Protocol")))
	n.mu.Unlock()
	opts, err := nodecommand.NewOptions(r)
	path := strings.Split(r.URL.Path, "/")
	const idle, open = time.Minute, nodecommand.DefaultStreamCreationTimeout
	switch path[1] {
	case "exec":
		if err == nil {
			nodecommand.ServeExec(w, r, n, path[3], "", path[4], r.URL.Query()["command"], opts, idle, open, nodecommand.SupportedStreamingProtocols)
		}
	case "attach":
		if err == nil {
			nodecommand.ServeAttach(w, r, n, path[3], "", path[4], opts, idle, open, nodecommand.SupportedStreamingProtocols)
		}
	case "portForward":
		var ports *nodeforward.V4Options
		if ports, err = nodeforward.NewV4Options(r); err == nil {
			nodeforward.ServePortForward(w, r, n, path[3], "", ports, idle, open, nodeforward.SupportedProtocols)
		}
	default:
		err = fmt.Errorf("unexpected path %s", r.URL.Path)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// ExecInContainer runs a process whose command determines what it does.
func (n *oldNode) ExecInContainer(_ context.Context, _, _, _ string, command []string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan nodecommand.TerminalSize, _ time.Duration) error {
	switch command[0] {
	case "cat":
		_, err := io.Copy(out, in)
		return err
	case "fail":
		_, _ = io.WriteString(out, "to stdout")
		_, _ = io.WriteString(errOut, "to stderr")
		return exitcode.CodeExitError{Err: errors.New("exit status 3"), Code: 3}
	case "sizes":
		first, second := <-resize, <-resize
		_, err := fmt.Fprintf(out, "tty=%t %dx%d %dx%d", tty, first.Width, first.Height, second.Width, second.Height)
		return err
	}
	return fmt.Errorf("no program %v", command)
}

// AttachContainer returns the input.
func (n *oldNode) AttachContainer(_ context.Context, _, _, _ string, in io.Reader, out, errOut io.WriteCloser, _ bool, _ <-chan nodecommand.TerminalSize) error {
	_, err := io.Copy(out, in)
	_, _ = io.WriteString(errOut, "end of input")
	return err
}

// PortForward returns in the opposite order what it has received. Port 81 refuses, but only when the client
// has sent all: before, the package would reset a stream whose opening it has not confirmed.
func (n *oldNode) PortForward(_ context.Context, _, _ string, port int32, s io.ReadWriteCloser) error {
	b, err := io.ReadAll(s)
	if err != nil {
		return err
	}
	if port == 81 {
		return errors.New("connection refused")
	}
	slices.Reverse(b)
	_, err = s.Write(b)
	return err
}

// requests are the upgrades that have been asked for since the last call.
func (n *oldNode) requests() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.asked
	n.asked = nil
	return out
}

// onOldNode is a pod on such a node.
type onOldNode struct {
	*oldNode
	cfg *rest.Config
	cs  *kubernetes.Clientset
}

func startOldNode(t *testing.T) *onOldNode {
	n := &oldNode{}
	server := httptest.NewTLSServer(n)
	t.Cleanup(server.Close)
	c := controllertest.Start(t, controllertest.Options{Server: apiserver.Options{Nodes: server.Client().Transport}})
	p := &onOldNode{oldNode: n, cfg: overTCP(t, c)}
	p.cs = clientset(t, p.cfg)
	host, text, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	port, err := strconv.ParseInt(text, 10, 32)
	require.NoError(t, err)
	_, err = p.cs.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	bound := pod("p")
	bound.Spec.NodeName = "n"
	_, err = p.cs.CoreV1().Pods("default").Create(t.Context(), bound, metav1.CreateOptions{})
	require.NoError(t, err)
	return p
}

func (p *onOldNode) url(of string) *rest.Request {
	return p.cs.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("p").SubResource(of)
}

// protocol is a way in which clients ask for streams.
type protocol string

const (
	overWebSocket protocol = "websocket"
	overSPDY      protocol = "spdy"
	withFallback  protocol = "fallback"
)

// fallback is when kubectl uses SPDY instead of a WebSocket; the reasons are added to why.
func fallback(why *[]error) func(error) bool {
	return func(err error) bool {
		yes := httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
		if yes {
			*why = append(*why, err)
		}
		return yes
	}
}

// run runs a process to its end. The result has the errors that made the client fall back.
func (p *onOldNode) run(t *testing.T, way protocol, u *url.URL, o remotecommand.StreamOptions) (fallbacks []error, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ws, err := remotecommand.NewWebSocketExecutor(p.cfg, "GET", u.String())
	require.NoError(t, err)
	old, err := remotecommand.NewSPDYExecutor(p.cfg, "POST", u)
	require.NoError(t, err)
	both, err := remotecommand.NewFallbackExecutor(ws, old, fallback(&fallbacks))
	require.NoError(t, err)
	err = map[protocol]remotecommand.Executor{overWebSocket: ws, overSPDY: old, withFallback: both}[way].StreamWithContext(ctx, o)
	return fallbacks, err
}

func (p *onOldNode) exec(t *testing.T, way protocol, o remotecommand.StreamOptions, command ...string) ([]error, error) {
	r := p.url("exec").VersionedParams(&corev1.PodExecOptions{Command: command, Stdin: o.Stdin != nil, Stdout: o.Stdout != nil, Stderr: o.Stderr != nil, TTY: o.Tty}, scheme.ParameterCodec)
	return p.run(t, way, r.URL(), o)
}

func (p *onOldNode) dialer(t *testing.T, way protocol, fallbacks *[]error) httpstream.Dialer {
	u := p.url("portforward").URL()
	ws, err := portforward.NewSPDYOverWebsocketDialerForStreaming(u, p.cfg)
	require.NoError(t, err)
	transport, upgrader, err := spdy.RoundTripperFor(p.cfg)
	require.NoError(t, err)
	old := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, "POST", u)
	both := portforward.NewFallbackDialerForStreaming(ws, old, fallback(fallbacks))
	return map[protocol]httpstream.Dialer{overWebSocket: ws, overSPDY: old, withFallback: both}[way]
}

// forward sends bytes to port 80 and returns the answer.
func forward(t *testing.T, d httpstream.Dialer, b []byte) []byte {
	stop, ready, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	f, err := portforward.NewOnAddressesForStreaming(d, []string{"127.0.0.1"}, []string{":80"}, stop, ready, io.Discard, io.Discard)
	require.NoError(t, err)
	go func() { ended <- f.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		require.NoError(t, err)
	}
	ports, err := f.GetPorts()
	require.NoError(t, err)
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ports[0].Local))
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write(b)
	require.NoError(t, err)
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(c)
	require.NoError(t, err)
	close(stop)
	require.NoError(t, <-ended)
	return answer
}

// refusedPort returns the error of a connection to a port, for which it opens the streams as forwarders do.
func refusedPort(t *testing.T, d httpstream.Dialer, port string) string {
	c, _, err := d.Dial(portforward.PortForwardProtocolV1Name)
	require.NoError(t, err)
	defer c.Close()
	h := http.Header{}
	h.Set(corev1.StreamType, corev1.StreamTypeError)
	h.Set(corev1.PortHeader, port)
	h.Set(corev1.PortForwardRequestIDHeader, "0")
	report, err := c.CreateStream(h)
	require.NoError(t, err)
	require.NoError(t, report.Close())
	h.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := c.CreateStream(h)
	require.NoError(t, err)
	require.NoError(t, data.Close())
	text, err := io.ReadAll(report)
	require.NoError(t, err)
	return string(text)
}

// terminalSizes are those that a terminal takes one after the other.
type terminalSizes []remotecommand.TerminalSize

// Next implements remotecommand.TerminalSizeQueue.
func (s *terminalSizes) Next() *remotecommand.TerminalSize {
	if len(*s) == 0 {
		return nil
	}
	next := (*s)[0]
	*s = (*s)[1:]
	return &next
}

// mebibyte is 1 MiB that is not the same backwards.
func mebibyte() []byte {
	b := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// TestOldNodes: client-go's streams over WebSockets, over SPDY, and over the first of them that works reach a
// node that speaks SPDY only, and the node sees nothing else.
func TestOldNodes(t *testing.T) {
	p := startOldNode(t)
	for _, way := range []protocol{overWebSocket, overSPDY, withFallback} {
		t.Run(string(way), func(t *testing.T) {
			sessions := 0
			exec := func(o remotecommand.StreamOptions, command ...string) error {
				sessions++
				fallbacks, err := p.exec(t, way, o, command...)
				require.Empty(t, fallbacks, "a WebSocket works")
				return err
			}
			var out, errOut bytes.Buffer
			err := exec(remotecommand.StreamOptions{Stdout: &out, Stderr: &errOut}, "fail")
			var exit exitcode.CodeExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, 3, exit.Code)
			require.Equal(t, []string{"to stdout", "to stderr"}, []string{out.String(), errOut.String()})

			out.Reset()
			input := mebibyte()
			require.NoError(t, exec(remotecommand.StreamOptions{Stdin: bytes.NewReader(input), Stdout: &out}, "cat"))
			require.True(t, bytes.Equal(input, out.Bytes()), "%d bytes", out.Len())

			out.Reset()
			sizes := &terminalSizes{{Width: 80, Height: 24}, {Width: 132, Height: 43}}
			require.NoError(t, exec(remotecommand.StreamOptions{Stdout: &out, Tty: true, TerminalSizeQueue: sizes}, "sizes"))
			require.Equal(t, "tty=true 80x24 132x43", out.String())

			require.ErrorContains(t, exec(remotecommand.StreamOptions{Stdout: io.Discard}, "missing"), "no program [missing]")

			sessions++
			out.Reset()
			errOut.Reset()
			attach := p.url("attach").VersionedParams(&corev1.PodAttachOptions{Stdin: true, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
			fallbacks, err := p.run(t, way, attach, remotecommand.StreamOptions{Stdin: bytes.NewReader(input), Stdout: &out, Stderr: &errOut})
			require.NoError(t, err)
			require.True(t, bytes.Equal(input, out.Bytes()), "%d bytes", out.Len())
			require.Equal(t, "end of input", errOut.String())

			sessions += 2
			answer := forward(t, p.dialer(t, way, &fallbacks), input)
			slices.Reverse(answer)
			require.True(t, bytes.Equal(input, answer), "%d bytes", len(answer))
			require.Contains(t, refusedPort(t, p.dialer(t, way, &fallbacks), "81"), "connection refused")
			require.Empty(t, fallbacks, "a WebSocket works")

			require.Equal(t, slices.Repeat([]string{"SPDY/3.1"}, sessions), p.requests())
		})
	}
}

// TestNodesThatDeclareWebSockets: to a node that declares the feature the WebSocket is passed on as it is.
// This one refuses it nevertheless, so that clients fall back by its answer.
func TestNodesThatDeclareWebSockets(t *testing.T) {
	p := startOldNode(t)
	node, err := p.cs.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
	require.NoError(t, err)
	node.Status.DeclaredFeatures = []string{"ExtendWebSocketsToKubelet"}
	_, err = p.cs.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)

	const channels, tunnel = "websocket v5.channel.k8s.io", "websocket SPDY/3.1+portforward.k8s.io"
	var out bytes.Buffer
	options := func() remotecommand.StreamOptions {
		out.Reset()
		return remotecommand.StreamOptions{Stdin: strings.NewReader("hello"), Stdout: &out}
	}
	_, err = p.exec(t, overWebSocket, options(), "cat")
	require.True(t, httpstream.IsUpgradeFailure(err), "%v", err)
	require.Equal(t, []string{channels}, p.requests())
	fallbacks, err := p.exec(t, withFallback, options(), "cat")
	require.NoError(t, err)
	require.Len(t, fallbacks, 1)
	require.Equal(t, "hello", out.String())
	require.Equal(t, []string{channels, "SPDY/3.1"}, p.requests())

	_, _, err = p.dialer(t, overWebSocket, nil).Dial(portforward.PortForwardProtocolV1Name)
	require.True(t, httpstream.IsUpgradeFailure(err), "%v", err)
	require.Equal(t, []string{tunnel}, p.requests())
	fallbacks = nil
	require.Equal(t, "olleh", string(forward(t, p.dialer(t, withFallback, &fallbacks), []byte("hello"))))
	require.Len(t, fallbacks, 1)
	require.Equal(t, []string{tunnel, "SPDY/3.1"}, p.requests())
}
