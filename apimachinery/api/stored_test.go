package api_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Objects as a real server stored them have all defaults, and may be written back unchanged.
func TestStoredObjectsPass(t *testing.T) {
	data, err := os.ReadFile("../codec/internal/codectest/testdata/protobuf_golden.json")
	require.NoError(t, err)
	var list []struct {
		Path string          `json:"path"`
		JSON json.RawMessage `json:"json"`
	}
	require.NoError(t, json.Unmarshal(data, &list))
	s := apitest.Scheme(t)
	n := 0
	for _, e := range list {
		obj, info, err := apitest.Decode(s, e.JSON)
		if info == nil || metav1.MetaOf(obj).UID == "" {
			continue // lists and reviews
		}
		n++
		t.Run(e.Path, func(t *testing.T) {
			require.NoError(t, err)
			before, err := codec.Marshal(obj)
			require.NoError(t, err)
			if info.Rules.Default != nil {
				info.Rules.Default(obj)
			}
			after, err := codec.Marshal(obj)
			require.NoError(t, err)
			require.JSONEq(t, string(before), string(after))
			m, p := metav1.MetaOf(obj), validation.NewPath("metadata")
			require.Empty(t, metav1.ValidateMeta(m, info.Namespaced, info.Rules.NameRule, p))
			require.Empty(t, metav1.ValidateMetaUpdate(m, m, p))
			if info.Rules.ValidateUpdate != nil {
				require.Empty(t, info.Rules.ValidateUpdate(obj, obj))
			}
			if info.Rules.ValidateStatus != nil {
				require.Empty(t, info.Rules.ValidateStatus(obj, obj))
			}
		})
	}
	require.Greater(t, n, 40)
}
