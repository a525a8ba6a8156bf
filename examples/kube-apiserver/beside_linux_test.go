package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/storetest"
)

// startPeerEtcd starts an etcd of one member and returns its client URL.
func startPeerEtcd(t *testing.T) string {
	t.Helper()
	client, between := "http://"+storetest.FreeAddress(t), "http://"+storetest.FreeAddress(t)
	runPeer(t, seeds.Peer(t, "etcd"), "--data-dir="+t.TempDir(), "--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+between, "--initial-advertise-peer-urls="+between, "--initial-cluster=default="+between, "--unsafe-no-fsync")
	return client
}

// startUpstream starts kube-apiserver over an etcd, a private one without --etcd-servers, with the tokens of
// startLive and no authorization. The flags come after those, so that they count.
func startUpstream(t *testing.T, flags ...string) *live {
	t.Helper()
	return startUpstreamAs(t, "", flags...)
}

// startUpstreamAs is startUpstream on a machine with another name, if that is not empty: servers of one
// machine have one identity.
func startUpstreamAs(t *testing.T, hostname string, flags ...string) *live {
	t.Helper()
	return startProgram(t, seeds.Peer(t, "kube-apiserver"), hostname, append([]string{"--service-cluster-ip-range=10.96.0.0/16", "--endpoint-reconciler-type=none"}, flags...)...)
}

// startProgram is startUpstreamAs with another server of Kubernetes.
func startProgram(t *testing.T, server, hostname string, flags ...string) *live {
	t.Helper()
	dir := t.TempDir()
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--etcd-servers=") }) {
		flags = append(flags, "--etcd-servers="+startPeerEtcd(t))
	}
	tokens := filepath.Join(dir, "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("admin,admin,1,\"system:masters\"\nuser,user,2\n"), 0o600))
	key := filepath.Join(dir, "key")
	ca, err := certs.NewAuthority("test")
	require.NoError(t, err)
	pair, err := ca.Client("signer")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(key, pair.KeyPEM(), 0o600))
	l := &live{t: t, host: storetest.FreeAddress(t)}
	_, port, err := net.SplitHostPort(l.host)
	require.NoError(t, err)
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--authorization-") }) {
		flags = append(flags, "--authorization-mode=AlwaysAllow")
	}
	var under []string
	if hostname != "" {
		under = []string{"--map-root-user", "--uts", "sh", "-c", `echo "$0" > /proc/sys/kernel/hostname && exec "$@"`, hostname, server}
		server = "unshare"
	}
	l.cmd, l.log, l.ended = runPeer(t, server, append(append(under, "--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+dir, "--token-auth-file="+tokens,
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+key,
		"--service-account-signing-key-file="+key), flags...)...)
	insecure := &tls.Config{InsecureSkipVerify: true}
	l.http2 = &http.Client{Transport: &http.Transport{TLSClientConfig: insecure, ForceAttemptHTTP2: true}, Timeout: time.Minute}
	l.front = &http.Client{Transport: &http.Transport{TLSClientConfig: insecure, DisableKeepAlives: true}, Timeout: time.Minute}
	t.Cleanup(l.http2.CloseIdleConnections)
	l.until("upstream's server is ready", func() bool { return l.code(l.front, "/readyz") == http.StatusOK })
	return l
}

// runPeer starts a program that ends with the test.
func runPeer(t *testing.T, name string, args ...string) (cmd *exec.Cmd, log *bytes.Buffer, ended chan struct{}) {
	t.Helper()
	log, ended = &bytes.Buffer{}, make(chan struct{})
	cmd = exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	component.EndWithParent(cmd)
	require.NoError(t, cmd.Start())
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	return cmd, log, ended
}

// verdict is the compared part of a response: whether and why a request was refused.
type verdict struct {
	Code            int
	Reason, Message string
}

func (l *live) verdict(method, path, body string, header ...string) verdict {
	l.t.Helper()
	req := l.request("admin", method, path, body)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := l.http2.Do(req)
	require.NoError(l.t, err, "%s %s", method, path)
	defer resp.Body.Close()
	v := verdict{Code: resp.StatusCode}
	var status struct{ Kind, Reason, Message string }
	if resp.StatusCode >= 400 && json.NewDecoder(resp.Body).Decode(&status) == nil && status.Kind == "Status" {
		v.Reason, v.Message = status.Reason, status.Message
	}
	return v
}

// TestConnectBeside compares the errors for pods that cannot be connected to: without a node, on a node that
// does not exist, with several containers, and without the requested container.
func TestConnectBeside(t *testing.T) {
	theirs := startUpstream(t)
	ours := startLive(t)
	both := func(method, path, body string) {
		t.Helper()
		for _, l := range []*live{theirs, ours} {
			v := l.verdict(method, path, body)
			require.Less(t, v.Code, 400, "%s %s: %v", method, path, v)
		}
	}
	const pods = "/api/v1/namespaces/default/pods"
	both("POST", "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"default"}}`)
	containers := map[string]string{
		"one": `"containers":[{"name":"a","image":"x"}]`, "two": `"containers":[{"name":"a","image":"x"},{"name":"b","image":"x"}]`,
		"init":  `"containers":[{"name":"a","image":"x"},{"name":"b","image":"x"}],"initContainers":[{"name":"i","image":"x"}]`,
		"first": `"containers":[{"name":"a","image":"x"}],"initContainers":[{"name":"i","image":"x"}]`,
	}
	names := []string{"none"}
	for name, spec := range containers {
		both("POST", pods, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{%s}}`, name, spec))
		both("POST", pods, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"nodeName":"ghost",%s}}`, "bound-"+name, spec))
		names = append(names, name, "bound-"+name)
	}
	reported := map[string]bool{}
	for _, name := range names {
		for _, sub := range []string{"log", "exec", "attach", "portforward", "proxy", "proxy/path"} {
			for _, query := range []string{"", "?container=a", "?container=i", "?container=x", "?command=true", "?tailLines=-1", "?tailLines=x", "?limitBytes=0", "?sinceTime=x", "?sinceSeconds=0", "?sinceSeconds=0&limitBytes=-1&tailLines=-1", "?follow=x", "?ports=70000", "?stream=Nope", "?sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z", "?ports=x", "?container=a&command=ls&stdout=true"} {
				for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH"} {
					if sub == "proxy/path" && query != "" {
						continue
					}
					path := pods + "/" + name + "/" + sub + query
					want, got := theirs.verdict(method, path, ""), ours.verdict(method, path, "")
					if want.Message == "address not allowed" && got.Code == 503 || want.Code == 405 && got.Code == 405 || want.Code == 404 && got.Code == 404 || strings.Contains(query, "stream=") && got.Code == 422 {
						continue // docs/differences.md
					}
					if kind := fmt.Sprintf("theirs %+v\n  ours   %+v", want, got); want != got && !reported[kind] {
						reported[kind] = true
						t.Errorf("%s %s\n  %s", method, path, kind)
					}
				}
			}
		}
	}
}

// TestRoutesBeside sends random requests to both servers and compares code and reason. What differs on
// purpose is in docs/differences.md.
func TestRoutesBeside(t *testing.T) {
	theirs := startUpstream(t)
	ours := startLive(t)
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "LIST", "WATCH", "TRACE"}
	roots := []string{"/api/v1", "/api/v1/watch", "/apis/apps/v1", "/apis/apps/v1/watch", "/apis/apps", "/apis/batch/v1", "/apis/rbac.authorization.k8s.io/v1", "/api", "/apis", "/api/v2", "/apis/nope/v1", "/version", "/openapi/v3", "/healthz", "/metrics", ""}
	resources := []string{"", "pods", "configmaps", "secrets", "nodes", "namespaces", "deployments", "jobs", "roles", "clusterroles", "nope", "Pods", "pods,secrets"}
	names := []string{"", "x", "default", "..", ".", "a%2Fb", "X_", "%00", strings.Repeat("n", 300)}
	subs := []string{"", "status", "scale", "log", "exec", "proxy", "nope", "finalize", "token", "binding", "eviction", "status/more"}
	queries := []string{"", "?watch=true&timeoutSeconds=1", "?limit=1", "?limit=-1", "?limit=x", "?continue=x", "?labelSelector=a%3D", "?labelSelector=%3D%3D", "?fieldSelector=metadata.name%3Dx", "?fieldSelector=nope%3Dx",
		"?resourceVersion=0", "?resourceVersion=x", "?resourceVersion=1&resourceVersionMatch=Exact", "?dryRun=All", "?dryRun=x", "?fieldManager=m", "?fieldValidation=Nope", "?pretty=true", "?timeout=1s", "?timeout=x", "?nope=1", "?gracePeriodSeconds=-1", "?propagationPolicy=Nope"}
	bodies := []string{"", "{}", "[]", "null", "{", `"x"`, `{"kind":"Nope","apiVersion":"v1"}`, `{"metadata":{"name":"x"}}`, `[{"op":"nope"}]`}
	types := []string{"application/json", "application/yaml", "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml", "text/plain", ""}
	accepts := []string{"", "application/json", "application/yaml", "text/html", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf"}
	differ := map[string]int{}
	for _, seed := range seeds.Of(t, 5000) {
		rng := seeds.Rand(seed)
		pick := func(of []string) string { return of[rng.IntN(len(of))] }
		path := pick(roots)
		if rng.IntN(2) == 0 {
			path += "/namespaces/" + pick(names)
		}
		for _, part := range []string{pick(resources), pick(names), pick(subs)} {
			if part != "" {
				path += "/" + part
			}
		}
		if path == "" {
			path = "/"
		}
		path += pick(queries)
		method, body := pick(methods), pick(bodies)
		header := []string{"Content-Type", pick(types), "Accept", pick(accepts)}
		want, got := theirs.verdict(method, path, body, header...), ours.verdict(method, path, body, header...)
		if want.Code == got.Code && (want.Reason == got.Reason || want.Reason == "") || deliberate(path, want, got) {
			continue
		}
		kind := fmt.Sprintf("%d %s / %d %s", want.Code, want.Reason, got.Code, got.Reason)
		if differ[kind]++; differ[kind] <= 3 {
			t.Errorf("seed %d: %s %s %v %s\n  theirs %+v\n  ours   %+v", seed, method, path, header, body, want, got)
		}
	}
	kinds := make([]string, 0, len(differ))
	for kind, n := range differ {
		kinds = append(kinds, fmt.Sprintf("%5d x %s", n, kind))
	}
	slices.Sort(kinds)
	t.Logf("differences, theirs / ours:\n%s", strings.Join(kinds, "\n"))
}

// deliberate reports whether a difference is one of docs/differences.md.
func deliberate(path string, theirs, ours verdict) bool {
	refused := ours.Code >= 400 && ours.Code < 500
	switch {
	case theirs.Code == 500: // an invalid request is the client's error
		return refused
	case theirs.Code == 404 && ours.Code == 404: // theirs is plain text for unknown paths, ours a Status
		return true
	case theirs.Code == 405 && ours.Code == 404: // an unknown path is not found, whatever the method
		return true
	// Names and durations are checked first.
	case ours.Code == 400 && (strings.Contains(path, "/.") || strings.Contains(path, "timeout=x")):
		return true
	case refused && theirs.Code >= 400 && strings.Contains(path, "//"): // empty segments are not skipped
		return true
	}
	return false
}
