package main

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/controllers/clusterdns"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

func TestFlags(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "resolv.conf")
	require.NoError(t, os.WriteFile(conf, []byte("nameserver 192.0.2.53\nnameserver 10.96.0.10\nnameserver 10.0.0.1\n"), 0o600))
	o, err := parse([]string{"--address=10.0.0.1:53,[fd00::1]:53", "--cluster-ip=10.96.0.10,fd00:96::10", "--resolv-conf=" + conf, "--pods=verified", "--ttl=30s"})
	require.NoError(t, err)
	require.Equal(t, []string{"192.0.2.53:53"}, o.dns.Upstreams, "not the server itself")
	require.Equal(t, clusterdns.PodsVerified, o.dns.Pods)
	require.Equal(t, &clusterdns.Publication{
		ClusterIPs: []netip.Addr{netip.MustParseAddr("10.96.0.10"), netip.MustParseAddr("fd00:96::10")},
		Addresses:  []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}, Port: 53}, o.publication)
	for says, args := range map[string][]string{
		"want whole seconds":          {"--ttl=1500ms"},
		"want --cluster-ip too":       {"--advertise-address=10.0.0.1"},
		"give --advertise-address":    {"--cluster-ip=10.96.0.10"},
		"the same everywhere":         {"--cluster-ip=10.96.0.10", "--address=10.0.0.1:53,10.0.0.2:54"},
		"--cluster-ip: ParseAddr":     {"--cluster-ip=ten"},
		"unknown flag: --upstreams":   {"--upstreams=1.2.3.4"},
		"no such file":                {"--resolv-conf=/nowhere"},
		`"example.com" of the server`: {"--cluster-ip=10.96.0.10", "--address=example.com:53"},
	} {
		_, err := parse(args)
		require.ErrorContains(t, err, says)
	}
}

// program is a run of the program.
type program struct {
	address, status string
	stop            func() error
}

// start runs the program until it is ready, on other ports if one was taken meanwhile.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	for {
		p := &program{address: free(t), status: free(t)}
		_, port, err := net.SplitHostPort(p.status)
		require.NoError(t, err)
		o, err := parse(append(args, "--address="+p.address, "--secure-port="+port))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- o.serve(ctx, slog.New(slog.DiscardHandler)) }()
		p.stop = func() error {
			cancel()
			return <-ended
		}
		taken := false
		eventually(t, func() bool {
			select {
			case err := <-ended:
				require.ErrorIs(t, err, syscall.EADDRINUSE)
				taken = true
				return true
			default:
			}
			code, _ := p.get("/readyz")
			return code == http.StatusOK
		})
		if !taken {
			return p
		}
		cancel()
	}
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func (p *program) get(path string) (int, string) {
	h := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // a certificate of the program's own
	r, err := h.Get("https://" + p.status + path)
	if err != nil {
		return 0, ""
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, ""
	}
	return r.StatusCode, string(body)
}

// TestProgram runs the program against an API server: it answers, is ready, counts, and publishes itself.
func TestProgram(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	controllertest.Create(c, &corev1.Service{ObjectMeta: controllertest.Name("default", "web"), Spec: corev1.ServiceSpec{
		ClusterIP: "10.96.0.20", Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}}})
	p := start(t, "--kubeconfig="+c.Kubeconfig(), "--resolv-conf=", "--leader-elect=false", "--cluster-ip=10.96.0.10", "--advertise-address=192.0.2.1")
	q := new(dns.Msg)
	q.SetQuestion("web.default.svc.cluster.local.", dns.TypeA)
	for _, network := range []string{"udp", "tcp"} {
		in, _, err := (&dns.Client{Net: network, Timeout: time.Minute}).Exchange(q, p.address)
		require.NoError(t, err)
		require.Len(t, in.Answer, 1)
	}
	eventually(t, func() bool { return len(controllertest.List[*discoveryv1.EndpointSlice](c, "kube-system")) == 1 })
	require.Equal(t, "10.96.0.10", controllertest.Get[*corev1.Service](c, "kube-system", "kube-dns").Spec.ClusterIP)
	eventually(t, func() bool { // an answer is counted after it was sent
		_, text := p.get("/metrics")
		return strings.Contains(text, `clusterdns_responses_total{rcode="NOERROR",type="A"} 2`)
	})
	require.NoError(t, p.stop())
}

// A server that publishes nothing needs no lease, and what is in its manifest is accepted by an API server.
func TestServerOfADeployment(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{Manifests: os.DirFS(".")})
	require.Equal(t, "10.96.0.10", controllertest.Get[*corev1.Service](c, "kube-system", "kube-dns").Spec.ClusterIP)
	p := start(t, "--kubeconfig="+c.Kubeconfig(), "--resolv-conf=")
	require.Empty(t, controllertest.List[*coordinationv1.Lease](c, "kube-system"))
	require.NoError(t, p.stop())
}

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	tick, end := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("it did not happen")
		}
	}
}
