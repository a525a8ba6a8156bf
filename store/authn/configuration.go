package authn

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/internal/configfile"
)

// Configuration is the file AuthenticationConfiguration of apiserver.config.k8s.io: the issuers of JSON web
// tokens that a server trusts, and who may send requests without credentials.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`
	JWT             []JWTAuthenticator      `json:"jwt"`
	Anonymous       *AnonymousConfiguration `json:"anonymous,omitempty"`
}

// AnonymousConfiguration accepts requests without credentials: all of them, or those that one of Conditions
// describes.
type AnonymousConfiguration struct {
	Enabled    bool                 `json:"enabled"`
	Conditions []AnonymousCondition `json:"conditions,omitempty"`
}

// AnonymousCondition describes the requests for exactly this path.
type AnonymousCondition struct {
	Path string `json:"path"`
}

// Paths returns the paths of the conditions; nil, which stands for all paths, if there is none.
func (c *AnonymousConfiguration) Paths() []string {
	var paths []string
	for _, condition := range c.Conditions {
		paths = append(paths, condition.Path)
	}
	return paths
}

// JWTAuthenticator is an issuer, and how its tokens become users.
type JWTAuthenticator struct {
	Issuer               Issuer                `json:"issuer"`
	ClaimValidationRules []ClaimValidationRule `json:"claimValidationRules,omitempty"`
	ClaimMappings        ClaimMappings         `json:"claimMappings"`
	UserValidationRules  []UserValidationRule  `json:"userValidationRules,omitempty"`
}

// Issuer is an OpenID Connect issuer. A token is valid for the server if it is for one of Audiences.
type Issuer struct {
	// URL is that of the tokens' claim iss.
	URL string `json:"url"`
	// DiscoveryURL is where the discovery document is; empty means below URL.
	DiscoveryURL string `json:"discoveryURL,omitempty"`
	// CertificateAuthority are the authorities of its serving certificate, PEM; empty means the system's.
	CertificateAuthority string   `json:"certificateAuthority,omitempty"`
	Audiences            []string `json:"audiences"`
	// AudienceMatchPolicy is MatchAny, or empty if there is one audience.
	AudienceMatchPolicy string `json:"audienceMatchPolicy,omitempty"`
	// EgressSelectorType is not supported.
	EgressSelectorType string `json:"egressSelectorType,omitempty"`
}

// ClaimValidationRule refuses the tokens whose Claim is not RequiredValue, or for which the CEL Expression
// about the variable claims is false.
type ClaimValidationRule struct {
	Claim         string `json:"claim,omitempty"`
	RequiredValue string `json:"requiredValue,omitempty"`
	Expression    string `json:"expression,omitempty"`
	Message       string `json:"message,omitempty"`
}

// ClaimMappings are how claims become a user.
type ClaimMappings struct {
	Username PrefixedClaimOrExpression `json:"username"`
	Groups   PrefixedClaimOrExpression `json:"groups,omitempty"`
	UID      ClaimOrExpression         `json:"uid"`
	Extra    []ExtraMapping            `json:"extra,omitempty"`
}

// PrefixedClaimOrExpression is a claim, before which Prefix is put, or a CEL expression about the variable
// claims.
type PrefixedClaimOrExpression struct {
	Claim      string  `json:"claim,omitempty"`
	Prefix     *string `json:"prefix,omitempty"`
	Expression string  `json:"expression,omitempty"`
}

// ClaimOrExpression is a claim, or a CEL expression about the variable claims.
type ClaimOrExpression struct {
	Claim      string `json:"claim,omitempty"`
	Expression string `json:"expression,omitempty"`
}

// ExtraMapping is an extra attribute of the user, by a CEL expression about the variable claims.
type ExtraMapping struct {
	Key             string `json:"key"`
	ValueExpression string `json:"valueExpression"`
}

// UserValidationRule refuses the users for which the CEL Expression about the variable user is false.
type UserValidationRule struct {
	Expression string `json:"expression"`
	Message    string `json:"message,omitempty"`
}

// configurationKind has versions with the same fields.
var configurationKind = configfile.Kind{Kind: "AuthenticationConfiguration",
	Versions: []string{"apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"}}

// ParseConfiguration reads a Configuration, YAML or JSON, of version v1, v1beta1 or v1alpha1, and checks it.
// accountIssuers are those of service account tokens, whose URLs no issuer may have. Unknown and repeated
// fields are errors; all errors name line and field.
func ParseConfiguration(data []byte, accountIssuers []string) (*Configuration, error) {
	c := &Configuration{}
	err := configfile.Read(data, configurationKind, c, func() validation.ErrorList {
		_, wrong := c.compile(accountIssuers)
		return wrong
	})
	if err != nil {
		return nil, fmt.Errorf("authn: %w", err)
	}
	return c, nil
}
