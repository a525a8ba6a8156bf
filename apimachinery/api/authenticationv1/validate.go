package authenticationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

const (
	minTokenSeconds = 10 * 60
	maxTokenSeconds = 1 << 32
)

// ValidateTokenRequest checks a request for a token: at least ten minutes, at most 2^32 seconds.
func ValidateTokenRequest(t *TokenRequest) validation.ErrorList {
	var r check.Report
	p := validation.NewPath("spec", "expirationSeconds")
	if e := t.Spec.ExpirationSeconds; e != nil {
		r.If(*e < minTokenSeconds, p, *e, "may not specify a duration less than 10 minutes")
		r.If(*e > maxTokenSeconds, p, *e, "may not specify a duration larger than 2^32 seconds")
	}
	return r.List()
}
