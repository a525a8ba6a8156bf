package encryption

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/internal/configfile"
)

// Configuration is the file EncryptionConfiguration of apiserver.config.k8s.io/v1. It has keys: do not log
// it.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`
	// Resources of which the first entry that names a resource applies to it.
	Resources []ResourceConfiguration `json:"resources"`
}

// ResourceConfiguration is how some resources are stored.
type ResourceConfiguration struct {
	// Resources such as secrets, deployments.apps, *.apps, *. for the core group, or *.* for all.
	Resources []string `json:"resources"`
	// Providers of which the first encrypts, and all decrypt.
	Providers []ProviderConfiguration `json:"providers"`
}

// ProviderConfiguration is one provider: exactly one field is set.
type ProviderConfiguration struct {
	AESGCM    *Keys             `json:"aesgcm,omitempty"`
	AESCBC    *Keys             `json:"aescbc,omitempty"`
	Secretbox *Keys             `json:"secretbox,omitempty"`
	Identity  *Identity         `json:"identity,omitempty"`
	KMS       *KMSConfiguration `json:"kms,omitempty"`
}

// Keys are the keys of a provider, of which the first encrypts, and all decrypt.
type Keys struct {
	Keys []Key `json:"keys"`
}

// Key is a named key.
type Key struct {
	Name string `json:"name"`
	// Secret is the key in base64: 16, 24 or 32 bytes for AES, 32 for secretbox.
	Secret string `json:"secret"`
}

// Identity is the provider that stores values as they are.
type Identity struct{}

// KMSConfiguration is a key management service, which is a plugin at a Unix socket.
type KMSConfiguration struct {
	// APIVersion of the plugin, which must be v2.
	APIVersion string `json:"apiVersion"`
	// Name is a part of stored values.
	Name string `json:"name"`
	// CacheSize must not be set: it belongs to version v1.
	CacheSize *int32 `json:"cachesize,omitempty"`
	// Endpoint is unix:///PATH, or unix:///@NAME for an abstract socket.
	Endpoint string `json:"endpoint"`
	// Timeout of a call; nil means 3s.
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

var configurationKind = configfile.Kind{Kind: "EncryptionConfiguration", Versions: []string{"apiserver.config.k8s.io/v1"}}

// ParseConfiguration reads a Configuration, YAML or JSON. Unknown and repeated fields are errors; errors name
// line and field, and never have a key in them.
func ParseConfiguration(data []byte) (*Configuration, error) {
	c := &Configuration{}
	if err := configfile.Read(data, configurationKind, c, c.validate); err != nil {
		return nil, fmt.Errorf("encryption: %w", err)
	}
	return c, nil
}

func (c *Configuration) validate() (errs validation.ErrorList) {
	root := validation.NewPath("resources")
	if len(c.Resources) == 0 {
		return validation.ErrorList{validation.Required(root, "at least one resources is required")}
	}
	masked := map[schema.GroupResource]bool{}
	for i := range c.Resources {
		r := &c.Resources[i]
		p := root.Index(i)
		errs = append(errs, validateResources(r.Resources, p.Child("resources"), masked)...)
		if len(r.Providers) == 0 {
			errs = append(errs, validation.Required(p.Child("providers"), "at least one provider is required"))
		}
		for j := range r.Providers {
			errs = append(errs, r.Providers[j].validate(p.Child("providers").Index(j))...)
		}
	}
	return append(errs, c.uniqueNames()...)
}

// anything is *.*.
var anything = schema.GroupResource{Group: "*", Resource: "*"}

// parseResource reads secrets, deployments.apps, *.apps, *. or *.*.
func parseResource(text string) schema.GroupResource {
	resource, group, _ := strings.Cut(text, ".")
	return schema.GroupResource{Group: group, Resource: resource}
}

// validateResources checks a list of resources. masked are those of earlier entries.
func validateResources(list []string, p *validation.Path, masked map[schema.GroupResource]bool) (errs validation.ErrorList) {
	if len(list) == 0 {
		errs = append(errs, validation.Required(p, "at least one resource is required"))
	}
	seen := map[schema.GroupResource]bool{}
	for i, text := range list {
		gr, at := parseResource(text), p.Index(i)
		group := schema.GroupResource{Group: gr.Group, Resource: "*"}
		switch {
		case strings.ToLower(text) != text:
			errs = append(errs, validation.Invalid(at, text, "resource name should not contain capital letters"))
		case text == "*":
			errs = append(errs, validation.Invalid(at, text, "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"))
		case gr.Resource == "" || strings.Contains(text, "/"):
			errs = append(errs, validation.Invalid(at, text, "want RESOURCE or RESOURCE.GROUP"))
		case slices.Contains([]string{"apiserveripinfo", "serviceipallocations", "servicenodeportallocations"}, text):
			errs = append(errs, validation.Invalid(at, text, "resources which do not have REST API/s cannot be encrypted"))
		case gr.Group == "events.k8s.io":
			errs = append(errs, validation.Invalid(at, text, "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file"))
		case gr.Group == "extensions":
			errs = append(errs, validation.Invalid(at, text, "'extensions' group has been removed and cannot be used for encryption"))
		case gr.Group == "*" && gr != anything:
			errs = append(errs, validation.Invalid(at, text, "encrypting the same resource across groups is not supported"))
		case seen[gr]:
			errs = append(errs, validation.Invalid(at, text, "the same resource cannot be specified multiple times"))
		case masked[group] || masked[anything]:
			errs = append(errs, validation.Invalid(at, text, "the resource is masked by an earlier rule"))
		}
		seen[gr] = true
	}
	for gr := range seen {
		other := len(seen) > 1 && gr == anything
		for also := range seen {
			other = other || gr != also && gr.Group == also.Group && gr.Resource == "*"
		}
		if other {
			errs = append(errs, validation.Invalid(p, list, "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked"))
			break
		}
	}
	for gr := range seen {
		masked[gr] = true
	}
	return errs
}

func (c *ProviderConfiguration) validate(p *validation.Path) (errs validation.ErrorList) {
	set := 0
	for _, is := range []bool{c.AESGCM != nil, c.AESCBC != nil, c.Secretbox != nil, c.Identity != nil, c.KMS != nil} {
		if is {
			set++
		}
	}
	// The value may have keys and is not shown.
	switch {
	case set == 0:
		return validation.ErrorList{validation.Invalid(p, "", "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity").WithoutValue()}
	case set > 1:
		return validation.ErrorList{validation.Invalid(p, "", "more than one provider specified in a single element, should split into different list elements").WithoutValue()}
	case c.AESGCM != nil:
		return c.AESGCM.validate(p.Child("aesgcm", "keys"), 16, 24, 32)
	case c.AESCBC != nil:
		return c.AESCBC.validate(p.Child("aescbc", "keys"), 16, 24, 32)
	case c.Secretbox != nil:
		return c.Secretbox.validate(p.Child("secretbox", "keys"), 32)
	case c.KMS != nil:
		return c.KMS.validate(p.Child("kms"))
	}
	return nil
}

func (k *Keys) validate(p *validation.Path, sizes ...int) (errs validation.ErrorList) {
	if len(k.Keys) == 0 {
		errs = append(errs, validation.Required(p, "at least one keys is required"))
	}
	for i, key := range k.Keys {
		at := p.Index(i)
		if key.Name == "" {
			errs = append(errs, validation.Required(at.Child("name"), "name is a mandatory field for a key"))
		}
		secret, err := base64.StdEncoding.DecodeString(key.Secret)
		switch {
		case key.Secret == "":
			errs = append(errs, validation.Required(at.Child("secret"), "secret is a mandatory field for a key"))
		case err != nil:
			errs = append(errs, validation.Invalid(at.Child("secret"), "REDACTED", "secrets must be base64 encoded"))
		case !slices.Contains(sizes, len(secret)):
			errs = append(errs, validation.Invalid(at.Child("secret"), "REDACTED", fmt.Sprintf("secret is not of the expected length, got %d, expected one of %v", len(secret), sizes)))
		}
	}
	return errs
}
