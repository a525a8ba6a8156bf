package podsecurity

import (
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Configuration is the file PodSecurityConfiguration of pod-security.admission.config.k8s.io/v1.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`
	Defaults        Defaults   `json:"defaults"`
	Exemptions      Exemptions `json:"exemptions"`
}

// Defaults are the levels and versions of namespaces that have no labels for them. Empty levels are
// privileged, and empty versions are the latest.
type Defaults struct {
	Enforce        string `json:"enforce,omitempty"`
	EnforceVersion string `json:"enforce-version,omitempty"`
	Audit          string `json:"audit,omitempty"`
	AuditVersion   string `json:"audit-version,omitempty"`
	Warn           string `json:"warn,omitempty"`
	WarnVersion    string `json:"warn-version,omitempty"`
}

// Exemptions are the requests that are not evaluated: those of users, in namespaces, and for pods with a
// runtime class.
type Exemptions struct {
	Usernames      []string `json:"usernames,omitempty"`
	Namespaces     []string `json:"namespaces,omitempty"`
	RuntimeClasses []string `json:"runtimeClasses,omitempty"`
}

const (
	configurationGroup = "pod-security.admission.config.k8s.io/"
	configurationKind  = "PodSecurityConfiguration"
	maxConfiguration   = 1 << 20
)

// ParseConfiguration reads a Configuration, YAML or JSON, of the versions v1, v1beta1 or v1alpha1, which are
// alike, and checks it. Unknown and repeated fields are errors; all errors name the field.
func ParseConfiguration(data []byte) (*Configuration, error) {
	c := &Configuration{}
	issues, err := codec.UnmarshalYAML(data, c, codec.DecodeOptions{Strict: true, MaxBytes: maxConfiguration})
	if err != nil {
		return nil, fmt.Errorf("podsecurity: %s: %w", configurationKind, err)
	}
	if len(issues) > 0 {
		return nil, fmt.Errorf("podsecurity: %s: %v", configurationKind, issues[0])
	}
	switch version, ok := strings.CutPrefix(c.APIVersion, configurationGroup); {
	case c.Kind == configurationKind && ok && (version == "v1" || version == "v1beta1" || version == "v1alpha1"):
	default:
		return nil, fmt.Errorf("podsecurity: want kind %s of %sv1, got %q of %q", configurationKind, configurationGroup, c.Kind, c.APIVersion)
	}
	if _, err := c.Policy(); err != nil {
		return nil, err
	}
	return c, nil
}

// Policy checks the configuration and returns the policy of its defaults.
func (c *Configuration) Policy() (Policy, error) {
	var p Policy
	var errs validation.ErrorList
	read := func(name, level, version string, lv *LevelVersion) {
		at := validation.NewPath("defaults", name)
		if lv.Level = Privileged; level != "" {
			var err error
			if lv.Level, err = ParseLevel(level); err != nil {
				errs = append(errs, validation.Invalid(at, level, err.Error()))
			}
		}
		if version != "" {
			var err error
			if lv.Version, err = ParseVersion(version); err != nil {
				errs = append(errs, validation.Invalid(validation.NewPath("defaults", name+"-version"), version, err.Error()))
			}
		}
	}
	d := &c.Defaults
	read("enforce", d.Enforce, d.EnforceVersion, &p.Enforce)
	read("warn", d.Warn, d.WarnVersion, &p.Warn)
	read("audit", d.Audit, d.AuditVersion, &p.Audit)
	e := &c.Exemptions
	errs = append(errs, checkEach("namespaces", e.Namespaces, validation.IsDNS1123Label)...)
	errs = append(errs, checkEach("runtimeClasses", e.RuntimeClasses, validation.IsDNS1123Subdomain)...)
	errs = append(errs, checkEach("usernames", e.Usernames, func(name string) []string {
		if name == "" {
			return []string{"username must not be empty"}
		}
		return nil
	})...)
	if err := errs.Err(); err != nil {
		return Policy{}, fmt.Errorf("podsecurity: %s: %w", configurationKind, err)
	}
	return p, nil
}

// checkEach checks a list of exemptions for values that are wrong or repeated.
func checkEach(field string, values []string, check func(string) []string) (errs validation.ErrorList) {
	seen := map[string]bool{}
	for i, v := range values {
		at := validation.NewPath("exemptions", field).Index(i)
		if wrong := check(v); len(wrong) > 0 {
			errs = append(errs, validation.Invalid(at, v, strings.Join(wrong, ", ")))
		} else if seen[v] {
			errs = append(errs, validation.Duplicate(at, v))
		}
		seen[v] = true
	}
	return errs
}
