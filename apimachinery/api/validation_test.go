package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// elsewhere are the recorded answers that validation of the object alone does not give, by id, and why.
var elsewhere = map[string]string{
	"225": "allocation: the node port is taken by the port before",
	"228": "allocation: the address is outside the cluster's range",
	"242": "allocation: the recorded cluster has one address family",
	"561": "storage: leases are never written unconditionally",
}

// causeSet are the distinct findings, in order.
func causeSet(causes []cause) []string {
	out := []string{}
	for _, c := range causes {
		out = append(out, c.Field+" "+c.Type)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func foundSet(errs validation.ErrorList) []string {
	out := []string{}
	for _, e := range errs {
		out = append(out, e.Field+" "+string(e.Type))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// unrepeat writes out the values that the records abbreviate as "<a repeated 9 times>".
func unrepeat(body []byte) []byte {
	s := string(body)
	for {
		before, rest, ok := strings.Cut(s, "<a repeated ")
		if !ok {
			return []byte(s)
		}
		count, after, _ := strings.Cut(rest, " times>")
		var n int
		fmt.Sscan(count, &n)
		s = before + strings.Repeat("a", n) + after
	}
}

// prepared does what a server does between decoding a created object and validating it.
func prepared(t testing.TB, s *scheme.Scheme, body []byte, path string) (metav1.Object, *scheme.Info) {
	t.Helper()
	obj, info, err := decode(s, body)
	require.NoError(t, err)
	m := metav1.MetaOf(obj)
	if info.Namespaced && m.Namespace == "" {
		m.Namespace = namespaceOf(path)
	}
	if m.Name == "" && m.GenerateName != "" {
		m.Name = m.GenerateName + "x7k2p"
	}
	m.UID, m.CreationTimestamp = "0c2c1f5e", metav1.NewTime(time.Unix(1e9, 0))
	if info.Rules.Default != nil {
		info.Rules.Default(obj)
	}
	allocate(obj)
	return obj, info
}

// allocate stands in for what only a running server knows.
func allocate(obj metav1.Object) {
	switch o := obj.(type) {
	case *corev1.Service:
		corev1.NormalizeService(o, nil)
		if o.Spec.Type == corev1.ServiceTypeExternalName {
			return
		}
		if o.Spec.ClusterIP == "" {
			o.Spec.ClusterIP, o.Spec.ClusterIPs = "10.96.0.7", []string{"10.96.0.7"}
		}
		if o.Spec.IPFamilies == nil {
			o.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
		}
		if o.Spec.IPFamilyPolicy == nil {
			o.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicySingleStack)
		}
		if corev1.NeedsHealthCheck(&o.Spec) && o.Spec.HealthCheckNodePort == 0 {
			o.Spec.HealthCheckNodePort = 30999
		}
	case *batchv1.Job:
		batchv1.GenerateSelector(o)
	}
}

func validateCreate(obj metav1.Object, info *scheme.Info) validation.ErrorList {
	errs := metav1.ValidateMeta(metav1.MetaOf(obj), info.Namespaced, info.Rules.NameRule, validation.NewPath("metadata"))
	if info.Rules.Validate != nil {
		errs = append(errs, info.Rules.Validate(obj)...)
	}
	return errs
}

func TestValidationAgreesWithRecordedCreates(t *testing.T) {
	s := serverScheme(t)
	n := 0
	for _, e := range loadExchanges(t, "validation.json") {
		if e.Method != "POST" || e.Status != 422 || strings.HasPrefix(e.Case, "protocol") {
			continue
		}
		t.Run(e.ID, func(t *testing.T) {
			if why := elsewhere[e.ID]; why != "" {
				t.Skip(why)
			}
			n++
			obj, info := prepared(t, s, unrepeat(e.Request), e.Path)
			changed, _ := json.Marshal(e.Changed)
			require.Equal(t, causeSet(e.Causes), foundSet(validateCreate(obj, info)), "%s: %.300s", e.Case, changed)
		})
	}
	require.Greater(t, n, 300)
}

func TestValidationAcceptsRecordedObjects(t *testing.T) {
	s := serverScheme(t)
	base := map[string]exchange{}
	for _, e := range loadExchanges(t, "defaulting.json") {
		base[e.Name] = e
		if e.Name == "csr" { // its request was left out of the record
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			obj, info := prepared(t, s, e.Request, e.Path)
			require.Empty(t, validateCreate(obj, info))
			if info.Rules.ValidateUpdate != nil {
				metav1.MetaOf(obj).ResourceVersion = "7"
				require.Empty(t, info.Rules.ValidateUpdate(obj, obj), "an unchanged object")
			}
		})
	}
	for i, e := range loadExchanges(t, "accepted.json") {
		if _, ok := base[e.Case]; !ok || e.Method != "POST" {
			continue
		}
		t.Run(fmt.Sprintf("accepted %d", i), func(t *testing.T) {
			obj, info := prepared(t, s, edit(t, base[e.Case].Request, e.Changed), e.Path)
			require.Empty(t, validateCreate(obj, info))
		})
	}
}

func TestValidationAgreesWithRecordedUpdates(t *testing.T) {
	s := serverScheme(t)
	base := map[string]exchange{}
	for _, e := range loadExchanges(t, "defaulting.json") {
		base[e.Name] = e
	}
	records := slices.Concat(loadExchanges(t, "validation.json"), loadExchanges(t, "accepted.json"))
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
				setup = edit(t, base[name].Request, []change{{Field: "immutable", Value: json.RawMessage("true")}})
			}
			if name == "csr" {
				t.Skip("its request was left out of the record")
			}
			old, info := prepared(t, s, setup, base[name].Path)
			metav1.MetaOf(old).ResourceVersion = "7"
			stored, err := json.Marshal(old)
			require.NoError(t, err)
			body := edit(t, stored, e.Changed)
			if e.Changed == nil {
				body = e.Request
			}
			obj, _, err := decode(s, body)
			require.NoError(t, err)
			if info.Rules.Default != nil {
				info.Rules.Default(obj)
			}
			carryOver(metav1.MetaOf(obj), metav1.MetaOf(old))
			if svc, ok := obj.(*corev1.Service); ok {
				corev1.NormalizeService(svc, old.(*corev1.Service))
			}
			errs := metav1.ValidateMetaUpdate(metav1.MetaOf(obj), metav1.MetaOf(old), validation.NewPath("metadata"))
			if info.Rules.ValidateUpdate != nil {
				errs = append(errs, info.Rules.ValidateUpdate(obj, old)...)
			}
			require.Equal(t, causeSet(e.Causes), foundSet(errs), "%s", errs)
		})
	}
	require.Greater(t, n, 35)
}

// carryOver fills what an update may leave out, as a server does.
func carryOver(m, old *metav1.ObjectMeta) {
	if m.ResourceVersion == "" {
		m.ResourceVersion = old.ResourceVersion
	}
	if m.UID == "" {
		m.UID = old.UID
	}
	if m.Namespace == "" {
		m.Namespace = old.Namespace
	}
	if m.CreationTimestamp.IsZero() {
		m.CreationTimestamp = old.CreationTimestamp
	}
}
