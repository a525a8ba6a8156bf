package corev1

// What API servers record of the tokens in secrets of the type SecretTypeServiceAccountToken, and what ends
// unused ones reads. Days are as 2026-11-24, in UTC.
const (
	// TokenLastUsedLabel of a secret is the day on which its token was last used.
	TokenLastUsedLabel = "kubernetes.io/legacy-token-last-used"
	// TokenInvalidSinceLabel of a secret is the day since which its token is refused.
	TokenInvalidSinceLabel = "kubernetes.io/legacy-token-invalid-since"
	// TokenTrackingName is the name of the ConfigMap in kube-system whose key "since" is the day since which
	// the use of tokens is recorded.
	TokenTrackingName = "kube-apiserver-legacy-service-account-token-tracking"
)
