// Package kubeconfig reads and writes kubeconfig files and returns the rest.Config of one of their contexts,
// or of the service account of the pod the program runs in.
//
//	cfg, err := kubeconfig.Load(kubeconfig.Options{})
//	conn, err := rest.New(cfg, rest.Options{})
//
// Files are found as kubectl does: Options.Path, else the list in $KUBECONFIG, else ~/.kube/config.
// Several files are merged: of two clusters, users or contexts of one name the first is used as a whole, and
// the first current-context that is set. Credentials that rotate (token files, certificates, exec plugins,
// OIDC) keep rotating in a connection made with the result.
//
// Errors are *[Error] and name the file and the field; they never contain a credential.
package kubeconfig

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Config is the content of a kubeconfig file (v1).
type Config struct {
	Kind           string           `json:"kind,omitempty"`
	APIVersion     string           `json:"apiVersion,omitempty"`
	Preferences    *Preferences     `json:"preferences,omitempty"`
	Clusters       []NamedCluster   `json:"clusters"`
	Users          []NamedUser      `json:"users"`
	Contexts       []NamedContext   `json:"contexts"`
	CurrentContext string           `json:"current-context"`
	Extensions     []NamedExtension `json:"extensions,omitempty"`
}

// Preferences are those of kubectl.
type Preferences struct {
	Colors     bool             `json:"colors,omitempty"`
	Extensions []NamedExtension `json:"extensions,omitempty"`
}

// NamedCluster is a cluster under its name.
type NamedCluster struct {
	Name    string  `json:"name"`
	Cluster Cluster `json:"cluster"`
}

// Cluster describes how to reach a server.
type Cluster struct {
	Server                   string           `json:"server"`
	TLSServerName            string           `json:"tls-server-name,omitempty"`
	InsecureSkipTLSVerify    bool             `json:"insecure-skip-tls-verify,omitempty"`
	CertificateAuthority     string           `json:"certificate-authority,omitempty"`
	CertificateAuthorityData []byte           `json:"certificate-authority-data,omitempty"`
	ProxyURL                 string           `json:"proxy-url,omitempty"`
	DisableCompression       bool             `json:"disable-compression,omitempty"`
	Extensions               []NamedExtension `json:"extensions,omitempty"`
}

// NamedUser is a user under its name.
type NamedUser struct {
	Name string `json:"name"`
	User User   `json:"user"`
}

// User holds the credentials of a user.
type User struct {
	ClientCertificate     string              `json:"client-certificate,omitempty"`
	ClientCertificateData []byte              `json:"client-certificate-data,omitempty"`
	ClientKey             string              `json:"client-key,omitempty"`
	ClientKeyData         []byte              `json:"client-key-data,omitempty"`
	Token                 string              `json:"token,omitempty"`
	TokenFile             string              `json:"tokenFile,omitempty"`
	Impersonate           string              `json:"as,omitempty"`
	ImpersonateUID        string              `json:"as-uid,omitempty"`
	ImpersonateGroups     []string            `json:"as-groups,omitempty"`
	ImpersonateExtra      map[string][]string `json:"as-user-extra,omitempty"`
	Username              string              `json:"username,omitempty"`
	Password              string              `json:"password,omitempty"`
	AuthProvider          *AuthProvider       `json:"auth-provider,omitempty"`
	Exec                  *Exec               `json:"exec,omitempty"`
	Extensions            []NamedExtension    `json:"extensions,omitempty"`
}

// AuthProvider is a built-in source of tokens; only oidc is supported.
type AuthProvider struct {
	Name   string            `json:"name"`
	Config map[string]string `json:"config"`
}

// Exec is a program that prints credentials.
type Exec struct {
	Command            string    `json:"command"`
	Args               []string  `json:"args"`
	Env                []ExecEnv `json:"env"`
	APIVersion         string    `json:"apiVersion,omitempty"`
	InstallHint        string    `json:"installHint,omitempty"`
	ProvideClusterInfo bool      `json:"provideClusterInfo"`
	// InteractiveMode is Never, IfAvailable or Always.
	InteractiveMode string `json:"interactiveMode,omitempty"`

	// dir is the directory of the file, to which a relative command is relative.
	dir string
}

// ExecEnv is an environment variable for the program.
type ExecEnv struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// NamedContext is a context under its name.
type NamedContext struct {
	Name    string  `json:"name"`
	Context Context `json:"context"`
}

// Context is a cluster, a user and a default namespace.
type Context struct {
	Cluster    string           `json:"cluster"`
	User       string           `json:"user"`
	Namespace  string           `json:"namespace,omitempty"`
	Extensions []NamedExtension `json:"extensions,omitempty"`
}

// NamedExtension holds data of other programs.
type NamedExtension struct {
	Name      string              `json:"name"`
	Extension metav1.RawExtension `json:"extension"`
}

// Error reports an invalid kubeconfig.
type Error struct {
	// Path of the file, if known.
	Path string
	// Field such as "users[admin].exec.command", if known.
	Field string
	// Err is the cause.
	Err error
}

// Error names the file, the field and the reason.
func (e *Error) Error() string {
	s := "kubeconfig: "
	if e.Path != "" {
		s += e.Path + ": "
	}
	if e.Field != "" {
		s += e.Field + ": "
	}
	return s + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func wrong(field, format string, args ...any) error {
	return &Error{Field: field, Err: fmt.Errorf(format, args...)}
}

// Cluster returns a cluster by name, or nil. It points into c.
func (c *Config) Cluster(name string) *Cluster {
	for i := range c.Clusters {
		if c.Clusters[i].Name == name {
			return &c.Clusters[i].Cluster
		}
	}
	return nil
}

// User returns a user by name, or nil. It points into c.
func (c *Config) User(name string) *User {
	for i := range c.Users {
		if c.Users[i].Name == name {
			return &c.Users[i].User
		}
	}
	return nil
}

// Context returns a context by name, or nil. It points into c.
func (c *Config) Context(name string) *Context {
	for i := range c.Contexts {
		if c.Contexts[i].Name == name {
			return &c.Contexts[i].Context
		}
	}
	return nil
}
