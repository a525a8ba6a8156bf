package validation_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func TestPath(t *testing.T) {
	p := validation.NewPath("spec", "containers").Index(0)
	require.Equal(t, "spec.containers[0].name", p.Child("name").String())
	require.Equal(t, "spec.containers[0].ports[12].hostPort", p.Child("ports").Index(12).Child("hostPort").String())
	require.Equal(t, "spec.containers[0]", p.String(), "extending leaves a path unchanged")
	require.Equal(t, "metadata.labels[a/b]", validation.NewPath("metadata", "labels").Key("a/b").String())
	require.Equal(t, "[3].x", (*validation.Path)(nil).Index(3).Child("x").String())
	require.Equal(t, "a.b", (*validation.Path)(nil).Child("a", "b").String())
	require.Equal(t, "<nil>", (*validation.Path)(nil).String())
	require.Equal(t, "spec", p.Root().String())
	require.Nil(t, (*validation.Path)(nil).Root())
}

func TestErrorTexts(t *testing.T) {
	p := validation.NewPath("spec", "x")
	type named string
	for want, e := range map[string]*validation.Error{
		`spec.x: Required value`:                                     validation.Required(p, ""),
		`spec.x: Required value: say so`:                             validation.Required(p, "say so"),
		`spec.x: Invalid value: "a\"b": must be nice`:                validation.Invalid(p, `a"b`, "must be nice"),
		`spec.x: Invalid value: 5: too odd`:                          validation.Invalid(p, 5, "too odd"),
		`spec.x: Invalid value: -1: no`:                              validation.Invalid(p, int64(-1), "no"),
		`spec.x: Invalid value: null: no`:                            validation.Invalid(p, nil, "no"),
		`spec.x: Invalid value: {"a":"b"}: no`:                       validation.Invalid(p, map[string]string{"a": "b"}, "no"),
		`spec.x: Invalid value: "n": no`:                             validation.Invalid(p, named("n"), "no"),
		`spec.x: Invalid value: "s": wrong type`:                     validation.InvalidType(p, "s", "wrong type"),
		`spec.x: Unsupported value: "c": supported values: "a", "b"`: validation.NotSupported(p, "c", []named{"a", "b"}),
		`spec.x: Unsupported value: "c"`:                             validation.NotSupported[string](p, "c", nil),
		`spec.x: Forbidden: not now`:                                 validation.Forbidden(p, "not now"),
		`spec.x: Duplicate value: "a"`:                               validation.Duplicate(p, "a"),
		`spec.x: Not found: "a"`:                                     validation.NotFound(p, "a"),
		`spec.x: Too long: may not be more than 10 bytes`:            validation.TooLong(p, 10),
		`spec.x: Too long: may not be more than 1 character`:         validation.TooLongCharacters(p, 1),
		`spec.x: Too long: value is too long`:                        validation.TooLong(p, -1),
		`spec.x: Too short: must be at least 2 characters`:           validation.TooShort(p, "a", 2),
		`spec.x: Too many: 5: must have at most 1 item`:              validation.TooMany(p, 5, 1),
		`spec.x: Too many: has too many items`:                       validation.TooMany(p, -1, -1),
		`spec.x: Too few: 0: must have at least 2 items`:             validation.TooFew(p, 0, 2),
		`spec.x: Internal error: broken`:                             validation.Internal(p, errors.New("broken")),
	} {
		require.Equal(t, want, e.Error())
		require.Equal(t, want, e.Field+": "+e.Body())
	}
	require.Contains(t, (&validation.Error{Type: "Odd", Field: "f"}).Error(), "Odd")
}

func TestErrorTypesAreTheCauseTypesOfTheAPI(t *testing.T) {
	for kind, want := range map[validation.ErrorType]string{
		validation.TypeRequired: "FieldValueRequired", validation.TypeInvalid: "FieldValueInvalid", validation.TypeNotSupported: "FieldValueNotSupported",
		validation.TypeForbidden: "FieldValueForbidden", validation.TypeTooLong: "FieldValueTooLong", validation.TypeTooMany: "FieldValueTooMany",
		validation.TypeDuplicate: "FieldValueDuplicate", validation.TypeNotFound: "FieldValueNotFound", validation.TypeTypeInvalid: "FieldValueTypeInvalid",
		validation.TypeInternal: "InternalError", validation.TypeTooShort: "FieldValueTooShort", validation.TypeTooFew: "FieldValueTooFew",
	} {
		require.Equal(t, want, string(kind))
	}
}

func TestErrorList(t *testing.T) {
	var list validation.ErrorList
	require.NoError(t, list.Err())
	require.Empty(t, list.String())
	a, b := validation.Required(validation.NewPath("a"), ""), validation.Forbidden(validation.NewPath("b"), "no")
	require.EqualError(t, validation.ErrorList{a}.Err(), "a: Required value")
	list = validation.ErrorList{a, b, validation.Required(validation.NewPath("a"), "")}
	err := list.WithOrigin("test").Err()
	require.EqualError(t, err, "[a: Required value, b: Forbidden: no]", "same texts once")
	found, ok := errors.AsType[*validation.Error](err)
	require.True(t, ok)
	require.Same(t, a, found)
	require.Equal(t, "test", a.Origin)
	require.Equal(t, validation.ErrorList{b}, list.OfType(validation.TypeForbidden))
}

func TestQualifiedNames(t *testing.T) {
	for _, good := range []string{"a", "A.b_c-9", "example.com/Name", "a.b/c", strings.Repeat("a", 63), strings.Repeat("a", 253) + "/" + strings.Repeat("b", 63)} {
		require.Nil(t, validation.IsQualifiedName(good), good)
	}
	for bad, phrase := range map[string]string{
		"":                              "name part must be non-empty",
		"/a":                            "prefix part must be non-empty",
		"a/":                            "name part must be non-empty",
		"a/b/c":                         "with an optional DNS subdomain prefix and '/'",
		"Upper/a":                       "prefix part a lowercase RFC 1123 subdomain",
		"-a":                            "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
		strings.Repeat("a", 64):         "must be no more than 63 bytes",
		strings.Repeat("a", 254) + "/b": "must be no more than 253 bytes",
		"a b":                           "name part",
	} {
		require.Contains(t, strings.Join(validation.IsQualifiedName(bad), "\n"), phrase, bad)
	}
}

func TestPhrasesThatToolsLookFor(t *testing.T) {
	for phrase, messages := range map[string][]string{
		"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name'": validation.IsDNS1123Label("A"),
		"must not contain dots": validation.IsDNS1123Label("a.b"),
		"regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'":                validation.IsDNS1123Subdomain("_"),
		"a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character": validation.IsDNS1035Label("1a"),
		"must be between 1 and 65535, inclusive":                                      validation.IsPortNumber(0),
		"a valid label must be an empty string or consist of alphanumeric characters": validation.IsLabelValue("-"),
		"must not start with '..'":                                                    validation.IsConfigMapKey("..a"),
	} {
		require.Contains(t, strings.Join(messages, "\n"), phrase)
	}
}

func TestNumbers(t *testing.T) {
	for _, port := range []int64{1, 80, 65535} {
		require.Nil(t, validation.IsPortNumber(port))
	}
	for _, port := range []int64{-1, 0, 65536} {
		require.NotNil(t, validation.IsPortNumber(port))
	}
	require.Nil(t, validation.IsUserID(math.MaxInt32))
	require.NotNil(t, validation.IsUserID(math.MaxInt32+1))
	require.NotNil(t, validation.IsGroupID(-1))
	require.Nil(t, validation.NonNegative(nil, 0))
	require.Equal(t, `x: Invalid value: -1: must be greater than or equal to 0`, validation.NonNegative(validation.NewPath("x"), -1).String())
}

func TestDomainNames(t *testing.T) {
	p := validation.NewPath("x")
	require.Nil(t, validation.FullyQualifiedName(p, "a.b.c"))
	require.NotNil(t, validation.FullyQualifiedName(p, "a.b"))
	require.NotNil(t, validation.FullyQualifiedName(p, "A.b.c"))
	require.Equal(t, validation.TypeRequired, validation.FullyQualifiedName(p, "")[0].Type)
	require.Nil(t, validation.FullyQualifiedDomainName(p, "a.b."))
	require.NotNil(t, validation.FullyQualifiedDomainName(p, "a"))
	require.NotNil(t, validation.FullyQualifiedDomainName(p, strings.Repeat("a", 64)+".b"))
	require.NotNil(t, validation.FullyQualifiedDomainName(p, "_.b"))
	require.Equal(t, validation.TypeRequired, validation.FullyQualifiedDomainName(p, "")[0].Type)
	require.Nil(t, validation.DomainPrefixedPath(p, "acme.io/foo/bar"))
	require.NotNil(t, validation.DomainPrefixedPath(p, "acme.io/"))
	require.NotNil(t, validation.DomainPrefixedPath(p, "acme.io/a b"))
	require.NotNil(t, validation.DomainPrefixedPath(p, "ACME/foo"))
	require.NotNil(t, validation.DomainPrefixedPath(p, ""))
	require.Nil(t, validation.DomainPrefixedKey(p, "acme.io/foo"))
	require.NotNil(t, validation.DomainPrefixedKey(p, "foo"))
	require.NotNil(t, validation.DomainPrefixedKey(p, "acme.io/"))
	require.NotNil(t, validation.DomainPrefixedKey(p, ""))
}

func TestIP(t *testing.T) {
	const no, lenient, strict, canonical = 0, 1, 2, 3
	for ip, want := range map[string]int{
		"": no, "10.0.0": no, "10.0.0.256": no, "10.0.0.1 ": no, "fe80::1%eth0": no, "x": no, "1:2": no, "10.0.0.-1": no, "1.2.3.4/8": no,
		"010.0.0.1": lenient, "10.0.0.001": lenient, "::ffff:1.2.3.4": lenient, "::ffff:1.2.3.04": lenient, "00001::": lenient,
		"2001:DB8::1": strict, "2001:0db8::1": strict, "2001:db8:0:0::1": strict,
		"10.0.0.1": canonical, "0.0.0.0": canonical, "::": canonical, "2001:db8::1": canonical,
	} {
		require.Equal(t, want >= lenient, validation.IsIPLegacy(ip, false) == nil, ip)
		require.Equal(t, want >= strict, validation.IsIPLegacy(ip, true) == nil, ip)
		require.Equal(t, want >= canonical, validation.IsIP(ip) == nil, ip)
		require.Equal(t, want == lenient || want == strict, validation.IPWarning(nil, ip) != "", ip)
	}
	for cidr, want := range map[string]int{
		"": no, "10.0.0.0": no, "10.0.0.0/": no, "10.0.0.0/33": no, "::/129": no, "10.0.0.0/+8": no, "10.0.0.0/8/8": no, "10.0.0.0/-1": no, "fe80::%a/64": no, "10.0.0.0/99999999999999999999": no,
		"010.0.0.0/8": lenient, "10.0.0.0/08": lenient, "10.0.0.1/8": lenient, "::ffff:10.0.0.0/104": lenient, "2001:db8::1/64": lenient,
		"2001:DB8::/64": strict,
		"10.0.0.0/8":    canonical, "0.0.0.0/0": canonical, "::/0": canonical, "2001:db8::/64": canonical, "10.0.0.1/32": canonical,
	} {
		require.Equal(t, want >= lenient, validation.IsCIDRLegacy(cidr, false) == nil, cidr)
		require.Equal(t, want >= strict, validation.IsCIDRLegacy(cidr, true) == nil, cidr)
		require.Equal(t, want >= canonical, validation.IsCIDR(cidr) == nil, cidr)
		require.Equal(t, want == lenient || want == strict, validation.CIDRWarning(nil, cidr) != "", cidr)
	}
	require.Contains(t, validation.CIDRWarning(validation.NewPath("x"), "::ffff:10.1.0.0/104"), `use "10.0.0.0/8"`)
	for _, good := range []string{"10.0.0.7/24", "2001:db8::1/64"} {
		require.Nil(t, validation.IsInterfaceAddress(good))
	}
	for _, bad := range []string{"10.0.0.7", "10.0.0.07/24", "::ffff:10.0.0.7/120", "2001:DB8::1/64"} {
		require.NotNil(t, validation.IsInterfaceAddress(bad), bad)
	}
}

func TestNames(t *testing.T) {
	require.Nil(t, validation.NameIsSubdomain("a.b", false))
	require.NotNil(t, validation.NameIsSubdomain("a.b-", false))
	require.Nil(t, validation.NameIsSubdomain("a.b-", true), "a random suffix will follow")
	require.NotNil(t, validation.NameIsLabel("a.b", false))
	require.Nil(t, validation.NameIsLabel("a-", true))
	require.NotNil(t, validation.NameIsLabel("-", true))
	require.NotNil(t, validation.NameIsLabel1035("1a", false))
	require.Nil(t, validation.NameIsPathSegment("system:node", false))
	require.NotNil(t, validation.NameIsPathSegment("..", false))
	require.Nil(t, validation.NameIsPathSegment("..", true))
}

func TestLabelsAndAnnotations(t *testing.T) {
	p := validation.NewPath("metadata", "labels")
	require.Nil(t, validation.Labels(p, nil))
	require.Nil(t, validation.Labels(p, map[string]string{"a/b": "c", "x": ""}))
	found := validation.Labels(p, map[string]string{"z z": "ok", "a a": "not ok", "good": "fine"})
	require.Len(t, found, 3)
	require.Equal(t, `"a a"`, fmt.Sprintf("%q", found[0].BadValue), "in the order of the keys")
	require.Equal(t, "metadata.labels", found[1].Field)
	require.Equal(t, "format=k8s-label-value", found[1].Origin)

	require.Nil(t, validation.Annotations(p, map[string]string{"EXAMPLE.com/Name": "any text \n at all"}))
	require.Len(t, validation.Annotations(p, map[string]string{"a b": ""}), 1)
	big := map[string]string{"a": strings.Repeat("x", validation.AnnotationsMaxSize-1)}
	require.Nil(t, validation.Annotations(p, big))
	big["b"] = ""
	require.Equal(t, validation.TypeTooLong, validation.Annotations(p, big)[0].Type)
}

func TestFinalizers(t *testing.T) {
	p := validation.NewPath("metadata", "finalizers")
	require.Nil(t, validation.Finalizers(p, []string{"a/b", "orphan"}))
	require.Len(t, validation.Finalizers(p, []string{"a b"}), 1)
	require.Contains(t, validation.Finalizers(p, []string{"orphan", "foregroundDeletion"}).String(), "cannot be both set")
	require.Nil(t, validation.NoNewFinalizers(p, []string{"b"}, []string{"a", "b"}))
	require.Equal(t, `metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"c", "d"}`,
		validation.NoNewFinalizers(p, []string{"d", "c", "a", "d"}, []string{"a"}).String())
}

func TestOwnerReferences(t *testing.T) {
	p := validation.NewPath("metadata", "ownerReferences")
	good := validation.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "a", UID: "u", Controller: new(true)}
	require.Nil(t, validation.OwnerReferences(p, []validation.OwnerReference{good}))
	fields := func(refs ...validation.OwnerReference) (out []string) {
		for _, e := range validation.OwnerReferences(p, refs) {
			out = append(out, strings.TrimPrefix(e.Field, p.String()))
		}
		return out
	}
	require.Equal(t, []string{".apiVersion", ".kind", ".name", ".uid"}, fields(validation.OwnerReference{}))
	require.Equal(t, []string{".apiVersion"}, fields(validation.OwnerReference{APIVersion: "a/b/c", Kind: "K", Name: "n", UID: "u"}))
	require.Equal(t, []string{""}, fields(validation.OwnerReference{APIVersion: "v1", Kind: "Event", Name: "n", UID: "u"}))
	require.Equal(t, []string{""}, fields(good, good), "one controller at most")
}

func TestFieldManager(t *testing.T) {
	p := validation.NewPath("fieldManager")
	require.Nil(t, validation.FieldManager(p, "kubectl edit"))
	require.Equal(t, validation.TypeTooLong, validation.FieldManager(p, strings.Repeat("a", 129))[0].Type)
	require.Equal(t, validation.TypeInvalid, validation.FieldManager(p, "a\nb")[0].Type)
	require.Nil(t, validation.Immutable(p, "a", "a"))
	require.Equal(t, `fieldManager: Invalid value: "b": field is immutable`, validation.Immutable(p, "b", "a").String())
}

func TestChecksOfGoodValuesDoNotAllocate(t *testing.T) {
	labels := map[string]string{"app": "web", "example.com/tier": "front", "pod-template-hash": "5d4f8c7b9"}
	p := validation.NewPath("metadata", "labels")
	for name, check := range map[string]func(){
		"labels":    func() { validation.Labels(p, labels) },
		"subdomain": func() { validation.IsDNS1123Subdomain("web-5d4f8c7b9-x2x7z") },
		"label":     func() { validation.IsDNS1123Label("web") },
		"qualified": func() { validation.IsQualifiedName("example.com/tier") },
		"value":     func() { validation.IsLabelValue("v1.2_3") },
	} {
		require.Zero(t, testing.AllocsPerRun(100, check), name)
	}
}

func BenchmarkChecks(b *testing.B) {
	labels := map[string]string{"app": "web", "example.com/tier": "front", "pod-template-hash": "5d4f8c7b9"}
	p := validation.NewPath("metadata", "labels")
	b.Run("Labels", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			validation.Labels(p, labels)
		}
	})
	b.Run("IsDNS1123Subdomain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			validation.IsDNS1123Subdomain("web-5d4f8c7b9-x2x7z")
		}
	})
}

func ExamplePath() {
	var found validation.ErrorList
	containers := validation.NewPath("spec", "containers")
	for i, name := range []string{"web", "Side Car"} {
		found = append(found, validation.InvalidEach(containers.Index(i).Child("name"), name, validation.IsDNS1123Label(name))...)
	}
	for _, e := range found {
		fmt.Println(e.Type, e.Field)
	}
	// Output: Invalid value spec.containers[1].name
}
