package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/builtin"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/examples/internal/flagtest"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/storetest"
)

// Every flag of kube-controller-manager is known, and docs/kube-controller-manager-flags.md says what becomes
// of it.
func TestEveryFlagIsKnown(t *testing.T) {
	_, f, err := newOptions()
	require.NoError(t, err)
	flagtest.Check(t, f)
}

// completed parses a command line and reads the files that it names.
func completed(args ...string) (*options, error) {
	o, err := parse(args)
	if err != nil {
		return nil, err
	}
	return o, o.complete()
}

// add adds the controllers of a command line to a manager.
func add(t *testing.T, o *options) error {
	conn, err := rest.New(rest.Config{Host: "http://127.0.0.1:1"}, rest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return builtin.Add(manager.New(conn, manager.Options{}), o.builtin)
}

// The command line that kubeadm 1.36 writes into the manifest of kube-controller-manager is complete.
func TestFlagsOfKubeadm(t *testing.T) {
	dir := t.TempDir()
	ca, err := certs.NewAuthority("kubernetes")
	require.NoError(t, err)
	pair, err := ca.Serving("sa", "sa", "127.0.0.1")
	require.NoError(t, err)
	for name, data := range map[string][]byte{"ca.crt": ca.CertPEM(), "ca.key": ca.KeyPEM(), "sa.key": pair.KeyPEM()} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	text, err := os.ReadFile("testdata/kubeadm-args.txt")
	require.NoError(t, err)
	o, err := completed(strings.Fields(strings.ReplaceAll(string(text), "/etc/kubernetes/pki", dir))...)
	require.NoError(t, err)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}, o.builtin.NodeIPAM.ClusterCIDRs)
	require.NotNil(t, o.builtin.Signing.Cert)
	require.NotNil(t, o.builtin.TokenKey)
	require.True(t, o.ownAccounts)
	require.NoError(t, add(t, o))
}

// A signer may have an authority of its own; then the others have none, or their own ones.
func TestAuthoritiesOfSigners(t *testing.T) {
	dir := t.TempDir()
	var args []string
	made := map[string]*certs.Authority{}
	for _, name := range []string{"kubelet-serving", "kube-apiserver-client", "all"} {
		ca, err := certs.NewAuthority(name)
		require.NoError(t, err)
		made[name] = ca
		for kind, data := range map[string][]byte{"cert": ca.CertPEM(), "key": ca.KeyPEM()} {
			file := filepath.Join(dir, name+"-"+kind)
			require.NoError(t, os.WriteFile(file, data, 0o600))
			if name != "all" {
				args = append(args, "--cluster-signing-"+name+"-"+kind+"-file="+file)
			}
		}
	}
	o, err := completed(args...)
	require.NoError(t, err)
	own := o.builtin.Signing.Authorities
	require.Len(t, own, 2)
	require.Equal(t, made["kubelet-serving"].Cert.Raw, own[certificatesv1.KubeletServingSignerName].Cert.Raw)
	require.Equal(t, made["kube-apiserver-client"].Cert.Raw, own[certificatesv1.KubeAPIServerClientSignerName].Cert.Raw)
	require.NoError(t, add(t, o))
	for why, more := range map[string][]string{
		"at the same time": {"--cluster-signing-cert-file=" + filepath.Join(dir, "all-cert"), "--cluster-signing-key-file=" + filepath.Join(dir, "all-key")},
		"--cluster-signing-kubelet-client-cert-file and --cluster-signing-kubelet-client-key-file": {"--cluster-signing-kubelet-client-cert-file=" + filepath.Join(dir, "all-cert")},
		"takes no requests to the signer": {"--cluster-signing-legacy-unknown-cert-file=x"},
	} {
		_, err := completed(slices.Concat(args, more)...)
		require.ErrorContains(t, err, why)
	}
}

func TestFlags(t *testing.T) {
	o, err := completed("--concurrent-job-syncs=9", "--enable-garbage-collector=false", "--terminated-pod-gc-threshold=0", "--enable-dynamic-provisioning=false",
		"--profiling=false", "--controller-shutdown-timeout=3s", "--allocate-node-cidrs", "--cluster-cidr=10.0.0.0/16,fd00::/48", "--node-cidr-mask-size-ipv4=26", "--cloud-provider=external")
	require.NoError(t, err)
	require.Equal(t, 9, o.builtin.Concurrency["job-controller"])
	require.Equal(t, 2, o.builtin.Concurrency["daemonset-controller"])
	require.Equal(t, []string{"*", "-garbage-collector-controller"}, o.builtin.Controllers)
	require.Equal(t, -1, o.builtin.TerminatedPods)
	require.True(t, o.builtin.VolumeBinder.WithoutProvisioning)
	require.True(t, o.NoProfiling)
	require.Equal(t, 26, o.builtin.NodeIPAM.MaskSizeIPv4)
	require.NoError(t, add(t, o))
	for args, why := range map[string]string{
		"--concurrent-job-syncs=0":                         "want a positive number",
		"--concurrent-job-syncs=4x":                        "want a positive number",
		"--allocate-node-cidrs":                            "needs --cluster-cidr",
		"--allocate-node-cidrs --cluster-cidr=10.0.0.0/99": "--cluster-cidr",
		"--allocate-node-cidrs --cluster-cidr=10.0.0.0/16 --node-cidr-mask-size-ipv6=64": "are for two families",
		"--cloud-provider=somewhere":        "no cloud provider is built in",
		"--cloud-config=x":                  "no cloud provider is built in",
		"--root-ca-file=/nowhere":           "--root-ca-file",
		"--leader-elect-resource-lock=maps": "the lock is a Lease",
		"--concurrent-jobs-syncs=3":         "concurrent-job-syncs",
	} {
		_, err := completed(strings.Fields(args)...)
		require.ErrorContains(t, err, why, args)
	}
}

// The program that runs against an API server has a health check for each of its controllers.
func TestHealthOfControllers(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	address := storetest.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	o, err := completed("--kubeconfig", c.Kubeconfig(), "--secure-port="+port, "--controllers=deployment,garbagecollector")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- o.start(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-done)
	}()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer web.CloseIdleConnections()
	read := func(path string) (int, string) {
		resp, err := web.Get("https://" + address + path)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return 0, err.Error()
		}
		return resp.StatusCode, string(body)
	}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		code, text := read("/healthz?verbose")
		require.Equal(t, 200, code, text)
		require.Contains(t, text, "[+]deployment-controller ok\n[+]garbage-collector-controller ok\n")
	}, time.Minute, 10*time.Millisecond)
	for path, want := range map[string]int{"/healthz/deployment-controller": 200, "/healthz/garbage-collector-controller": 200, "/healthz/job-controller": 404} {
		code, text := read(path)
		require.Equal(t, want, code, "%s: %s", path, text)
	}
}
