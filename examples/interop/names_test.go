package interop

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	upapivalidation "k8s.io/apimachinery/pkg/api/validation"
	uppath "k8s.io/apimachinery/pkg/api/validation/path"
	upmetav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upmetavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	uptypes "k8s.io/apimachinery/pkg/types"
	upvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// randomName returns a string that is nearly a valid name, address or number.
func randomName(r *rand.Rand) string {
	parts := []string{"a", "b", "z", "A", "Z", "0", "9", "1", "-", "_", ".", "..", "/", "%", "*.", "=", " ", "é", "\n", "~", ",", ":", "::", "x-1", "example.com", "kubernetes.io/", "orphan", "10.0.0", "fe80", "/24", "01", "256", strings.Repeat("a", 31), strings.Repeat("b.", 60)}
	s := ""
	for range r.IntN(9) {
		s += parts[r.IntN(len(parts))]
	}
	return s
}

func texts(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

func findings(errs validation.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

// noneIfEmpty makes no finding equal to no finding.
func noneIfEmpty(found []string) []string {
	if len(found) == 0 {
		return nil
	}
	return found
}

// Every check of names gives upstream's messages, word for word.
func TestChecksOfNamesAgree(t *testing.T) {
	path, upPath := validation.NewPath("at"), field.NewPath("at")
	fields := func(check func(*field.Path, string) field.ErrorList) func(string) []string {
		return func(s string) []string { return texts(check(upPath, s)) }
	}
	own := func(check func(*validation.Path, string) validation.ErrorList) func(string) []string {
		return func(s string) []string { return findings(check(path, s)) }
	}
	prefixed := func(check func(string, bool) []string) func(string) []string {
		return func(s string) []string { return append(check(s, true), check(s, false)...) }
	}
	// Some of upstream's checks take a path; ours return the messages only.
	worded := func(check func(*field.Path, string) field.ErrorList) func(string) []string {
		return func(s string) []string {
			var out []string
			for _, e := range check(nil, s) {
				out = append(out, e.Detail)
			}
			return out
		}
	}
	for name, check := range map[string]struct{ theirs, ours func(string) []string }{
		"IsDNS1123Label":                   {upvalidation.IsDNS1123Label, validation.IsDNS1123Label},
		"IsDNS1123Subdomain":               {upvalidation.IsDNS1123Subdomain, validation.IsDNS1123Subdomain},
		"IsDNS1123SubdomainWithUnderscore": {upvalidation.IsDNS1123SubdomainWithUnderscore, validation.IsDNS1123SubdomainWithUnderscore},
		"IsDNS1035Label":                   {upvalidation.IsDNS1035Label, validation.IsDNS1035Label},
		"IsWildcardDNS1123Subdomain":       {upvalidation.IsWildcardDNS1123Subdomain, validation.IsWildcardDNS1123Subdomain},
		"IsQualifiedName":                  {upvalidation.IsQualifiedName, validation.IsQualifiedName},
		"IsLabelValue":                     {upvalidation.IsValidLabelValue, validation.IsLabelValue},
		"IsCIdentifier":                    {upvalidation.IsCIdentifier, validation.IsCIdentifier},
		"IsEnvVarName":                     {upvalidation.IsEnvVarName, validation.IsEnvVarName},
		"IsRelaxedEnvVarName":              {upvalidation.IsRelaxedEnvVarName, validation.IsRelaxedEnvVarName},
		"IsConfigMapKey":                   {upvalidation.IsConfigMapKey, validation.IsConfigMapKey},
		"IsHTTPHeaderName":                 {upvalidation.IsHTTPHeaderName, validation.IsHTTPHeaderName},
		"IsPercent":                        {upvalidation.IsValidPercent, validation.IsPercent},
		"IsPortName":                       {upvalidation.IsValidPortName, validation.IsPortName},
		"IsPathSegmentName":                {uppath.IsValidPathSegmentName, validation.IsPathSegmentName},
		"IsPathSegmentPrefix":              {uppath.IsValidPathSegmentPrefix, validation.IsPathSegmentPrefix},
		"IsIP":                             {worded(upvalidation.IsValidIP), validation.IsIP},
		"IsCIDR":                           {worded(upvalidation.IsValidCIDR), validation.IsCIDR},
		"IsInterfaceAddress":               {worded(upvalidation.IsValidInterfaceAddress), validation.IsInterfaceAddress},
		"IsIPLegacy": {worded(func(p *field.Path, s string) field.ErrorList {
			return upvalidation.IsValidIPForLegacyField(p, s, false, nil)
		}), func(s string) []string { return validation.IsIPLegacy(s, false) }},
		"IsIPLegacy strict": {worded(func(p *field.Path, s string) field.ErrorList {
			return upvalidation.IsValidIPForLegacyField(p, s, true, nil)
		}), func(s string) []string { return validation.IsIPLegacy(s, true) }},
		"IsCIDRLegacy": {worded(func(p *field.Path, s string) field.ErrorList {
			return upvalidation.IsValidCIDRForLegacyField(p, s, false, nil)
		}), func(s string) []string { return validation.IsCIDRLegacy(s, false) }},
		"IsCIDRLegacy strict": {worded(func(p *field.Path, s string) field.ErrorList {
			return upvalidation.IsValidCIDRForLegacyField(p, s, true, nil)
		}), func(s string) []string { return validation.IsCIDRLegacy(s, true) }},
		"NameIsSubdomain":          {prefixed(upapivalidation.NameIsDNSSubdomain), prefixed(validation.NameIsSubdomain)},
		"NameIsLabel":              {prefixed(upapivalidation.NameIsDNSLabel), prefixed(validation.NameIsLabel)},
		"NameIsLabel1035":          {prefixed(upapivalidation.NameIsDNS1035Label), prefixed(validation.NameIsLabel1035)},
		"NameIsPathSegment":        {prefixed(uppath.ValidatePathSegmentName), prefixed(validation.NameIsPathSegment)},
		"FullyQualifiedName":       {fields(upvalidation.IsFullyQualifiedName), own(validation.FullyQualifiedName)},
		"FullyQualifiedDomainName": {fields(upvalidation.IsFullyQualifiedDomainName), own(validation.FullyQualifiedDomainName)},
		"DomainPrefixedPath":       {fields(upvalidation.IsDomainPrefixedPath), own(validation.DomainPrefixedPath)},
		"DomainPrefixedKey":        {fields(upvalidation.IsDomainPrefixedKey), own(validation.DomainPrefixedKey)},
		"LabelName": {func(s string) []string { return texts(upmetavalidation.ValidateLabelName(s, upPath)) },
			own(validation.LabelName)},
		"FieldManager": {func(s string) []string { return texts(upmetavalidation.ValidateFieldManager(s, upPath)) },
			own(validation.FieldManager)},
		"FinalizerName": {func(s string) []string { return texts(upapivalidation.ValidateFinalizerName(s, upPath)) },
			own(validation.FinalizerName)},
		"Finalizers": {func(s string) []string {
			return texts(upapivalidation.ValidateFinalizers([]string{s, "orphan", s + "x"}, upPath))
		},
			func(s string) []string {
				return findings(validation.Finalizers(path, []string{s, "orphan", s + "x"}))
			}},
		"Labels": {func(s string) []string {
			return texts(upmetavalidation.ValidateLabels(map[string]string{s: s}, upPath))
		},
			func(s string) []string { return findings(validation.Labels(path, map[string]string{s: s})) }},
		"Annotations": {func(s string) []string {
			return texts(upapivalidation.ValidateAnnotations(map[string]string{s: s}, upPath))
		},
			func(s string) []string { return findings(validation.Annotations(path, map[string]string{s: s})) }},
	} {
		t.Run(name, func(t *testing.T) {
			for _, seed := range seeds.Of(t, 5_000) {
				s := randomName(seeds.Rand(seed))
				theirs, ours := noneIfEmpty(check.theirs(s)), noneIfEmpty(check.ours(s))
				require.Equal(t, theirs, ours, "seed %d: %q", seed, s)
			}
		})
	}
}

func TestChecksOfNumbersAgree(t *testing.T) {
	for _, n := range []int64{-1 << 40, -1, 0, 1, 80, 65535, 65536, 1<<31 - 1, 1 << 31, 1 << 40} {
		require.Equal(t, noneIfEmpty(upvalidation.IsValidPortNum(int(n))), noneIfEmpty(validation.IsPortNumber(n)), "%d", n)
		require.Equal(t, noneIfEmpty(upvalidation.IsValidUserID(n)), noneIfEmpty(validation.IsUserID(n)), "%d", n)
		require.Equal(t, noneIfEmpty(upvalidation.IsValidGroupID(n)), noneIfEmpty(validation.IsGroupID(n)), "%d", n)
		require.Equal(t, noneIfEmpty(upvalidation.IsInRange(int(n), 3, 100)), noneIfEmpty(validation.IsInRange(n, 3, 100)), "%d", n)
		require.Equal(t, texts(upapivalidation.ValidateNonnegativeField(n, field.NewPath("n"))), findings(validation.NonNegative(validation.NewPath("n"), n)), "%d", n)
	}
}

// Metadata is refused as by upstream, on create and on update.
func TestMetadataChecksAgree(t *testing.T) {
	for _, seed := range seeds.Of(t, 5_000) {
		r := seeds.Rand(seed)
		u, o := randomMetadata(r)
		before, old := randomMetadata(r)
		if r.IntN(2) == 0 {
			before.Name, old.Name, before.Namespace, old.Namespace, before.UID, old.UID = u.Name, o.Name, u.Namespace, o.Namespace, u.UID, o.UID
		}
		namespaced := r.IntN(2) == 0
		at := fmt.Sprintf("seed %d: %+v", seed, u)
		require.ElementsMatch(t, texts(upapivalidation.ValidateObjectMeta(&u, namespaced, upapivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))),
			findings(validateMeta(&o, namespaced)), at)
		// An update is checked by both of upstream's lists of rules, which overlap; name and namespace cannot
		// have changed if they were valid.
		changes := texts(upapivalidation.ValidateObjectMetaUpdate(&u, &before, field.NewPath("metadata")))
		want := slices.Clone(changes)
		for _, e := range upapivalidation.ValidateObjectMeta(&u, true, uppath.ValidatePathSegmentName, field.NewPath("metadata")) {
			if text := e.Error(); !slices.Contains(changes, text) && !strings.HasPrefix(e.Field, "metadata.name") && e.Field != "metadata.generateName" {
				want = append(want, text)
			}
		}
		want = slices.DeleteFunc(want, func(text string) bool { return strings.HasPrefix(text, "metadata.resourceVersion") })
		require.ElementsMatch(t, want, findings(metav1.ValidateMetaUpdate(&o, &old, validation.NewPath("metadata"))), "%s over %+v", at, before)
	}
}

func validateMeta(m *metav1.ObjectMeta, namespaced bool) validation.ErrorList {
	return metav1.ValidateMeta(m, namespaced, validation.NameIsSubdomain, validation.NewPath("metadata"))
}

// randomMetadata is metadata in upstream's and in our type.
func randomMetadata(r *rand.Rand) (upmetav1.ObjectMeta, metav1.ObjectMeta) {
	some := func(of ...string) string {
		if r.IntN(4) == 0 {
			return randomName(r)
		}
		return of[r.IntN(len(of))]
	}
	u := upmetav1.ObjectMeta{
		Name: some("a", "a", "b", ""), GenerateName: some("", "", "g-", "G"), Namespace: some("", "default", "other"), Generation: r.Int64N(4) - 1, UID: uptypes.UID(some("", "u1", "u2")),
		ResourceVersion: some("", "1", "2"),
	}
	if r.IntN(2) == 0 {
		u.Labels = map[string]string{some("a", "example.com/b"): some("", "v")}
	}
	if r.IntN(2) == 0 {
		u.Annotations = map[string]string{some("a", "example.com/B"): randomName(r)}
	}
	if r.IntN(2) == 0 {
		u.Finalizers = []string{some("orphan", "example.com/f"), some("foregroundDeletion", "example.com/g")}
	}
	if r.IntN(3) == 0 {
		now := upmetav1.Unix(int64(r.IntN(3)), 0)
		u.DeletionTimestamp = &now
	}
	if r.IntN(3) == 0 {
		seconds := r.Int64N(3)
		u.DeletionGracePeriodSeconds = &seconds
	}
	if r.IntN(2) == 0 {
		yes, block := r.IntN(2) == 0, r.IntN(2) == 0
		u.CreationTimestamp = upmetav1.Unix(int64(r.IntN(2))*5, 0)
		for range r.IntN(3) {
			u.OwnerReferences = append(u.OwnerReferences, upmetav1.OwnerReference{
				APIVersion: some("v1", "apps/v1", "v1/x/y"), Kind: some("Pod", "Event", ""), Name: some("n", ""), UID: uptypes.UID(some("u", "")), Controller: &yes, BlockOwnerDeletion: &block})
		}
	}
	o := metav1.ObjectMeta{
		Name: u.Name, GenerateName: u.GenerateName, Namespace: u.Namespace, Generation: u.Generation, UID: types.UID(u.UID), ResourceVersion: u.ResourceVersion, Labels: u.Labels, Annotations: u.Annotations,
		Finalizers: u.Finalizers, CreationTimestamp: metav1.NewTime(u.CreationTimestamp.Time), DeletionGracePeriodSeconds: u.DeletionGracePeriodSeconds,
	}
	if u.DeletionTimestamp != nil {
		o.DeletionTimestamp = new(metav1.NewTime(u.DeletionTimestamp.Time))
	}
	for _, ref := range u.OwnerReferences {
		o.OwnerReferences = append(o.OwnerReferences, metav1.OwnerReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: types.UID(ref.UID), Controller: ref.Controller, BlockOwnerDeletion: ref.BlockOwnerDeletion})
	}
	return u, o
}
