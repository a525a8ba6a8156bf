package kubeconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
)

// Parse parses the content of a file. Paths in it are not changed.
func Parse(b []byte) (*Config, error) {
	var c Config
	if err := yaml.Unmarshal(b, &c); err != nil {
		return nil, &Error{Err: fmt.Errorf("not a kubeconfig: %w", err)}
	}
	if c.Kind != "" && c.Kind != "Config" {
		return nil, wrong("kind", "want Config, not %q", c.Kind)
	}
	if c.APIVersion != "" && c.APIVersion != "v1" {
		return nil, wrong("apiVersion", "want v1, not %q", c.APIVersion)
	}
	if p := c.Preferences; p != nil && !p.Colors && len(p.Extensions) == 0 {
		c.Preferences = nil
	}
	for i := range c.Users {
		// The default of the older protocol, made explicit.
		if x := c.Users[i].User.Exec; x != nil && x.InteractiveMode == "" && x.APIVersion == execGroup+"v1beta1" {
			x.InteractiveMode = "IfAvailable"
		}
	}
	return &c, nil
}

// LoadFile reads a file and makes the relative paths in it absolute. The error for a file that does not exist
// wraps fs.ErrNotExist.
func LoadFile(path string) (*Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, &Error{Path: path, Err: err}
	}
	c, err := Parse(b)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			e.Path = path
		}
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, &Error{Path: path, Err: err}
	}
	c.resolve(dir)
	return c, nil
}

func (c *Config) resolve(dir string) {
	abs := func(p *string) {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	for i := range c.Clusters {
		abs(&c.Clusters[i].Cluster.CertificateAuthority)
	}
	for i := range c.Users {
		u := &c.Users[i].User
		abs(&u.ClientCertificate)
		abs(&u.ClientKey)
		abs(&u.TokenFile)
		if u.Exec != nil {
			u.Exec.dir = dir
		}
	}
}

// Paths returns the files kubectl reads: those of the list in $KUBECONFIG, else ~/.kube/config.
func Paths() []string {
	if list := os.Getenv("KUBECONFIG"); list != "" {
		paths := filepath.SplitList(list)
		paths = slices.DeleteFunc(paths, func(p string) bool { return p == "" })
		seen := map[string]bool{}
		return slices.DeleteFunc(paths, func(p string) bool {
			dup := seen[p]
			seen[p] = true
			return dup
		})
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	return []string{filepath.Join(home, ".kube", "config")}
}

// LoadPaths reads and merges files. Files that do not exist are skipped.
func LoadPaths(paths []string) (*Config, error) {
	var cs []*Config
	for _, p := range paths {
		c, err := LoadFile(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		cs = append(cs, c)
	}
	return Merge(cs...), nil
}

// Merge merges configurations; of equal entries the first is used. Entries are ordered by name.
func Merge(cs ...*Config) *Config {
	out := &Config{Kind: "Config", APIVersion: "v1", Clusters: []NamedCluster{}, Users: []NamedUser{}, Contexts: []NamedContext{}}
	for _, c := range cs {
		if out.CurrentContext == "" {
			out.CurrentContext = c.CurrentContext
		}
		if out.Preferences == nil {
			out.Preferences = c.Preferences
		}
		out.Clusters = merge(out.Clusters, c.Clusters, func(n NamedCluster) string { return n.Name })
		out.Users = merge(out.Users, c.Users, func(n NamedUser) string { return n.Name })
		out.Contexts = merge(out.Contexts, c.Contexts, func(n NamedContext) string { return n.Name })
		out.Extensions = merge(out.Extensions, c.Extensions, func(n NamedExtension) string { return n.Name })
	}
	return out
}

func merge[N any](into, from []N, name func(N) string) []N {
	for _, n := range from {
		if !slices.ContainsFunc(into, func(o N) bool { return name(o) == name(n) }) {
			into = append(into, n)
		}
	}
	slices.SortStableFunc(into, func(a, b N) int { return cmp.Compare(name(a), name(b)) })
	return into
}

// Minify returns the part of c that a context uses; empty means the current one.
func (c *Config) Minify(context string) (*Config, error) {
	if context == "" {
		context = c.CurrentContext
	}
	ctx := c.Context(context)
	if ctx == nil {
		return nil, wrong("contexts", "there is no context %q", context)
	}
	out := &Config{Kind: "Config", APIVersion: "v1", Preferences: c.Preferences, CurrentContext: context}
	out.Contexts = []NamedContext{{context, *ctx}}
	if cl := c.Cluster(ctx.Cluster); cl != nil {
		out.Clusters = []NamedCluster{{ctx.Cluster, *cl}}
	}
	if u := c.User(ctx.User); u != nil {
		out.Users = []NamedUser{{ctx.User, *u}}
	}
	return out, nil
}

// Flatten replaces the paths of certificates and keys by the content of the files. Token files are not
// replaced, since they rotate.
func (c *Config) Flatten() error {
	embed := func(path *string, data *[]byte, field string) error {
		if *path == "" || len(*data) > 0 {
			*path = ""
			return nil
		}
		b, err := os.ReadFile(*path)
		if err != nil {
			return &Error{Path: *path, Field: field, Err: err}
		}
		*path, *data = "", b
		return nil
	}
	var errs []error
	for i := range c.Clusters {
		cl := &c.Clusters[i]
		errs = append(errs, embed(&cl.Cluster.CertificateAuthority, &cl.Cluster.CertificateAuthorityData, "clusters["+cl.Name+"].certificate-authority"))
	}
	for i := range c.Users {
		u := &c.Users[i]
		errs = append(errs,
			embed(&u.User.ClientCertificate, &u.User.ClientCertificateData, "users["+u.Name+"].client-certificate"),
			embed(&u.User.ClientKey, &u.User.ClientKeyData, "users["+u.Name+"].client-key"))
	}
	return errors.Join(errs...)
}

// Marshal returns c as YAML.
func (c *Config) Marshal() ([]byte, error) {
	out := *c
	out.Kind, out.APIVersion = "Config", "v1"
	if out.Clusters == nil {
		out.Clusters = []NamedCluster{}
	}
	if out.Users == nil {
		out.Users = []NamedUser{}
	}
	if out.Contexts == nil {
		out.Contexts = []NamedContext{}
	}
	return yaml.Marshal(out)
}

// WriteFile writes c to a file with mode 0600, atomically.
func (c *Config) WriteFile(path string) error {
	b, err := c.Marshal()
	if err != nil {
		return &Error{Path: path, Err: err}
	}
	if err := atomicfile.Write(path, b); err != nil {
		return &Error{Path: path, Err: err}
	}
	return nil
}
