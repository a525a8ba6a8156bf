package schedulerconfig

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// extender is an Extender of the configuration.
type extender struct {
	URLPrefix        string             `json:"urlPrefix"`
	FilterVerb       string             `json:"filterVerb,omitempty"`
	PreemptVerb      string             `json:"preemptVerb,omitempty"`
	PrioritizeVerb   string             `json:"prioritizeVerb,omitempty"`
	Weight           int64              `json:"weight,omitempty"`
	BindVerb         string             `json:"bindVerb,omitempty"`
	EnableHTTPS      bool               `json:"enableHTTPS,omitempty"`
	TLSConfig        *extenderTLS       `json:"tlsConfig,omitempty"`
	HTTPTimeout      metav1.Duration    `json:"httpTimeout,omitempty"`
	NodeCacheCapable bool               `json:"nodeCacheCapable,omitempty"`
	ManagedResources []extenderResource `json:"managedResources,omitempty"`
	Ignorable        bool               `json:"ignorable,omitempty"`
}

type extenderResource struct {
	Name               string `json:"name"`
	IgnoredByScheduler bool   `json:"ignoredByScheduler,omitempty"`
}

type extenderTLS struct {
	Insecure   bool   `json:"insecure,omitempty"`
	ServerName string `json:"serverName,omitempty"`
	CertFile   string `json:"certFile,omitempty"`
	KeyFile    string `json:"keyFile,omitempty"`
	CAFile     string `json:"caFile,omitempty"`
	CertData   []byte `json:"certData,omitempty"`
	KeyData    []byte `json:"keyData,omitempty"`
	CAData     []byte `json:"caData,omitempty"`
}

// extenders are those of the file, with the resources that the plugins leave to them.
func (c *Configuration) extenders() (out []scheduler.Extender, ignored []string, err error) {
	binders, managed := 0, map[string]bool{}
	for i := range c.Extenders {
		e := &c.Extenders[i]
		x, err := e.build()
		if err != nil {
			return nil, nil, fmt.Errorf("extenders[%d].%w", i, err)
		}
		for j, r := range e.ManagedResources {
			switch {
			case !strings.Contains(r.Name, "/") || strings.HasPrefix(r.Name, "requests."):
				return nil, nil, fmt.Errorf("extenders[%d].managedResources[%d].name: %q: want the name of an extended resource", i, j, r.Name)
			case managed[r.Name]:
				return nil, nil, fmt.Errorf("extenders[%d].managedResources[%d].name: %q: it is managed already", i, j, r.Name)
			}
			managed[r.Name] = true
			x.Resources = append(x.Resources, corev1.ResourceName(r.Name))
			if r.IgnoredByScheduler {
				ignored = append(ignored, r.Name)
			}
		}
		if x.Bind != "" {
			binders++
		}
		out = append(out, x)
	}
	if binders > 1 {
		return nil, nil, fmt.Errorf("extenders: %d have a bindVerb: want at most one", binders)
	}
	return out, ignored, nil
}

func (e *extender) build() (x scheduler.Extender, err error) {
	switch {
	case e.URLPrefix == "":
		return x, errors.New("urlPrefix: required")
	case e.PrioritizeVerb != "" && e.Weight <= 0:
		return x, fmt.Errorf("weight: %d: want a positive number", e.Weight)
	case e.HTTPTimeout.Duration < 0:
		return x, fmt.Errorf("httpTimeout: %s: want no negative time", e.HTTPTimeout.Duration)
	}
	x = scheduler.Extender{URL: e.URLPrefix, Filter: e.FilterVerb, Prioritize: e.PrioritizeVerb, Preempt: e.PreemptVerb, Bind: e.BindVerb,
		Weight: e.Weight, Timeout: e.HTTPTimeout.Duration, NodeCacheCapable: e.NodeCacheCapable, Ignorable: e.Ignorable}
	t := http.DefaultTransport.(*http.Transport).Clone()
	if t.TLSClientConfig, err = e.tls(); err != nil {
		return x, fmt.Errorf("tlsConfig.%w", err)
	}
	x.Client = &http.Client{Transport: t}
	return x, nil
}

// tls is how the extender is reached. As upstream, enableHTTPS without a CA accepts any certificate.
func (e *extender) tls() (*tls.Config, error) {
	c := cmp.Or(e.TLSConfig, &extenderTLS{})
	unverified := c.Insecure || e.EnableHTTPS && c.CAFile == "" && len(c.CAData) == 0
	out := &tls.Config{ServerName: c.ServerName, InsecureSkipVerify: unverified}
	ca, err := either(c.CAData, c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("caFile: %w", err)
	}
	if len(ca) > 0 {
		if out.RootCAs = x509.NewCertPool(); !out.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("caFile, caData: no certificate in PEM form")
		}
	}
	cert, err := either(c.CertData, c.CertFile)
	if err != nil {
		return nil, fmt.Errorf("certFile: %w", err)
	}
	key, err := either(c.KeyData, c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("keyFile: %w", err)
	}
	if len(cert)+len(key) > 0 {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("certFile, keyFile: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// either returns the data, or what the file holds.
func either(data []byte, file string) ([]byte, error) {
	if len(data) > 0 || file == "" {
		return data, nil
	}
	return os.ReadFile(file)
}
