package interop

import (
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	k8scorev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/patch"
)

// A strategic merge patch of the bench Pod, from bytes to bytes: a label, one container's image by its name,
// and a condition.
func BenchmarkStrategicMerge(b *testing.B) {
	doc, err := os.ReadFile("testdata/pod.json")
	require.NoError(b, err)
	changes := []byte(`{"metadata":{"labels":{"patched":"yes"}},"spec":{"$setElementOrder/containers":[{"name":"app"}],"containers":[{"name":"app","image":"new"}]},
		"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
	typ := reflect.TypeFor[corev1.Pod]()
	ours, err := patch.Strategic(doc, changes, typ)
	require.NoError(b, err)
	theirs, err := strategicpatch.StrategicMergePatch(doc, changes, k8scorev1.Pod{})
	require.NoError(b, err)
	require.JSONEq(b, string(theirs), string(ours))
	loop(b, "keelson", func() error {
		_, err := patch.Strategic(doc, changes, typ)
		return err
	})
	loop(b, "upstream", func() error {
		_, err := strategicpatch.StrategicMergePatch(doc, changes, k8scorev1.Pod{})
		return err
	})
}
