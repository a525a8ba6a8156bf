package authenticationv1

// DefaultTokenRequest makes tokens valid for an hour.
func DefaultTokenRequest(r *TokenRequest) {
	if r.Spec.ExpirationSeconds == nil {
		r.Spec.ExpirationSeconds = new(int64(60 * 60))
	}
}
