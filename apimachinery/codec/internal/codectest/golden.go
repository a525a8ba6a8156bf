// Package codectest has what the tests of codec and of its internal packages share: recorded objects, random
// values of all types, and a type with every kind of field.
package codectest

import (
	_ "embed"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

//go:embed testdata/pod.json
var pod []byte

// Pod returns a Pod of a running cluster, in JSON and decoded.
func Pod(t testing.TB) ([]byte, *corev1.Pod) {
	out := &corev1.Pod{}
	require.NoError(t, codec.Unmarshal(pod, out))
	return slices.Clone(pod), out
}

//go:embed testdata/protobuf_golden.json
var golden []byte

// Object is an object that kube-apiserver 1.36.3 encoded in both forms.
type Object struct {
	Path   string          `json:"path"`
	JSON   json.RawMessage `json:"json"`
	Base64 string          `json:"protobufBase64"`
}

// Golden returns recorded objects of every kind.
func Golden(t testing.TB) []Object {
	var out []Object
	require.NoError(t, json.Unmarshal(golden, &out))
	return out
}

// NewObject makes an empty object or list of a built-in kind.
func NewObject(t testing.TB, apiVersion, kind string) any {
	gv, err := schema.ParseGroupVersion(apiVersion)
	require.NoError(t, err)
	switch kind {
	case "Scale":
		return &autoscalingv1.Scale{}
	case "Status":
		return &metav1.Status{}
	case "APIResourceList":
		return &metav1.APIResourceList{}
	case "APIGroup":
		return &metav1.APIGroup{}
	}
	for _, info := range api.Scheme().All() {
		switch {
		case info.GVK == gv.WithKind(kind):
			return info.New()
		case info.ListKind() == gv.WithKind(kind):
			return info.NewList()
		}
	}
	require.Fail(t, "no such kind", "%s %s", apiVersion, kind)
	return nil
}
