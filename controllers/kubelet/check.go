package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/client/events"
)

// maxProbeOutput is how much of a probe's answer is kept, in bytes.
const maxProbeOutput = 10 << 10

// hookTimeout bounds a command of a hook or a probe without a timeout of its own.
const hookTimeout = 2 * time.Minute

// outcome is what a check finds out.
type outcome int

// The results of checks. A check that could not be made has an unknown result, which does not change the
// state of the container.
const (
	unknown outcome = iota
	passed
	failed
	outcomes
)

// String returns the name that metrics have for the outcome.
func (o outcome) String() string { return [...]string{"unknown", "successful", "failed"}[o] }

// probe runs a check once, for at most timeout. text says why it did not pass; if it did, it is a warning or
// empty.
func (k *Kubelet) probe(ctx context.Context, pod *corev1.Pod, c *corev1.Container, run *container, ip string, h *corev1.ProbeHandler, timeout time.Duration) (found outcome, text string) {
	if h.Exec != nil {
		return k.execProbe(ctx, run.id, h.Exec.Command, timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var err error
	switch {
	case h.HTTPGet != nil:
		u, header, problem := httpTarget(h.HTTPGet, c, ip)
		if problem != nil {
			return unknown, problem.Error()
		}
		return httpProbe(ctx, u, header)
	case h.TCPSocket != nil:
		port, problem := portOf(h.TCPSocket.Port, c)
		if problem != nil {
			return unknown, problem.Error()
		}
		host := ip
		if h.TCPSocket.Host != "" {
			host = h.TCPSocket.Host
		}
		var d net.Dialer
		var conn net.Conn
		if conn, err = d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			err = conn.Close()
		}
	case h.GRPC != nil:
		text, err = grpcCheck(ctx, net.JoinHostPort(ip, strconv.Itoa(int(h.GRPC.Port))), h.GRPC.Service)
	default:
		return unknown, "missing probe handler"
	}
	if err == nil {
		return passed, ""
	}
	if text == "" {
		text = err.Error()
	}
	return failed, text
}

// execProbe runs a command. It has failed if it exits with another code than 0 or takes longer than timeout.
// A runtime that cannot be reached or cannot run it says nothing about the container.
func (k *Kubelet) execProbe(ctx context.Context, id string, command []string, timeout time.Duration) (outcome, string) {
	began := time.Now()
	// The runtime ends the command after timeout. A runtime that does not even do that is given up much
	// later.
	call, cancel := context.WithTimeout(ctx, timeout+hookTimeout)
	defer cancel()
	out, exit, err := k.execSync(call, id, command, timeout)
	switch {
	case err == nil && exit == 0:
		return passed, ""
	case err == nil:
		return failed, string(out)
	case status.Code(err) != codes.DeadlineExceeded:
		return unknown, status.Convert(err).Message()
	case time.Since(began) < timeout+hookTimeout/2:
		// The runtime ended it; the call's own deadline is far off.
		return failed, fmt.Sprintf("command timed out: %q timed out after %v", strings.Join(command, " "), timeout)
	}
	if k.pleg.answers(ctx, began) {
		return failed, fmt.Sprintf("command timed out: the runtime did not end %q, though it answers otherwise", strings.Join(command, " "))
	}
	return unknown, "the runtime does not respond"
}

// execSync runs a command in a container and returns its output, limited, and exit code. The error is the
// runtime's.
func (k *Kubelet) execSync(ctx context.Context, id string, command []string, timeout time.Duration) ([]byte, int32, error) {
	r, err := k.rt.ExecSync(ctx, &cri.ExecSyncRequest{ContainerId: id, Cmd: command, Timeout: int64(max(timeout/time.Second, 1))})
	if err != nil {
		return nil, 0, err
	}
	out := append(r.Stdout, r.Stderr...)
	return out[:min(len(out), maxProbeOutput)], r.ExitCode, nil
}

func portOf(p intstr.IntOrString, c *corev1.Container) (int, error) {
	n := p.IntValue()
	if p.Type == intstr.String {
		n = 0
		for _, cp := range c.Ports {
			if cp.Name == p.StrVal {
				n = int(cp.ContainerPort)
			}
		}
		if n == 0 {
			var err error
			if n, err = strconv.Atoi(p.StrVal); err != nil {
				return 0, fmt.Errorf("couldn't find port: %q in container %q", p.StrVal, c.Name)
			}
		}
	}
	if n <= 0 || n > 65535 {
		return 0, fmt.Errorf("invalid port number: %v", p.String())
	}
	return n, nil
}

func httpTarget(a *corev1.HTTPGetAction, c *corev1.Container, ip string) (*url.URL, http.Header, error) {
	port, err := portOf(a.Port, c)
	if err != nil {
		return nil, nil, err
	}
	host := ip
	if a.Host != "" {
		host = a.Host
	}
	u, err := url.Parse(a.Path)
	if err != nil {
		u = &url.URL{Path: a.Path}
	}
	u.Scheme, u.Host = strings.ToLower(string(a.Scheme)), net.JoinHostPort(host, strconv.Itoa(port))
	if u.Scheme == "" {
		u.Scheme = "http"
	}
	if !strings.HasPrefix(u.Path, "/") {
		u.Path = "/" + u.Path
	}
	header := http.Header{}
	for _, h := range a.HTTPHeaders {
		header.Add(h.Name, h.Value)
	}
	return u, header, nil
}

// httpProbe passes on any answer from 200 to 399, with a warning for those that are not what was asked for.
// An answer that breaks off says nothing.
func httpProbe(ctx context.Context, u *url.URL, header http.Header) (found outcome, text string) {
	answer, err := httpGet(ctx, u, header, "kube-probe/1.36")
	switch {
	case err != nil:
		return failed, err.Error()
	case answer.broken != nil:
		return unknown, answer.broken.Error()
	case answer.code >= 200 && answer.code < 300:
		return passed, ""
	case answer.code >= 300 && answer.code < 400:
		return passed, "Probe terminated redirects, Response body: " + string(answer.body)
	}
	return failed, fmt.Sprintf("HTTP probe failed with statuscode: %d", answer.code)
}

// maxRedirects is how many requests follow each other.
const maxRedirects = 10

// answer is that of a container's server.
type answer struct {
	code   int
	body   []byte // at most maxProbeOutput
	broken error  // of the body
}

// httpGet returns the answer. Redirects to other hosts are answers and are not followed.
func httpGet(ctx context.Context, u *url.URL, header http.Header, agent string) (*answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	for name, v := range header {
		r.Header[name] = v
	}
	if host := header.Get("Host"); host != "" {
		r.Host = host
	}
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", agent)
	}
	if r.Header.Get("Accept") == "" {
		r.Header.Set("Accept", "*/*")
	}
	c := &http.Client{
		// Each probe opens a connection of its own, so that a dead server is noticed. Certificates are not
		// checked: the pod's address is not in them.
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if next.URL.Hostname() != via[0].URL.Hostname() {
				return http.ErrUseLastResponse
			}
			if len(via) >= maxRedirects {
				return fmt.Errorf("stopped after %d redirects", maxRedirects)
			}
			return nil
		},
	}
	resp, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &answer{code: resp.StatusCode}
	a.body, a.broken = io.ReadAll(io.LimitReader(resp.Body, maxProbeOutput))
	return a, nil
}

func grpcCheck(ctx context.Context, address string, service *string) (string, error) {
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUserAgent("kube-probe/1.36"),
		grpc.WithDisableServiceConfig(), grpc.WithNoProxy())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	name := ""
	if service != nil {
		name = *service
	}
	resp, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: name}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Sprintf("service unhealthy (responded with %q)", status.Convert(err).Message()), err
	}
	if resp.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		text := fmt.Sprintf("service unhealthy (responded with %q)", resp.Status)
		return text, errors.New(text)
	}
	return "", nil
}

// hook runs a lifecycle handler.
func (k *Kubelet) hook(ctx context.Context, pod *corev1.Pod, c *corev1.Container, id string, h *corev1.LifecycleHandler) error {
	switch {
	case h.Exec != nil:
		timeout := hookTimeout
		if d, ok := ctx.Deadline(); ok {
			timeout = time.Until(d)
		}
		// The runtime ends the command; this is for when it does not.
		call, cancel := context.WithTimeout(ctx, timeout+2*time.Second)
		defer cancel()
		out, exit, err := k.execSync(call, id, h.Exec.Command, timeout)
		if err != nil {
			return errors.New(status.Convert(err).Message())
		}
		if exit != 0 {
			return fmt.Errorf("command '%s' exited with %d: %s", strings.Join(h.Exec.Command, " "), exit, out)
		}
		return nil
	case h.HTTPGet != nil:
		v, err := k.views.now(ctx, pod.UID)
		if err != nil {
			return err
		}
		u, header, err := httpTarget(h.HTTPGet, c, first(k.podIPs(ctx, pod, v.current())))
		if err != nil {
			return err
		}
		return k.httpHook(ctx, pod, u, header)
	case h.Sleep != nil:
		select {
		case <-ctx.Done():
			k.metrics.sleepsEnded.Inc()
			return ctx.Err()
		case <-time.After(time.Duration(h.Sleep.Seconds) * time.Second):
			return nil
		}
	}
	return fmt.Errorf("invalid handler: %+v", h)
}

// httpHook sends the request of a hook; any answer will do. A server that turns out not to speak TLS gets the
// request without it, and without credentials.
func (k *Kubelet) httpHook(ctx context.Context, pod *corev1.Pod, u *url.URL, header http.Header) error {
	const agent = "kube-lifecycle/1.36"
	_, err := httpGet(ctx, u, header, agent)
	if !errors.Is(err, http.ErrSchemeMismatch) {
		return err
	}
	plain := *u
	plain.Scheme = "http"
	header = header.Clone()
	header.Del("Authorization")
	if _, again := httpGet(ctx, &plain, header, agent); again != nil {
		return err
	}
	k.metrics.hookFallbacks.Inc()
	k.recorder.Event(pod, events.Warning, "LifecycleHTTPFallback", fmt.Sprintf("request to HTTPS lifecycle hook %s got HTTP response, retry with HTTP succeeded", u.Host))
	return nil
}
