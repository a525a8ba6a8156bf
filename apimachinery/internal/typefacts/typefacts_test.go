package typefacts_test

import (
	"go/ast"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagemigrationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/internal/typefacts"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

type pair[A, B any] struct {
	First  A
	Second B
}

func TestName(t *testing.T) {
	for want, typ := range map[string]reflect.Type{
		"io.k8s.api.core.v1.Pod":                                        reflect.TypeFor[corev1.Pod](),
		"io.k8s.api.core.v1.PodList":                                    reflect.TypeFor[metav1.List[*corev1.Pod]](),
		"io.k8s.api.flowcontrol.v1.FlowSchema":                          reflect.TypeFor[flowcontrolv1.FlowSchema](),
		"io.k8s.api.storagemigration.v1beta1.StorageVersionMigration":   reflect.TypeFor[storagemigrationv1beta1.StorageVersionMigration](),
		"io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService": reflect.TypeFor[apiregistrationv1.APIService](),
		"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta":               reflect.TypeFor[metav1.ObjectMeta](),
		"io.k8s.apimachinery.pkg.runtime.RawExtension":                  reflect.TypeFor[metav1.RawExtension](),
		"io.k8s.apimachinery.pkg.util.intstr.IntOrString":               reflect.TypeFor[intstr.IntOrString](),
		"go.ast.Ident": reflect.TypeFor[ast.Ident](),
		"com.github.keelson-dev.keelson.apimachinery.internal.typefacts_test.pair_int_string": reflect.TypeFor[pair[int, string]](),
	} {
		require.Equal(t, want, typefacts.Name(typ))
	}
	require.Equal(t, "io.k8s.api.batch.v1", typefacts.PackageName("github.com/keelson-dev/keelson/apimachinery/api/batchv1"))
	require.Equal(t, "org.example.a.b", typefacts.PackageName("example.org/a/b"))
}

// Every fact names a type and a field that the built-in kinds have, so that a renamed one does not lose it.
func TestFactsNameWhatExists(t *testing.T) {
	types := map[string]reflect.Type{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			visit(typ.Elem())
		case reflect.Struct:
			name := typefacts.Name(typ)
			if types[name] != nil {
				return
			}
			types[name] = typ
			for i := range typ.NumField() {
				visit(typ.Field(i).Type)
			}
		}
	}
	for _, info := range api.Scheme().All() {
		visit(info.Type)
	}
	gated := scheme.New()
	for _, g := range api.AllGated() {
		require.NoError(t, g.AddToScheme(gated))
	}
	for _, info := range gated.All() {
		visit(info.Type)
	}
	visit(reflect.TypeFor[autoscalingv1.Scale]()) // the body of a subresource
	for _, name := range typefacts.Structs() {
		require.Contains(t, types, name)
	}
	for _, fact := range typefacts.Fields() {
		dot := strings.LastIndexByte(fact, '.')
		typ, field := types[fact[:dot]], fact[dot+1:]
		require.NotNil(t, typ, fact)
		require.True(t, slices.ContainsFunc(reflect.VisibleFields(typ), func(f reflect.StructField) bool {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return name == field
		}), fact)
	}
}

func TestFacts(t *testing.T) {
	require.True(t, typefacts.AtomicStruct("io.k8s.api.core.v1.NodeSelector"))
	require.False(t, typefacts.AtomicStruct("io.k8s.api.core.v1.Pod"))
	require.False(t, typefacts.AtomicStruct("api.core.v1.NodeSelector"), "the OpenAPI name is the whole one")
	u, ok := typefacts.UnionOf("io.k8s.api.flowcontrol.v1.Subject")
	require.True(t, ok)
	require.Equal(t, "kind", u.Discriminator)
	_, ok = typefacts.UnionOf("io.k8s.api.core.v1.Pod")
	require.False(t, ok)
	v, ok := typefacts.Default("io.k8s.api.autoscaling.v1.ScaleSpec", "replicas")
	require.True(t, ok)
	require.Equal(t, 0, v)
	_, ok = typefacts.Default("io.k8s.api.core.v1.PodSpec", "nodeName")
	require.False(t, ok)
	require.Equal(t, []string{"Egress", "Ingress"}, typefacts.ElementEnum("io.k8s.api.networking.v1.NetworkPolicySpec", "policyTypes"))
	require.Nil(t, typefacts.ElementEnum("io.k8s.api.core.v1.PodSpec", "containers"))
}
