package api_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Writes to subresources have rules of their own, which the server calls by name.
func TestSubresourceRulesAgreeWithRecords(t *testing.T) {
	s := serverScheme(t)
	stored, info := prepared(t, s, baseObjects(t)["pod"].Request, "/api/v1/namespaces/default/pods")
	old := stored.(*corev1.Pod)
	pod := func(body []byte) *corev1.Pod {
		obj, _, err := decode(s, body)
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
	records := loadExchanges(t, "validation.json")
	for id, rule := range rules {
		i := slices.IndexFunc(records, func(e exchange) bool { return e.ID == id })
		require.GreaterOrEqual(t, i, 0)
		require.Equal(t, causeSet(records[i].Causes), foundSet(rule(records[i].Request)), records[i].Case)
	}
}

func TestPodResize(t *testing.T) {
	s := serverScheme(t)
	body := edit(t, baseObjects(t)["pod"].Request, []change{{"spec.containers.0.resources", json.RawMessage(`{"requests":{"cpu":"1"}}`)}})
	load := func(changes ...change) *corev1.Pod {
		obj, _ := prepared(t, s, edit(t, body, changes), "/api/v1/namespaces/default/pods")
		return obj.(*corev1.Pod)
	}
	old := load()
	bigger := change{"spec.containers.0.resources", json.RawMessage(`{"requests":{"cpu":"2"}}`)}
	require.Empty(t, corev1.ValidatePodResize(load(bigger), old))
	image := change{"spec.containers.0.image", json.RawMessage(`"b:1"`)}
	require.Equal(t, []string{"spec FieldValueForbidden"}, foundSet(corev1.ValidatePodResize(load(bigger, image), old)))
	guaranteed := change{"spec.containers.0.resources", json.RawMessage(`{"limits":{"cpu":"1","memory":"1Gi"}}`)}
	require.Equal(t, corev1.PodQOSGuaranteed, corev1.QOSClass(load(guaranteed)))
	require.Equal(t, []string{"spec FieldValueInvalid"}, foundSet(corev1.ValidatePodResize(load(guaranteed), old)))
}
