package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/component"
)

// halfFiles are files by the flags that name them, each as if writing it had been interrupted, with what else
// the flag needs and the line of a file that has lines.
var halfFiles = []struct{ flag, text, more, line string }{
	{"admission-control-config-file", "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n- nam: PodNode", "", "line 4"},
	{"authentication-config", authenticationHead + "jwt:\n- issuer: {url: https://a.test", "", "line"},
	{"authentication-config", authenticationHead + "jwt:\n- issuer: {url: https://a.test}", "", "line 4"},
	{"authorization-config", "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n- type: Web", "", "line 4"},
	{"authorization-policy-file", "{\"apiVersion\":\"abac.authorization.kubernetes.io/v1beta1\",\"kind\":\"Policy\",\"spec\":{\"user\":\"a\",\"namespace\":\"*\",\"resource\":\"*\",\"apiGroup\":\"*\"}}\n{\"apiVersion\"", "--authorization-mode=ABAC", "line 2"},
	{"authorization-webhook-config-file", "apiVersion: v1\nkind: Config\nclusters:\n- cluster: {server", "--authorization-mode=Webhook", ""},
	{"authentication-token-webhook-config-file", "apiVersion: v1\nkind: Config\nclusters: [", "", ""},
	{"audit-policy-file", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metad", "--audit-log-path=-", "line 4"},
	{"audit-webhook-config-file", "apiVersion: v1\nkind: Config\nclusters: [", "--audit-policy-file=../../docs/audit-policy.yaml", ""},
	{"encryption-provider-config", encryptionHead + "  - aescbc: {keys: [{name: a, secret: c2hvcnQ=}]}", "", "line 6"},
	{"tracing-config-file", "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nsamplingRatePerMill", "", ""},
	{"client-ca-file", "-----BEGIN CERTIFICATE-----\nMIIB", "", ""},
	{"requestheader-client-ca-file", "-----BEGIN CERTIFICATE-----\nMIIB", "--requestheader-username-headers=X-Remote-User", ""},
	{"service-account-key-file", "-----BEGIN PUBLIC KEY-----\nMIIB", "--service-account-issuer=https://a.test", ""},
	{"service-account-signing-key-file", "-----BEGIN EC PRIVATE KEY-----\nMIIB", "--service-account-issuer=https://a.test", ""},
	{"token-auth-file", "secret,admin,1\nother,us", "", "line 2"},
	{"kubelet-certificate-authority", "-----BEGIN CERTIFICATE-----\nMIIB", "", ""},
	{"kubelet-client-certificate", "-----BEGIN CERTIFICATE-----\nMIIB", "--kubelet-client-key=FILE", ""},
	{"proxy-client-cert-file", "-----BEGIN CERTIFICATE-----\nMIIB", "--proxy-client-key-file=FILE", ""},
	{"tls-cert-file", "-----BEGIN CERTIFICATE-----\nMIIB", "--tls-private-key-file=FILE", ""},
	{"tls-sni-cert-key", "-----BEGIN CERTIFICATE-----\nMIIB", "", ""},
	{"oidc-ca-file", "-----BEGIN CERTIFICATE-----\nMIIB", "--oidc-issuer-url=https://a.test --oidc-client-id=a", ""},
	{"etcd-cafile", "-----BEGIN CERTIFICATE-----\nMIIB", "--storage-backend=etcd3 --etcd-servers=https://127.0.0.1:1", ""},
}

// A file that is not whole ends the program with an error that names the flag, the file and, of a
// configuration, the line.
func TestHalfFilesRefuseTheStart(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes: -short")
	}
	for i, half := range halfFiles {
		file := filepath.Join(t.TempDir(), half.flag)
		require.NoError(t, os.WriteFile(file, []byte(half.text), 0o600))
		value := file
		if half.flag == "tls-sni-cert-key" {
			value += "," + file
		}
		key := "--generate-service-account-key"
		if strings.HasPrefix(half.flag, "service-account-signing") {
			key = "--v=0"
		}
		args := append([]string{"--storage-backend=memory", key, "--secure-port=6443", "--" + half.flag + "=" + value}, strings.Fields(strings.ReplaceAll(half.more, "FILE", file))...)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		cmd := exec.CommandContext(ctx, os.Args[0], args...)
		cmd.Env = append(os.Environ(), asServer+"=1")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		component.EndWithParent(cmd)
		require.Error(t, cmd.Run(), "%d %s", i, half.flag)
		require.NoError(t, ctx.Err(), "%s: it runs: %s", half.flag, &out)
		cancel()
		require.Contains(t, out.String(), file, half.flag)
		require.Contains(t, out.String(), half.line, half.flag)
	}
}
