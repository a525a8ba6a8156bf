package api_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Writes to subresources have rules of their own, which the server calls by name.
func TestSubresourceRulesAgreeWithRecords(t *testing.T) {
	s := apitest.Scheme(t)
	stored, info := apitest.Prepared(t, s, apitest.Base(t)["pod"].Request, "/api/v1/namespaces/default/pods")
	old := stored.(*corev1.Pod)
	pod := func(body []byte) *corev1.Pod {
		obj, _, err := apitest.Decode(s, body)
		require.NoError(t, err)
		info.Rules.Default(obj)
		return obj.(*corev1.Pod)
	}
	rules := map[string]func(body []byte) validation.ErrorList{
		"653": func(b []byte) validation.ErrorList { return corev1.ValidateEphemeralContainersUpdate(pod(b), old) },
		"657": func(b []byte) validation.ErrorList { return corev1.ValidatePodResize(pod(b), old) },
		"649": func(b []byte) validation.ErrorList {
			var scale autoscalingv1.Scale
			require.NoError(t, json.Unmarshal(b, &scale))
			return autoscalingv1.ValidateScale(&scale)
		},
		"651": func(b []byte) validation.ErrorList {
			var request authenticationv1.TokenRequest
			require.NoError(t, json.Unmarshal(b, &request))
			return authenticationv1.ValidateTokenRequest(&request)
		},
	}
	records := apitest.Load(t, "validation.json")
	for id, rule := range rules {
		i := slices.IndexFunc(records, func(e apitest.Exchange) bool { return e.ID == id })
		require.GreaterOrEqual(t, i, 0)
		require.Equal(t, apitest.Causes(records[i].Causes), apitest.Found(rule(records[i].Request)), records[i].Case)
	}
}
