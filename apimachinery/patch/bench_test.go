package patch_test

import (
	"os"
	"reflect"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/patch"
)

// A condition and an image of the Pod change, as status updates and rollouts do.
func BenchmarkPatchPod(b *testing.B) {
	doc, err := os.ReadFile("testdata/pod.json")
	require.NoError(b, err)
	merge := []byte(`{"metadata":{"labels":{"a":"b","c":null}},"status":{"phase":"Running","podIP":"10.0.0.1"}}`)
	loop := func(name string, f func() ([]byte, error)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	loop("merge", func() ([]byte, error) { return patch.Merge(doc, merge) })
	loop("merge by json-patch", func() ([]byte, error) { return jsonpatch.MergePatch(doc, merge) })
	loop("strategic", func() ([]byte, error) {
		return patch.Strategic(doc, []byte(`{"status":{"conditions":[{"type":"Ready","status":"True"}]},"metadata":{"labels":{"a":"b"}}}`), reflect.TypeFor[corev1.Pod]())
	})
	modified, err := patch.Merge(doc, merge)
	require.NoError(b, err)
	loop("create strategic", func() ([]byte, error) {
		return patch.CreateTwoWayStrategic(doc, modified, reflect.TypeFor[corev1.Pod]())
	})
	loop("json", func() ([]byte, error) {
		return patch.JSON(doc, []byte(`[{"op":"add","path":"/metadata/labels/a","value":"b"},{"op":"replace","path":"/status/phase","value":"Running"}]`))
	})
}
