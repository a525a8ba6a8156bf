package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestEveryStoredKindHasRules(t *testing.T) {
	s := apitest.Scheme(t)
	plain := map[string]bool{"ServiceAccount": true, "ComponentStatus": true} // nothing to check beyond metadata
	for _, info := range s.All() {
		if !info.HasVerb("update") || plain[info.GVK.Kind] {
			continue
		}
		require.NotNil(t, info.Rules.Validate, info.GVK)
		require.NotNil(t, info.Rules.ValidateUpdate, info.GVK)
		free := map[string]bool{"PersistentVolume": true, "CronJob": true, "ServiceCIDR": true} // their status has no rules
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
