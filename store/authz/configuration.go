package authz

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/internal/configfile"
)

// Configuration is the file AuthorizationConfiguration of apiserver.config.k8s.io: the authorizers of a
// server, in their order.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`
	Authorizers     []AuthorizerConfiguration `json:"authorizers"`
}

// AuthorizerConfiguration is one authorizer. Only a Webhook has the field of that name.
type AuthorizerConfiguration struct {
	Type    string                `json:"type"`
	Name    string                `json:"name"`
	Webhook *WebhookConfiguration `json:"webhook,omitempty"`
}

// WebhookConfiguration is an authorizer of type Webhook; see [WebhookOptions].
type WebhookConfiguration struct {
	AuthorizedTTL                            metav1.Duration       `json:"authorizedTTL"`
	CacheAuthorizedRequests                  *bool                 `json:"cacheAuthorizedRequests,omitempty"`
	UnauthorizedTTL                          metav1.Duration       `json:"unauthorizedTTL"`
	CacheUnauthorizedRequests                *bool                 `json:"cacheUnauthorizedRequests,omitempty"`
	Timeout                                  metav1.Duration       `json:"timeout"`
	SubjectAccessReviewVersion               string                `json:"subjectAccessReviewVersion"`
	MatchConditionSubjectAccessReviewVersion string                `json:"matchConditionSubjectAccessReviewVersion"`
	FailurePolicy                            string                `json:"failurePolicy"`
	ConnectionInfo                           WebhookConnectionInfo `json:"connectionInfo"`
	MatchConditions                          []MatchCondition      `json:"matchConditions"`
}

// WebhookConnectionInfo is where the server is: Type is KubeConfigFile, with the path of one, or
// InClusterConfig.
type WebhookConnectionInfo struct {
	Type           string  `json:"type"`
	KubeConfigFile *string `json:"kubeConfigFile,omitempty"`
}

// MatchCondition is an expression.
type MatchCondition struct {
	Expression string `json:"expression"`
}

const maxConditions = 64

// configurationKind has versions with the same fields.
var configurationKind = configfile.Kind{Kind: "AuthorizationConfiguration",
	Versions: []string{"apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"}}

// ParseConfiguration reads a Configuration, YAML or JSON, of version v1, v1beta1 or v1alpha1, sets defaults
// and checks everything but what the connections lead to. types are the types of authorizers beside Webhook,
// which may each be there once. Unknown and repeated fields are errors; all errors name line and field.
func ParseConfiguration(data []byte, types []string) (*Configuration, error) {
	c := &Configuration{}
	err := configfile.Read(data, configurationKind, c, func() validation.ErrorList {
		c.setDefaults()
		return c.validate(types)
	})
	if err != nil {
		return nil, fmt.Errorf("authz: %w", err)
	}
	return c, nil
}

func (c *Configuration) setDefaults() {
	for i := range c.Authorizers {
		w := c.Authorizers[i].Webhook
		if w == nil {
			continue
		}
		if w.AuthorizedTTL.Duration == 0 {
			w.AuthorizedTTL.Duration = 5 * time.Minute
		}
		if w.UnauthorizedTTL.Duration == 0 {
			w.UnauthorizedTTL.Duration = 30 * time.Second
		}
	}
}

func (c *Configuration) validate(types []string) (errs validation.ErrorList) {
	root := validation.NewPath("authorizers")
	if len(c.Authorizers) == 0 {
		errs = append(errs, validation.Required(root, "at least one authorization mode must be defined"))
	}
	known := slices.Sorted(slices.Values(append([]string{"Webhook"}, types...)))
	seenTypes, seenNames := map[string]bool{}, map[string]bool{}
	for i := range c.Authorizers {
		a, p := &c.Authorizers[i], root.Index(i)
		switch {
		case a.Type == "":
			errs = append(errs, validation.Required(p.Child("type"), ""))
			continue
		case !slices.Contains(known, a.Type):
			errs = append(errs, validation.NotSupported(p.Child("type"), a.Type, known))
			continue
		case seenTypes[a.Type] && a.Type != "Webhook":
			errs = append(errs, validation.Duplicate(p.Child("type"), a.Type))
			continue
		}
		seenTypes[a.Type] = true
		if a.Name == "" {
			errs = append(errs, validation.Required(p.Child("name"), ""))
		} else if seenNames[a.Name] {
			errs = append(errs, validation.Duplicate(p.Child("name"), a.Name))
		} else if wrong := validation.IsDNS1123Subdomain(a.Name); len(wrong) > 0 {
			errs = append(errs, validation.Invalid(p.Child("name"), a.Name, "authorizer name is invalid: "+strings.Join(wrong, ", ")))
		}
		seenNames[a.Name] = true
		switch {
		case a.Type != "Webhook" && a.Webhook != nil:
			errs = append(errs, validation.Invalid(p.Child("webhook"), "non-null", "may only be specified when type=Webhook"))
		case a.Type == "Webhook" && a.Webhook == nil:
			errs = append(errs, validation.Required(p.Child("webhook"), "required when type=Webhook"))
		case a.Type == "Webhook":
			errs = append(errs, a.Webhook.validate(p.Child("webhook"))...)
		}
	}
	return errs
}

func (w *WebhookConfiguration) validate(p *validation.Path) (errs validation.ErrorList) {
	if d := w.Timeout.Duration; d == 0 {
		errs = append(errs, validation.Required(p.Child("timeout"), ""))
	} else if d < 0 || d > 30*time.Second {
		errs = append(errs, validation.Invalid(p.Child("timeout"), d.String(), "must be > 0s and <= 30s"))
	}
	if d := w.AuthorizedTTL.Duration; d < 0 {
		errs = append(errs, validation.Invalid(p.Child("authorizedTTL"), d.String(), "must be > 0s"))
	}
	if d := w.UnauthorizedTTL.Duration; d < 0 {
		errs = append(errs, validation.Invalid(p.Child("unauthorizedTTL"), d.String(), "must be > 0s"))
	}
	switch w.SubjectAccessReviewVersion {
	case "v1", "v1beta1":
	case "":
		errs = append(errs, validation.Required(p.Child("subjectAccessReviewVersion"), ""))
	default:
		errs = append(errs, validation.NotSupported(p.Child("subjectAccessReviewVersion"), w.SubjectAccessReviewVersion, []string{"v1", "v1beta1"}))
	}
	switch v := w.MatchConditionSubjectAccessReviewVersion; {
	case v == "" && len(w.MatchConditions) > 0:
		errs = append(errs, validation.Required(p.Child("matchConditionSubjectAccessReviewVersion"), "required if match conditions are specified"))
	case v != "" && v != "v1":
		errs = append(errs, validation.NotSupported(p.Child("matchConditionSubjectAccessReviewVersion"), v, []string{"v1"}))
	}
	switch w.FailurePolicy {
	case "NoOpinion", "Deny":
	case "":
		errs = append(errs, validation.Required(p.Child("failurePolicy"), ""))
	default:
		errs = append(errs, validation.NotSupported(p.Child("failurePolicy"), w.FailurePolicy, []string{"NoOpinion", "Deny"}))
	}
	errs = append(errs, w.ConnectionInfo.validate(p.Child("connectionInfo"))...)
	return append(errs, w.validateConditions(p.Child("matchConditions"))...)
}

func (c *WebhookConnectionInfo) validate(p *validation.Path) (errs validation.ErrorList) {
	file := p.Child("kubeConfigFile")
	switch c.Type {
	case "InClusterConfig":
		if c.KubeConfigFile != nil {
			errs = append(errs, validation.Invalid(file, *c.KubeConfigFile, "can only be set when type=KubeConfigFile"))
		}
	case "KubeConfigFile":
		if c.KubeConfigFile == nil || *c.KubeConfigFile == "" {
			errs = append(errs, validation.Required(file, ""))
		} else if !filepath.IsAbs(*c.KubeConfigFile) {
			errs = append(errs, validation.Invalid(file, *c.KubeConfigFile, "must be an absolute path"))
		}
	case "":
		errs = append(errs, validation.Required(p.Child("type"), ""))
	default:
		errs = append(errs, validation.NotSupported(p.Child("type"), c.Type, []string{"InClusterConfig", "KubeConfigFile"}))
	}
	return errs
}

func (w *WebhookConfiguration) validateConditions(p *validation.Path) (errs validation.ErrorList) {
	if n := len(w.MatchConditions); n > maxConditions {
		return validation.ErrorList{validation.TooMany(p, n, maxConditions)}
	}
	seen := map[string]bool{}
	for i, m := range w.MatchConditions {
		at := p.Index(i).Child("expression")
		if strings.TrimSpace(m.Expression) == "" {
			errs = append(errs, validation.Required(at, ""))
		} else if seen[m.Expression] {
			errs = append(errs, validation.Duplicate(at, m.Expression))
		} else if _, err := compileCondition(m.Expression); err != nil {
			errs = append(errs, validation.Invalid(at, m.Expression, err.Error()))
		}
		seen[m.Expression] = true
	}
	return errs
}

// Options are those of the authorizer that calls the server by review, which sends reviews of version
// SubjectAccessReviewVersion: see [V1beta1].
func (w *WebhookConfiguration) Options(review ReviewFunc) WebhookOptions {
	o := WebhookOptions{Review: review, Timeout: w.Timeout.Duration, DenyOnFailure: w.FailurePolicy == "Deny"}
	if w.CacheAuthorizedRequests == nil || *w.CacheAuthorizedRequests {
		o.AuthorizedTTL = w.AuthorizedTTL.Duration
	}
	if w.CacheUnauthorizedRequests == nil || *w.CacheUnauthorizedRequests {
		o.UnauthorizedTTL = w.UnauthorizedTTL.Duration
	}
	for _, m := range w.MatchConditions {
		o.MatchConditions = append(o.MatchConditions, m.Expression)
	}
	return o
}
