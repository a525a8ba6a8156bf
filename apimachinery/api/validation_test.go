package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/celcheck"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// elsewhere are the recorded answers that validation of the object alone does not give, by id, and why. The
// server gives them (store/apiserver replays every record over HTTP).
var elsewhere = map[string]string{
	"228": "allocation: the address is outside the cluster's range",
	"242": "allocation: the recorded cluster has one address family",
	"561": "concurrency: which kinds need a version to be updated",
}

func TestValidationAgreesWithRecordedCreates(t *testing.T) {
	s := apitest.Scheme(t)
	require.NoError(t, api.AddExpressionRules(s, celcheck.Check))
	n := 0
	for _, e := range apitest.Load(t, "validation.json") {
		if e.Method != "POST" || e.Status != 422 || strings.HasPrefix(e.Case, "protocol") {
			continue
		}
		t.Run(e.ID, func(t *testing.T) {
			if why := elsewhere[e.ID]; why != "" {
				t.Skip(why)
			}
			n++
			obj, info := apitest.Prepared(t, s, apitest.WithRequest(t, apitest.Unrepeat(e.Request)), e.Path)
			changed, _ := json.Marshal(e.Changed)
			require.Equal(t, apitest.Causes(e.Causes), apitest.Found(apitest.ValidateCreate(obj, info)), "%s: %.300s", e.Case, changed)
		})
	}
	require.Greater(t, n, 300)
}

func TestValidationAcceptsRecordedObjects(t *testing.T) {
	s := apitest.Scheme(t)
	base := apitest.Base(t)
	for name, e := range base {
		t.Run(name, func(t *testing.T) {
			obj, info := apitest.Prepared(t, s, e.Request, e.Path)
			require.Empty(t, apitest.ValidateCreate(obj, info))
			if info.Rules.ValidateUpdate != nil {
				metav1.MetaOf(obj).ResourceVersion = "7"
				require.Empty(t, info.Rules.ValidateUpdate(obj, obj), "an unchanged object")
			}
		})
	}
	for i, e := range apitest.Load(t, "accepted.json") {
		if e.Method != "POST" || e.Changed[0].Field == "spec.strategy" && e.Case == "lease" {
			continue // a server without coordinated leader election drops the strategy of a lease first
		}
		require.Contains(t, base, e.Case)
		t.Run(fmt.Sprintf("accepted %d", i), func(t *testing.T) {
			obj, info := apitest.Prepared(t, s, apitest.Edit(t, base[e.Case].Request, e.Changed), e.Path)
			require.Empty(t, apitest.ValidateCreate(obj, info))
		})
	}
}

func TestValidationAgreesWithRecordedUpdates(t *testing.T) {
	s := apitest.Scheme(t)
	base := apitest.Base(t)
	records := slices.Concat(apitest.Load(t, "validation.json"), apitest.Load(t, "accepted.json"))
	n := 0
	for _, e := range records {
		name, ok := strings.CutPrefix(e.Case, "update ")
		if !ok || e.Status != 422 && e.Status != 200 {
			continue
		}
		t.Run(fmt.Sprintf("%s %.80s", e.Case, e.Changed), func(t *testing.T) {
			if why := elsewhere[e.ID]; why != "" {
				t.Skip(why)
			}
			n++
			setup := base[name].Request
			name = strings.TrimPrefix(strings.TrimPrefix(name, "immutable off "), "immutable ")
			if setup == nil {
				setup = apitest.Edit(t, base[name].Request, []apitest.Change{
					{Field: "immutable", Value: json.RawMessage("true")}, {Field: "metadata.name", Value: json.RawMessage(`"imm"`)},
				})
			}
			require.Contains(t, base, name)
			old, info := apitest.Prepared(t, s, setup, base[name].Path)
			if crd, ok := old.(*apiextensionsv1.CustomResourceDefinition); ok {
				crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
			}
			metav1.MetaOf(old).ResourceVersion = "7"
			stored, err := codec.Marshal(old)
			require.NoError(t, err)
			body := apitest.Edit(t, stored, e.Changed)
			if e.Changed == nil {
				body = e.Request
			}
			obj, _, err := apitest.Decode(s, body)
			require.NoError(t, err)
			if info.Rules.Default != nil {
				info.Rules.Default(obj)
			}
			apitest.CarryOver(metav1.MetaOf(obj), metav1.MetaOf(old))
			if svc, ok := obj.(*corev1.Service); ok {
				corev1.NormalizeService(svc, old.(*corev1.Service))
			}
			if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
				noteStorage(crd)
			}
			errs := metav1.ValidateMetaUpdate(metav1.MetaOf(obj), metav1.MetaOf(old), validation.NewPath("metadata"))
			if info.Rules.ValidateUpdate != nil {
				errs = append(errs, info.Rules.ValidateUpdate(obj, old)...)
			}
			require.Equal(t, apitest.Causes(e.Causes), apitest.Found(errs), "%s", errs)
		})
	}
	require.Greater(t, n, 35)
}

// noteStorage adds the storage version to the versions objects may be stored in.
func noteStorage(d *apiextensionsv1.CustomResourceDefinition) {
	for i := range d.Spec.Versions {
		if v := &d.Spec.Versions[i]; v.Storage && !slices.Contains(d.Status.StoredVersions, v.Name) {
			d.Status.StoredVersions = append(d.Status.StoredVersions, v.Name)
		}
	}
}
