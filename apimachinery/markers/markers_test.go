package markers_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/explain"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/markers"
	v1 "github.com/keelson-dev/keelson/apimachinery/markers/testdata/fixture/v1"
	"github.com/keelson-dev/keelson/apimachinery/markers/testdata/fixture/v1beta1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

const (
	group   = "shop.example.com"
	fixture = "github.com/keelson-dev/keelson/apimachinery/markers/testdata/fixture"
)

// kinds has the kinds of the fixture.
func kinds(t testing.TB, change ...func(*scheme.Kind)) *scheme.Scheme {
	s := scheme.New()
	k := scheme.Kind{Resource: "orders", Namespaced: true, ShortNames: []string{"od", "ord"}, Categories: []string{"all"}}
	for _, f := range change {
		f(&k)
	}
	require.NoError(t, scheme.Add[*v1beta1.Order](s, schema.GroupVersion{Group: group, Version: "v1beta1"}, k))
	require.NoError(t, scheme.Add[*v1.Order](s, schema.GroupVersion{Group: group, Version: "v1"}, k))
	return s
}

func read(t testing.TB) *markers.Source {
	s, err := markers.Parse(os.DirFS("testdata/fixture"), fixture)
	require.NoError(t, err)
	return s
}

// The files in testdata are what controller-gen 0.20.1 printed for the same source with Kubernetes' own
// types, without the descriptions of these types and the annotation with its version:
//
//	controller-gen crd webhook rbac:roleName=manager-role paths=./...
func TestSameAsControllerGen(t *testing.T) {
	source := read(t)
	definitions, err := source.Definitions(kinds(t), group, markers.Options{})
	require.NoError(t, err)
	require.Len(t, definitions, 1)
	roles, err := source.Roles("manager-role")
	require.NoError(t, err)
	webhooks, err := source.Webhooks()
	require.NoError(t, err)
	for file, objs := range map[string][]metav1.Object{"orders.yaml": {definitions[0]}, "roles.yaml": roles, "webhooks.yaml": webhooks} {
		want, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		var got bytes.Buffer
		require.NoError(t, manifest.Write(&got, objs...))
		require.Equal(t, string(want), got.String(), file)
	}
}

// The markers have the names of the kinds, for a program that registers them.
func TestRoots(t *testing.T) {
	roots, err := read(t).Roots()
	require.NoError(t, err)
	names := scheme.Kind{Resource: "orders", Namespaced: true, ShortNames: []string{"od", "ord"}, Categories: []string{"all"}}
	require.Equal(t, []markers.Root{
		{ImportPath: fixture + "/v1", Package: "v1", Type: "Order", GroupVersion: schema.GroupVersion{Group: group, Version: "v1"}, Kind: names},
		{ImportPath: fixture + "/v1beta1", Package: "v1beta1", Type: "Order", GroupVersion: schema.GroupVersion{Group: group, Version: "v1beta1"}, Kind: names},
	}, roots)

	const head = "// Package p is one.\n// +groupName=example.com\n// +versionName=v2\npackage p\n\n"
	for text, want := range map[string]scheme.Kind{
		"// +kubebuilder:object:root=true\ntype Policy struct{}\n":                                                                                                                      {Resource: "policies", Namespaced: true},
		"// +kubebuilder:object:root\n// +kubebuilder:resource:scope=Cluster\ntype Box struct{}\n":                                                                                      {Resource: "boxes"},
		"// +kubebuilder:object:root=true\n// +kubebuilder:resource:path=oxen,singular=bull\ntype Ox struct{}\n":                                                                        {Resource: "oxen", Singular: "bull", Namespaced: true},
		"// +kubebuilder:object:root=true\ntype Day struct{}\n":                                                                                                                         {Resource: "days", Namespaced: true},
		"// +kubebuilder:object:root=true\ntype A struct{}\n\n// +kubebuilder:object:root=true\ntype AList struct{ Items []A }\n\n// +kubebuilder:object:root=false\ntype B struct{}\n": {Resource: "as", Namespaced: true},
	} {
		s, err := parse(head + text)
		require.NoError(t, err)
		roots, err := s.Roots()
		require.NoError(t, err)
		require.Len(t, roots, 1, text)
		require.Equal(t, want, roots[0].Kind)
		require.Equal(t, schema.GroupVersion{Group: "example.com", Version: "v2"}, roots[0].GroupVersion)
	}
	for text, want := range map[string]string{
		"package p\n\n// +kubebuilder:object:root=true\ntype A struct{}\n":                                "the package example.com/p has no marker +groupName=GROUP",
		head + "// +kubebuilder:object:root=true\n// +kubebuilder:resource:scope=Node\ntype A struct{}\n": "scope is Node, but must be Namespaced or Cluster",
	} {
		s, err := parse(text)
		require.NoError(t, err)
		_, err = s.Roots()
		require.ErrorContains(t, err, want)
	}
}

// Types outside the source are described by Options.Texts.
func TestTexts(t *testing.T) {
	definitions, err := read(t).Definitions(kinds(t), group, markers.Options{Texts: explain.Text})
	require.NoError(t, err)
	root := definitions[0].Spec.Versions[0].Schema.OpenAPIV3Schema
	require.NotEmpty(t, root.Properties["kind"].Description)
	status := root.Properties["status"].Properties["conditions"].Items.Schema
	require.NotEmpty(t, status.Properties["reason"].Description)
	require.Equal(t, "Selector of them.", root.Properties["status"].Properties["selector"].Description)
}

func TestContradictions(t *testing.T) {
	source := read(t)
	for want, change := range map[string]func(*scheme.Kind){
		"v1/types.go:15: +kubebuilder:resource: path is orders, but in the scheme purchases":    func(k *scheme.Kind) { k.Resource = "purchases" },
		"v1/types.go:15: +kubebuilder:resource: scope is Namespaced, but in the scheme Cluster": func(k *scheme.Kind) { k.Namespaced = false },
		"v1/types.go:15: +kubebuilder:resource: shortName is [od ord], but in the scheme []":    func(k *scheme.Kind) { k.ShortNames = nil },
		"v1.Order: the scheme and the marker +kubebuilder:subresource:status differ": func(k *scheme.Kind) {
			k.Subresources = []scheme.Subresource{{Name: "scale", Kind: "Scale"}}
		},
	} {
		_, err := source.Definitions(kinds(t, change), group, markers.Options{})
		require.ErrorContains(t, err, want)
	}
	_, err := source.Definitions(kinds(t), "other.example.com", markers.Options{})
	require.ErrorContains(t, err, "no kind of group other.example.com")
}

// parse reads one file with a type T in package p.
func parse(text string) (*markers.Source, error) {
	return markers.Parse(fstest.MapFS{"p/t.go": {Data: []byte(text)}, "p/t_test.go": {Data: []byte("no Go")}, "testdata/a.go": {Data: []byte("no Go")}}, "example.com")
}

func TestErrors(t *testing.T) {
	for line, want := range map[string]string{
		"+kubebuilder:nope=1":                         "p/t.go:4: +kubebuilder:nope: the marker is not known",
		"+kubebuilder:validation:Minimun=1":           "p/t.go:4: +kubebuilder:validation:Minimun: the marker is not known",
		"+kubebuilder:validation:Required":            "the marker has no effect here: it belongs to a field or no type or field",
		"+kubebuilder:printcolumn:name=A,kind=string": `there is no argument "kind": there are name, type, JSONPath`,
		"+kubebuilder:printcolumn:name=A,name=B":      "the argument name is given twice",
		"+kubebuilder:resource=a":                     "the arguments are named: path, scope",
	} {
		_, err := parse("package p\n\n// T is a type.\n// " + line + "\ntype T struct{ A string }\n")
		require.ErrorContains(t, err, want, line)
	}
	_, err := parse("package p\n\ntype T struct {\n\tA string // +optional\n}\n")
	require.ErrorContains(t, err, "p/t.go:4: +optional: a marker stands above its field")
	_, err = parse("package p\n\n// +kubebuilder:storageversion\n\nfunc f() {}\n")
	require.ErrorContains(t, err, "p/t.go:3: +kubebuilder:storageversion: the marker has no effect here: it belongs to a type")
	_, err = parse("package\n")
	require.ErrorContains(t, err, "p/t.go:1")
	_, err = parse("package p\n\n// +genclient\n// +k8s:deepcopy-gen=true\n// + not a marker\ntype T struct{}\n")
	require.NoError(t, err)
}

func TestBadRightsAndWebhooks(t *testing.T) {
	for line, want := range map[string]string{
		"groups=apps,resources=pods":                   "the verbs are missing",
		"groups=apps,verbs=get":                        "a rule has groups and resources, or urls",
		"groups=apps,resources=pods,urls=/a,verbs=get": "a rule for urls has no groups",
		`groups="apps,resources=pods,verbs=get`:        `groups: "apps,resources=pods,verbs=get is not a quoted string`,
	} {
		s, err := parse("package p\n\n// +kubebuilder:rbac:" + line + "\n")
		require.NoError(t, err)
		_, err = s.Roles("r")
		require.ErrorContains(t, err, "p/t.go:3: +kubebuilder:rbac: "+want, line)
	}
	const good = "path=/a,mutating=true,failurePolicy=fail,sideEffects=None,groups=g,resources=r,verbs=create,versions=v1,name=a.b.c,admissionReviewVersions=v1"
	for change, want := range map[string]string{
		"path=/a,>path=a,":                                      `path "a" does not begin with /`,
		"mutating=true>mutating=yes":                            `mutating: "yes" is not true or false`,
		"failurePolicy=fail>failurePolicy=no":                   `failurePolicy cannot be "no"`,
		"verbs=create>verbs=get":                                "the verbs are create, update, delete, connect and *",
		"versions=v1,>":                                         "versions are missing",
		"name=a.b.c,>":                                          "name, sideEffects and admissionReviewVersions are required",
		"path=/a>path=/a,url=https://a":                         "url excludes path and service",
		"path=/a>path=/a,timeoutSeconds=1s":                     `timeoutSeconds: "1s" is not a number`,
		"path=/a>path=/a,webhookVersions=v1beta1":               "webhookVersions can only be v1",
		"mutating=true>mutating=false,reinvocationPolicy=Never": "reinvocationPolicy is for mutating webhooks",
	} {
		before, after, _ := strings.Cut(change, ">")
		s, err := parse("package p\n\n// +kubebuilder:webhook:" + strings.Replace(good, before, after, 1) + "\n")
		require.NoError(t, err)
		_, err = s.Webhooks()
		require.ErrorContains(t, err, "p/t.go:3: +kubebuilder:webhook: "+want, change)
	}
}

func ExampleParse() {
	source, err := markers.Parse(fstest.MapFS{"controller.go": {Data: []byte(`package shop

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch

func Reconcile() {}
`)}}, "example.com/shop")
	if err != nil {
		panic(err)
	}
	roles, err := source.Roles("shop")
	if err != nil {
		panic(err)
	}
	var out bytes.Buffer
	if err := manifest.Write(&out, roles...); err != nil {
		panic(err)
	}
	fmt.Print(out.String())
	// Output:
	// ---
	// apiVersion: rbac.authorization.k8s.io/v1
	// kind: ClusterRole
	// metadata:
	//   name: shop
	// rules:
	// - apiGroups:
	//   - apps
	//   resources:
	//   - deployments
	//   verbs:
	//   - get
	//   - list
	//   - watch
}
