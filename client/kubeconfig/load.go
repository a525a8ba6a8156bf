package kubeconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
)

// ErrNoConfig reports that there is neither a file nor a service account.
var ErrNoConfig = errors.New("no configuration found: set KUBECONFIG, write ~/.kube/config, or run in a pod with a service account")

// Options choose what is loaded. The zero value is what kubectl uses.
type Options struct {
	// Path of the only file to read; it must exist.
	Path string
	// Paths to merge if Path is empty; nil means Paths().
	Paths []string
	// Context to use; empty means the current one.
	Context string
	// Cluster and User to use instead of the context's.
	Cluster, User string
	// NoInCluster returns an error if no file is found, instead of using the pod's service account.
	NoInCluster bool
	// AllowExec, if not nil, is called with the path of a credential program before it is run; an error
	// refuses it.
	AllowExec func(command string) error
	// Edit, if not nil, changes the result before it is validated, as command line flags do.
	Edit func(cluster *Cluster, user *User)
	// Persist is called with refreshed OIDC tokens, to store them; nil writes them to the file that contains
	// the user.
	Persist func(user string, config map[string]string) error
}

// Load finds, reads and merges the files and returns the configuration of a context.
func Load(opts Options) (rest.Config, error) {
	c, err := opts.read()
	if err != nil {
		return rest.Config{}, err
	}
	if len(c.Clusters)+len(c.Contexts)+len(c.Users) == 0 && c.CurrentContext == "" && opts.Context == "" && opts.Cluster == "" {
		if !opts.NoInCluster {
			cfg, err := InCluster()
			if err == nil || !errors.Is(err, ErrNoConfig) {
				return cfg, err
			}
		}
		if opts.Path != "" {
			return rest.Config{}, &Error{Path: opts.Path, Err: fmt.Errorf("it is empty: %w", ErrNoConfig)}
		}
		return rest.Config{}, &Error{Err: ErrNoConfig}
	}
	return c.REST(opts)
}

func (o *Options) read() (*Config, error) {
	if o.Path != "" {
		c, err := LoadFile(o.Path)
		if err != nil {
			return nil, err
		}
		return Merge(c), nil
	}
	paths := o.Paths
	if paths == nil {
		paths = Paths()
	}
	return LoadPaths(paths)
}

// Namespace returns the default namespace: that of the context, or of the pod, or "default".
func Namespace(opts Options) (string, error) {
	c, err := opts.read()
	if err != nil {
		return "", err
	}
	name := opts.Context
	if name == "" {
		name = c.CurrentContext
	}
	if ctx := c.Context(name); ctx != nil {
		if ctx.Namespace != "" {
			return ctx.Namespace, nil
		}
		return "default", nil
	}
	if b, err := os.ReadFile(serviceAccount + "namespace"); err == nil && len(b) > 0 && !opts.NoInCluster {
		return strings.TrimSpace(string(b)), nil
	}
	return "default", nil
}

// REST returns the configuration of one of c's contexts. Options.Path and Paths are not read.
func (c *Config) REST(opts Options) (rest.Config, error) {
	name := opts.Context
	if name == "" {
		name = c.CurrentContext
	}
	var ctx Context
	if name != "" {
		found := c.Context(name)
		if found == nil {
			return rest.Config{}, wrong("contexts", "there is no context %q", name)
		}
		ctx = *found
	}
	if opts.Cluster != "" {
		ctx.Cluster = opts.Cluster
	}
	if opts.User != "" {
		ctx.User = opts.User
	}
	if ctx.Cluster == "" {
		return rest.Config{}, wrong("current-context", "no context is chosen")
	}
	clusterField := "clusters[" + ctx.Cluster + "]"
	found := c.Cluster(ctx.Cluster)
	if found == nil {
		return rest.Config{}, wrong("clusters", "there is no cluster %q", ctx.Cluster)
	}
	cluster, user := *found, User{}
	if ctx.User != "" {
		found := c.User(ctx.User)
		if found == nil {
			return rest.Config{}, wrong("users", "there is no user %q", ctx.User)
		}
		user = *found
	}
	if opts.Edit != nil {
		opts.Edit(&cluster, &user)
	}
	if cluster.Server == "" {
		return rest.Config{}, wrong(clusterField+".server", "is empty")
	}
	cfg := rest.Config{
		Host: cluster.Server,
		TLS: rest.TLSConfig{
			ServerName: cluster.TLSServerName, Insecure: cluster.InsecureSkipTLSVerify,
			CAFile: cluster.CertificateAuthority, CAData: cluster.CertificateAuthorityData,
		},
		Compression: !cluster.DisableCompression,
	}
	if len(cfg.TLS.CAData) > 0 {
		// Here data has precedence over a file, unlike in rest.TLSConfig.
		cfg.TLS.CAFile = ""
	}
	if cfg.TLS.Insecure {
		if cfg.TLS.CAFile != "" || len(cfg.TLS.CAData) > 0 {
			return rest.Config{}, wrong(clusterField+".insecure-skip-tls-verify", "excludes a certificate authority")
		}
	}
	if cluster.ProxyURL != "" {
		u, err := url.Parse(cluster.ProxyURL)
		if err != nil {
			return rest.Config{}, wrong(clusterField+".proxy-url", "is not a URL")
		}
		switch u.Scheme {
		case "http", "https", "socks5", "socks5h":
		default:
			return rest.Config{}, wrong(clusterField+".proxy-url", "the scheme %q is not http, https or socks5", u.Scheme)
		}
		cfg.Proxy = http.ProxyURL(u)
	}
	if err := user.apply(&cfg, "users["+ctx.User+"]", ctx.User, &cluster, &opts); err != nil {
		return rest.Config{}, err
	}
	return cfg, nil
}

// apply adds a user's credentials.
func (u *User) apply(cfg *rest.Config, field, name string, cluster *Cluster, opts *Options) error {
	t := &cfg.TLS
	t.CertFile, t.CertData, t.KeyFile, t.KeyData = u.ClientCertificate, u.ClientCertificateData, u.ClientKey, u.ClientKeyData
	if len(t.CertData) > 0 {
		t.CertFile = ""
	}
	if len(t.KeyData) > 0 {
		t.KeyFile = ""
	}
	hasCert, hasKey := t.CertFile != "" || len(t.CertData) > 0, t.KeyFile != "" || len(t.KeyData) > 0
	if hasCert != hasKey {
		return wrong(field, "a client certificate needs a key and the other way round")
	}
	if u.Token != "" || u.TokenFile != "" {
		if u.Username != "" {
			return wrong(field, "a token and a user name exclude each other")
		}
		cfg.BearerToken, cfg.BearerTokenFile = u.Token, u.TokenFile
	}
	cfg.Username, cfg.Password = u.Username, u.Password
	if u.Impersonate != "" {
		cfg.Impersonate = &client.User{Name: u.Impersonate, UID: u.ImpersonateUID, Groups: u.ImpersonateGroups, Extra: u.ImpersonateExtra}
	} else if u.ImpersonateUID != "" || len(u.ImpersonateGroups) > 0 || len(u.ImpersonateExtra) > 0 {
		return wrong(field+".as", "is needed to act as a uid, groups or with extra attributes")
	}
	if u.Exec != nil && u.AuthProvider != nil {
		return wrong(field, "exec and auth-provider exclude each other")
	}
	if u.Exec != nil {
		src, err := newExecSource(u.Exec, field+".exec", cluster, opts.AllowExec)
		if err != nil {
			return err
		}
		cfg.Credentials = src
	}
	if p := u.AuthProvider; p != nil {
		switch p.Name {
		case "oidc":
			src, err := newOIDC(p.Config, field+".auth-provider", func(config map[string]string) error { return opts.persist(name, config) })
			if err != nil {
				return err
			}
			cfg.Credentials = src
		case "gcp", "azure":
			return wrong(field+".auth-provider", "%s is no longer built in; use the exec plugin %s instead", p.Name, map[string]string{"gcp": "gke-gcloud-auth-plugin", "azure": "kubelogin"}[p.Name])
		default:
			return wrong(field+".auth-provider", "there is no provider %q", p.Name)
		}
	}
	return nil
}

// persist writes refreshed tokens of a user to the file that contains it.
func (o *Options) persist(user string, config map[string]string) error {
	if o.Persist != nil {
		return o.Persist(user, config)
	}
	paths := o.Paths
	if o.Path != "" {
		paths = []string{o.Path}
	} else if paths == nil {
		paths = Paths()
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return &Error{Path: p, Err: err}
		}
		c, err := Parse(b)
		if err != nil {
			return err
		}
		if u := c.User(user); u != nil && u.AuthProvider != nil {
			u.AuthProvider.Config = config
			return c.WriteFile(p)
		}
	}
	return nil
}

// serviceAccount is the directory of a pod's credentials.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// InCluster returns the configuration of the service account of the pod the program runs in. Outside a pod
// the error wraps ErrNoConfig.
func InCluster() (rest.Config, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return rest.Config{}, &Error{Err: fmt.Errorf("%w (KUBERNETES_SERVICE_HOST is not set)", ErrNoConfig)}
	}
	if _, err := os.Stat(serviceAccount + "token"); err != nil {
		return rest.Config{}, &Error{Path: serviceAccount + "token", Err: err}
	}
	return rest.Config{
		Host:            "https://" + net.JoinHostPort(host, port),
		TLS:             rest.TLSConfig{CAFile: serviceAccount + "ca.crt"},
		BearerTokenFile: serviceAccount + "token",
	}, nil
}
