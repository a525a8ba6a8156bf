package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestEveryStoredKindHasRules(t *testing.T) {
	s := apitest.Scheme(t)
	// plain have nothing to check beyond metadata.
	plain := map[string]bool{"ServiceAccount": true, "ComponentStatus": true}
	for _, info := range s.All() {
		if !info.HasVerb("update") || plain[info.GVK.Kind] {
			continue
		}
		require.NotNil(t, info.Rules.Validate, info.GVK)
		require.NotNil(t, info.Rules.ValidateUpdate, info.GVK)
		// The status of free has no rules.
		free := map[string]bool{"PersistentVolume": true, "CronJob": true, "ServiceCIDR": true}
		if _, ok := info.Subresource("status"); ok && !free[info.GVK.Kind] {
			require.NotNil(t, info.Rules.ValidateStatus, info.GVK)
		}
	}
	// The shared scheme of clients stays without.
	for _, info := range api.Scheme().All() {
		require.Nil(t, info.Rules.Validate, info.GVK)
		require.Nil(t, info.Rules.Default, info.GVK)
	}
}
