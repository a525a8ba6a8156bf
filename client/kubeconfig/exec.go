package kubeconfig

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client/rest"
)

const (
	execGroup = "client.authentication.k8s.io/"
	// execExtension is the extension of a cluster that is passed to credential programs.
	execExtension = execGroup + "exec"
	// maxExecOutput is the maximum size of a program's output, in bytes.
	maxExecOutput = 1 << 20
)

// expiryMargin is how long before its expiry a credential is replaced.
const expiryMargin = 10 * time.Second

// fetched returns a credential that ends at a time, or never if that is zero.
func fetched(cred *rest.Credential, end time.Time) rest.Fetched {
	f := rest.Fetched{Credential: cred, Expires: end}
	if !end.IsZero() {
		f.RenewAt = end.Add(-expiryMargin)
	}
	return f
}

// execCredential is the input of a program (spec) and its output (status).
type execCredential struct {
	Kind       string      `json:"kind"`
	APIVersion string      `json:"apiVersion"`
	Spec       execSpec    `json:"spec"`
	Status     *execStatus `json:"status,omitempty"`
}

type execSpec struct {
	Cluster     *execCluster `json:"cluster,omitempty"`
	Interactive bool         `json:"interactive"`
}

type execCluster struct {
	Server                   string               `json:"server"`
	TLSServerName            string               `json:"tls-server-name,omitempty"`
	InsecureSkipTLSVerify    bool                 `json:"insecure-skip-tls-verify,omitempty"`
	CertificateAuthorityData []byte               `json:"certificate-authority-data,omitempty"`
	ProxyURL                 string               `json:"proxy-url,omitempty"`
	DisableCompression       bool                 `json:"disable-compression,omitempty"`
	Config                   *metav1.RawExtension `json:"config,omitempty"`
}

type execStatus struct {
	ExpirationTimestamp   *time.Time `json:"expirationTimestamp,omitempty"`
	Token                 string     `json:"token,omitempty"`
	ClientCertificateData string     `json:"clientCertificateData,omitempty"`
	ClientKeyData         string     `json:"clientKeyData,omitempty"`
}

// newExecSource checks a credential program's configuration and returns its source.
func newExecSource(e *Exec, field string, cluster *Cluster, allow func(string) error) (rest.CredentialSource, error) {
	if e.Command == "" {
		return nil, wrong(field+".command", "is empty")
	}
	switch e.APIVersion {
	case execGroup + "v1":
		if e.InteractiveMode == "" {
			return nil, wrong(field+".interactiveMode", "is needed with %s", e.APIVersion)
		}
	case execGroup + "v1beta1":
	case "":
		return nil, wrong(field+".apiVersion", "is empty")
	default:
		return nil, wrong(field+".apiVersion", "%q is not served; use %sv1", e.APIVersion, execGroup)
	}
	switch e.InteractiveMode {
	case "", "Never", "IfAvailable", "Always":
	default:
		return nil, wrong(field+".interactiveMode", "%q is not Never, IfAvailable or Always", e.InteractiveMode)
	}
	for i, v := range e.Env {
		if v.Name == "" {
			return nil, wrong(fmt.Sprintf("%s.env[%d].name", field, i), "is empty")
		}
	}
	command := e.Command
	if strings.ContainsRune(command, filepath.Separator) && !filepath.IsAbs(command) && e.dir != "" {
		command = filepath.Join(e.dir, command)
	}
	if allow != nil {
		if err := allow(command); err != nil {
			return nil, &Error{Field: field + ".command", Err: fmt.Errorf("%s may not be run: %w", command, err)}
		}
	}
	info, err := execInfo(e, cluster)
	if err != nil {
		return nil, &Error{Field: field, Err: err}
	}
	return rest.CacheCredentials(func(ctx context.Context, _ *rest.Credential) (rest.Fetched, error) {
		cred, end, err := e.run(ctx, command, info)
		if err != nil {
			return rest.Fetched{}, &Error{Field: field, Err: err}
		}
		return fetched(cred, end), nil
	}), nil
}

func execInfo(e *Exec, cluster *Cluster) ([]byte, error) {
	info := execCredential{Kind: "ExecCredential", APIVersion: e.APIVersion}
	info.Spec.Interactive = e.InteractiveMode != "Never" && terminal(os.Stdin)
	if e.ProvideClusterInfo {
		info.Spec.Cluster = &execCluster{
			Server: cluster.Server, TLSServerName: cluster.TLSServerName, InsecureSkipTLSVerify: cluster.InsecureSkipTLSVerify,
			CertificateAuthorityData: cluster.CertificateAuthorityData, ProxyURL: cluster.ProxyURL, DisableCompression: cluster.DisableCompression,
		}
		if cluster.CertificateAuthority != "" && len(cluster.CertificateAuthorityData) == 0 {
			b, err := os.ReadFile(cluster.CertificateAuthority)
			if err != nil {
				return nil, err
			}
			info.Spec.Cluster.CertificateAuthorityData = b
		}
		for _, x := range cluster.Extensions {
			if x.Name == execExtension {
				info.Spec.Cluster.Config = &x.Extension
			}
		}
	}
	return json.Marshal(info)
}

func terminal(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}

// run runs the program once.
func (e *Exec) run(ctx context.Context, command string, info []byte) (*rest.Credential, time.Time, error) {
	interactive := e.InteractiveMode != "Never" && terminal(os.Stdin)
	if e.InteractiveMode == "Always" && !interactive {
		return nil, time.Time{}, errors.New("the program needs a terminal, but standard input is none")
	}
	cmd := exec.CommandContext(ctx, command, e.Args...)
	cmd.Env = os.Environ()
	for _, v := range e.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Env = append(cmd.Env, "KUBERNETES_EXEC_INFO="+string(info))
	out := &limitedBuffer{max: maxExecOutput}
	cmd.Stdout = out
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = 5 * time.Second
	if interactive {
		cmd.Stdin = os.Stdin
	}
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			if e.InstallHint != "" {
				return nil, time.Time{}, fmt.Errorf("%w\n\n%s", err, e.InstallHint)
			}
		}
		return nil, time.Time{}, fmt.Errorf("run %s: %w", command, err)
	}
	return e.parse(out.buf.Bytes())
}

// parse parses the output of a program. No part of it appears in an error.
func (e *Exec) parse(b []byte) (*rest.Credential, time.Time, error) {
	var c execCredential
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, time.Time{}, errors.New("the program did not print an ExecCredential as JSON")
	}
	if c.Kind != "ExecCredential" || c.APIVersion != e.APIVersion {
		return nil, time.Time{}, fmt.Errorf("the program printed a %.64q %.64q, not an ExecCredential of %s", c.APIVersion, c.Kind, e.APIVersion)
	}
	s := c.Status
	if s == nil || s.Token == "" && s.ClientCertificateData == "" && s.ClientKeyData == "" {
		return nil, time.Time{}, errors.New("the program printed neither a token nor a certificate")
	}
	if (s.ClientCertificateData == "") != (s.ClientKeyData == "") {
		return nil, time.Time{}, errors.New("the program printed a certificate without a key or the other way round")
	}
	cred := &rest.Credential{Token: s.Token}
	var end time.Time
	if s.ExpirationTimestamp != nil {
		end = *s.ExpirationTimestamp
	}
	if s.ClientCertificateData != "" {
		pair, err := tls.X509KeyPair([]byte(s.ClientCertificateData), []byte(s.ClientKeyData))
		if err != nil {
			return nil, time.Time{}, errors.New("the program printed a certificate and a key that do not match")
		}
		cred.Certificate = &pair
	}
	return cred, end, nil
}

// limitedBuffer keeps the start of what is written to it.
type limitedBuffer struct {
	buf bytes.Buffer
	max int
}

// Write implements io.Writer.
func (l *limitedBuffer) Write(p []byte) (int, error) {
	if room := l.max - l.buf.Len(); room > 0 {
		l.buf.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
