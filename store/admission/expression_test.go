package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// The error for an expression that does not compile has the text that conformance tests match.
func TestExpressionsThatDoNotCompile(t *testing.T) {
	p := planetest.Start(t)
	err := planetest.TryCreate(t, p.Admin(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: planetest.Meta("", "w"), Webhooks: []admissionregistrationv1.ValidatingWebhook{{
		Name: "a.b.test", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
		ClientConfig:    admissionregistrationv1.WebhookClientConfig{URL: new("https://a.test")},
		MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "c", Expression: "... [] bad expression"}}}}})
	require.True(t, apierrors.IsInvalid(err), err)
	require.ErrorContains(t, err, "compilation failed: ")
}
