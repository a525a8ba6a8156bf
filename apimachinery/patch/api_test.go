package patch_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/patch"
)

func TestBuiltInTypes(t *testing.T) {
	for name, c := range map[string]struct {
		kind             reflect.Type
		doc, patch, want string
	}{
		"container lists merge by name, ports by number": {
			reflect.TypeFor[*corev1.Pod](),
			`{"metadata":{"name":"p","labels":{"a":"1"}},"spec":{"containers":[{"name":"web","image":"w:1","ports":[{"containerPort":80}],"env":[{"name":"A","value":"1"}]},{"name":"log"}]}}`,
			`{"metadata":{"labels":{"b":"2"}},"spec":{"containers":[{"name":"web","image":"w:2","ports":[{"containerPort":81}],"env":[{"name":"A","$patch":"delete"}]},{"name":"log","$patch":"delete"}]}}`,
			`{"metadata":{"name":"p","labels":{"a":"1","b":"2"}},"spec":{"containers":[{"name":"web","image":"w:2","ports":[{"containerPort":81},{"containerPort":80}],"env":[]}]}}`},
		"tolerations are replaced": {
			reflect.TypeFor[corev1.Pod](),
			`{"spec":{"tolerations":[{"key":"a"}]}}`, `{"spec":{"tolerations":[{"key":"b"}]}}`, `{"spec":{"tolerations":[{"key":"b"}]}}`},
		"finalizers are a set": {
			reflect.TypeFor[corev1.Pod](),
			`{"metadata":{"finalizers":["a","b"]}}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"finalizers":["c"]}}`, `{"metadata":{"finalizers":["c","b"]}}`},
		"deployment strategies retain keys": {
			reflect.TypeFor[*appsv1.Deployment](),
			`{"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%"}}}}`,
			`{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}`,
			`{"spec":{"strategy":{"type":"Recreate"}}}`},
		"conditions merge by type": {
			reflect.TypeFor[*appsv1.Deployment](),
			`{"status":{"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True"}]}}`,
			`{"status":{"conditions":[{"type":"Progressing","status":"False"}]}}`,
			`{"status":{"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"False"}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := patch.Strategic([]byte(c.doc), []byte(c.patch), c.kind)
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(got))
		})
	}
}
