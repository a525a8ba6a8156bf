package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/storetest"
)

const configMaps = "/api/v1/namespaces/default/configmaps"

// live is a server process over memory. "admin" may do everything and is exempt from flow control, "user" may
// do everything.
type live struct {
	t     *testing.T
	host  string
	cmd   *exec.Cmd
	log   *bytes.Buffer
	ended chan struct{}
	http2 *http.Client
	front *http.Client // HTTP/1.1, a connection for each request
}

// startLive starts a server with additional flags and waits until it is ready.
func startLive(t *testing.T, flags ...string) *live {
	t.Helper()
	if testing.Short() {
		t.Skip("real processes: -short")
	}
	l := &live{t: t, host: storetest.FreeAddress(t), log: &bytes.Buffer{}, ended: make(chan struct{})}
	dir := t.TempDir()
	_, port, err := net.SplitHostPort(l.host)
	require.NoError(t, err)
	tokens := filepath.Join(dir, "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("admin,admin,1,\"system:masters\"\nuser,user,2\n"), 0o600))
	// Kubelets are reached with a client certificate.
	ca, err := certs.NewAuthority("test")
	require.NoError(t, err)
	pair, err := ca.Client("apiserver")
	require.NoError(t, err)
	crt, key := filepath.Join(dir, "crt"), filepath.Join(dir, "key")
	require.NoError(t, os.WriteFile(crt, pair.CertPEM(), 0o600))
	require.NoError(t, os.WriteFile(key, pair.KeyPEM(), 0o600))
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--authorization-") }) {
		flags = append(flags, "--authorization-mode=AlwaysAllow")
	}
	l.cmd = exec.Command(os.Args[0], append([]string{"--storage-backend=memory", "--bind-address=127.0.0.1", "--secure-port=" + port, "--token-auth-file=" + tokens,
		"--kubelet-client-certificate=" + crt, "--kubelet-client-key=" + key}, flags...)...)
	l.cmd.Env = append(os.Environ(), asServer+"=1")
	l.cmd.Stdout, l.cmd.Stderr = l.log, l.log
	component.EndWithParent(l.cmd)
	require.NoError(t, l.cmd.Start())
	go func() {
		_ = l.cmd.Wait()
		close(l.ended)
	}()
	t.Cleanup(func() {
		_ = l.cmd.Process.Kill()
		<-l.ended
	})
	l.http2 = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	l.front = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}, Timeout: 30 * time.Second}
	t.Cleanup(l.http2.CloseIdleConnections)
	l.until("the server is ready", func() bool { return l.code(l.front, "/readyz") == http.StatusOK })
	return l
}

func (l *live) until(what string, ok func() bool) {
	l.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		select {
		case <-l.ended:
			require.Fail(l.t, "the server ended before: "+what, l.log)
		case <-time.After(10 * time.Millisecond):
		}
		require.True(l.t, time.Now().Before(deadline), "never: %s", what)
	}
}

func (l *live) request(token, method, path, body string) *http.Request {
	req, err := http.NewRequestWithContext(context.Background(), method, "https://"+l.host+path, strings.NewReader(body))
	require.NoError(l.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	return req
}

// answer is the response to a request, or its error.
type answer struct {
	code   int
	header http.Header
	body   string
	err    error
}

func (l *live) ask(c *http.Client, token, method, path, body string) answer {
	resp, err := c.Do(l.request(token, method, path, body))
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return answer{code: resp.StatusCode, header: resp.Header, body: string(data), err: err}
}

func (l *live) must(code int, method, path, body string) answer {
	l.t.Helper()
	a := l.ask(l.http2, "admin", method, path, body)
	require.NoError(l.t, a.err)
	require.Equal(l.t, code, a.code, a.body)
	return a
}

func (l *live) code(c *http.Client, path string) int {
	return l.ask(c, "admin", http.MethodGet, path, "").code
}

// open requests a stream and returns its reader, which yields lines and then the error that ended the stream.
func (l *live) open(c *http.Client, path string) (lines *bufio.Reader) {
	l.t.Helper()
	resp, err := c.Do(l.request("admin", http.MethodGet, path, ""))
	require.NoError(l.t, err)
	l.t.Cleanup(func() { _ = resp.Body.Close() })
	require.Equal(l.t, http.StatusOK, resp.StatusCode)
	return bufio.NewReader(resp.Body)
}

// terminate sends SIGTERM.
func (l *live) terminate() {
	l.t.Helper()
	require.NoError(l.t, l.cmd.Process.Signal(syscall.SIGTERM))
}

// exits requires that the process ends soon with exit code 0.
func (l *live) exits() {
	l.t.Helper()
	select {
	case <-l.ended:
	case <-time.After(3 * time.Minute):
		require.Fail(l.t, "the server does not end", l.log)
	}
	require.Equal(l.t, 0, l.cmd.ProcessState.ExitCode(), l.log)
}

// holdingWebhook is an admission webhook that holds every ConfigMap named held-... until it is released.
type holdingWebhook struct {
	asked   chan string
	release chan struct{}
}

// hold registers a webhook that holds creates.
func (l *live) hold() *holdingWebhook {
	w := &holdingWebhook{asked: make(chan string, 10), release: make(chan struct{})}
	s := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct {
				UID, Name string
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&review)
		if strings.HasPrefix(review.Request.Name, "held-") {
			w.asked <- review.Request.Name
			select {
			case <-w.release:
			case <-r.Context().Done():
			}
		}
		fmt.Fprintf(rw, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":true}}`, review.Request.UID)
	}))
	l.t.Cleanup(s.Close)
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	l.must(201, http.MethodPost, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", fmt.Sprintf(`{"metadata":{"name":"hold"},"webhooks":[{
		"name":"hold.example.com","admissionReviewVersions":["v1"],"sideEffects":"None","timeoutSeconds":30,"clientConfig":{"url":%q,"caBundle":%q},
		"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}]}`, s.URL, bundle))
	return w
}

// create creates a ConfigMap and sends the response on the channel.
func (l *live) create(token, name string) <-chan answer {
	done := make(chan answer, 1)
	go func() {
		done <- l.ask(l.http2, token, http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
	}()
	return done
}

// held creates a ConfigMap and returns once the webhook holds it.
func (l *live) held(w *holdingWebhook, token, name string) <-chan answer {
	l.t.Helper()
	done := l.create(token, name)
	select {
	case <-w.asked:
	case a := <-done:
		require.Fail(l.t, "not held", "%+v", a)
	case <-time.After(time.Minute):
		require.Fail(l.t, "the webhook is not asked", l.log)
	}
	return done
}

func (l *live) receive(done <-chan answer) answer {
	l.t.Helper()
	select {
	case a := <-done:
		return a
	case <-time.After(time.Minute):
		require.Fail(l.t, "no answer", l.log)
		return answer{}
	}
}

// nodeWithPod registers a node whose kubelet is a fake, and a pod on it. The fake follows a log forever and
// echoes the data of streams.
func (l *live) nodeWithPod() {
	var streams sync.WaitGroup
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		streams.Add(1)
		defer streams.Done()
		if r.Header.Get("Upgrade") == "" {
			fmt.Fprintln(w, "a line")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		_, _ = io.Copy(conn, buffered)
	}))
	l.t.Cleanup(func() { s.CloseClientConnections(); s.Close(); streams.Wait() })
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(l.t, err)
	l.must(201, http.MethodPost, "/api/v1/nodes", `{"metadata":{"name":"n"}}`)
	l.must(200, http.MethodPut, "/api/v1/nodes/n/status", fmt.Sprintf(`{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],
		"daemonEndpoints":{"kubeletEndpoint":{"Port":%s}}}}`, port))
	l.must(201, http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"default"}}`)
	l.must(201, http.MethodPost, "/api/v1/namespaces/default/pods", `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"x"}]}}`)
}

// upgrade opens a stream through the server to the kubelet and returns its connection after one echo.
func (l *live) upgrade(subresource string, query url.Values) net.Conn {
	conn, err := tls.Dial("tcp", l.host, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	require.NoError(l.t, err)
	l.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(l.t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
	_, err = fmt.Fprintf(conn, "POST /api/v1/namespaces/default/pods/p/%s?%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer admin\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
		subresource, query.Encode(), l.host)
	require.NoError(l.t, err)
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	require.NoError(l.t, err)
	require.Equal(l.t, http.StatusSwitchingProtocols, resp.StatusCode)
	_, err = conn.Write([]byte("ping"))
	require.NoError(l.t, err)
	got := make([]byte, 4)
	_, err = io.ReadFull(r, got)
	require.NoError(l.t, err)
	require.Equal(l.t, "ping", string(got))
	return conn
}

// After SIGTERM the server is not ready at once but continues to serve for the delay, with the last policy;
// then requests in progress are finished, watches and streams end without an error, and the process exits
// with 0.
func TestTerminate(t *testing.T) {
	// The delay is time for ten requests on a busy machine: the test cannot end it.
	l := startLive(t, "--shutdown-delay-duration=10s", "--authorization-mode=RBAC")
	w := l.hold()
	l.nodeWithPod()
	watch := l.open(l.http2, configMaps+"?watch=1")
	shell := l.upgrade("exec", url.Values{"command": {"sh"}, "stdin": {"true"}})
	tunnel := l.upgrade("portforward", url.Values{"ports": {"80"}})
	logs := l.open(l.http2, "/api/v1/namespaces/default/pods/p/log?follow=true")
	line, err := logs.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "a line\n", line)
	forbidden := l.ask(l.front, "user", http.MethodGet, configMaps, "")
	require.Equal(t, http.StatusForbidden, forbidden.code, "%v %s", forbidden.err, l.log)
	slow := l.held(w, "admin", "held-1")

	l.terminate()
	l.until("readyz fails", func() bool { return l.code(l.front, "/readyz") == http.StatusInternalServerError })
	require.Equal(t, http.StatusOK, l.code(l.front, "/livez"))
	l.must(201, http.MethodPost, configMaps, `{"metadata":{"name":"late"}}`)
	l.must(201, http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
		`{"metadata":{"name":"u"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"user"}]}`)
	l.until("the new binding counts", func() bool { return l.ask(l.front, "user", http.MethodGet, configMaps, "").code == http.StatusOK })
	l.until("nothing listens", func() bool { return l.ask(l.front, "admin", http.MethodGet, "/livez", "").err != nil })
	select {
	case a := <-slow:
		require.Fail(t, "the request did not wait for the webhook", "%+v", a)
	case <-l.ended:
		require.Fail(t, "the server did not wait for the request", l.log)
	default:
	}
	close(w.release)
	got := l.receive(slow)
	require.NoError(t, got.err)
	require.Equal(t, http.StatusCreated, got.code, got.body)

	events, err := io.ReadAll(watch)
	require.NoError(t, err, "the watch ends, it does not break")
	require.Contains(t, string(events), `"late"`)
	require.True(t, strings.HasSuffix(string(events), "}\n"), "whole events only")
	for _, stream := range []net.Conn{shell, tunnel} {
		_, err = io.ReadAll(stream)
		require.NoError(t, err)
	}
	_, _ = io.ReadAll(logs) // ended by the server: a followed log does not end by itself
	l.exits()
	require.NotContains(t, l.log.String(), "level=ERROR")
}

// With --shutdown-send-retry-after new requests get 429 while others are still in progress.
func TestTerminateSendsClientsAway(t *testing.T) {
	l := startLive(t, "--shutdown-send-retry-after")
	w := l.hold()
	slow := l.held(w, "admin", "held-1")
	l.terminate()
	var got answer
	l.until("new requests are sent away", func() bool {
		got = l.ask(l.front, "admin", http.MethodGet, configMaps, "")
		require.NoError(t, got.err, l.log)
		return got.code == http.StatusTooManyRequests
	})
	require.Equal(t, "5", got.header.Get("Retry-After"))
	require.Contains(t, got.body, "shutting down")
	require.Equal(t, http.StatusInternalServerError, l.code(l.front, "/readyz"))
	require.Equal(t, http.StatusOK, l.code(l.front, "/livez"))
	close(w.release)
	require.Equal(t, http.StatusCreated, l.receive(slow).code)
	l.exits()
}

// Without priority and fairness as many writes and reads are served at a time as the flags say. Long requests
// do not count, and administrators are never refused.
func TestMaxInFlight(t *testing.T) {
	l := startLive(t, "--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=1", "--max-requests-inflight=1")
	w := l.hold()
	l.nodeWithPod()
	slow := l.held(w, "user", "held-1")
	got := l.receive(l.create("user", "too-many"))
	require.Equal(t, http.StatusTooManyRequests, got.code, got.body)
	require.Equal(t, "1", got.header.Get("Retry-After"))
	require.Equal(t, http.StatusCreated, l.receive(l.create("admin", "always")).code)
	for range 5 { // more than one at a time
		l.open(l.http2, configMaps+"?watch=1")
	}
	l.upgrade("exec", url.Values{"command": {"sh"}, "stdin": {"true"}})
	require.Equal(t, http.StatusOK, l.ask(l.http2, "user", http.MethodGet, configMaps, "").code, "reads are counted apart, long ones not at all")
	close(w.release)
	require.Equal(t, http.StatusCreated, l.receive(slow).code)
	require.Equal(t, http.StatusCreated, l.receive(l.create("user", "next")).code)
	l.terminate()
	l.exits()
}

// A request ends at its timeout; watches are long-running requests with their own timeout.
func TestTimes(t *testing.T) {
	// All requests have the timeout, also those that must not reach it.
	l := startLive(t, "--request-timeout=5s", "--min-request-timeout=2")
	w := l.hold()
	begun := time.Now()
	watch := l.open(l.http2, configMaps+"?watch=1")
	got := l.receive(l.held(w, "user", "held-1"))
	require.Equal(t, http.StatusGatewayTimeout, got.code, got.body)
	require.Contains(t, got.body, `"reason":"Timeout"`)
	_, err := io.ReadAll(watch)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begun), 2*time.Second)
	require.Equal(t, http.StatusNotFound, l.code(l.http2, configMaps+"/held-1"), "nothing was stored")
	close(w.release)
	l.terminate()
	l.exits()
}
