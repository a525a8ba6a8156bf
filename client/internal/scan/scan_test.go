package scan

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func sample() *corev1.ConfigMap {
	cm := &corev1.ConfigMap{Data: map[string]string{"a\"b": "ü\\\n", "x": "{}]"}}
	cm.Name, cm.Namespace, cm.UID, cm.ResourceVersion, cm.Generation = "n", "ns", "u", "42", 7
	cm.Labels = map[string]string{"l1": "v1", "l2": ""}
	cm.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true", "z": "k8s.io/initial-events-end"}
	cm.Finalizers = []string{"f1", "f2"}
	cm.DeletionTimestamp = &metav1.Time{Time: metav1.Unix(5, 0).Time}
	cm.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:a":{}}`)}}, {Manager: "o"}}
	return cm
}

var want = Meta{Namespace: "ns", Name: "n", UID: "u", ResourceVersion: "42", Generation: 7,
	Labels: []Pair{{"l1", "v1"}, {"l2", ""}}, InitialEventsEnd: true, Terminating: true, Finalizers: 2}

func TestMetaAndManagedFields(t *testing.T) {
	cm := sample()
	j, err := codec.Marshal(cm)
	require.NoError(t, err)
	p, err := codec.MarshalProto(cm)
	require.NoError(t, err)
	m, err := JSONMeta(j)
	require.NoError(t, err)
	require.Equal(t, want, m)
	m, err = ProtoMeta(p)
	require.NoError(t, err)
	require.Equal(t, want, m)

	cm.ManagedFields = nil
	slim := JSONWithoutManaged(j)
	var got corev1.ConfigMap
	require.NoError(t, codec.Unmarshal(slim, &got))
	require.True(t, codec.Equal(cm, &got))
	require.Equal(t, len(slim), cap(slim))
	slim = ProtoWithoutManaged(p)
	got = corev1.ConfigMap{}
	require.NoError(t, codec.UnmarshalProto(slim, &got))
	require.True(t, codec.Equal(cm, &got))
	require.Equal(t, len(slim), cap(slim))
	// A message field in two parts.
	p = append(p, 1<<3|2, 4, 6<<3|2, 2, '4', '3')
	m, err = ProtoMeta(p)
	require.NoError(t, err)
	require.Equal(t, "43", m.ResourceVersion)
	m, err = ProtoMeta(ProtoWithoutManaged(p))
	require.NoError(t, err)
	require.Equal(t, "43", m.ResourceVersion)
}

func TestManagedFieldsAnywhere(t *testing.T) {
	for _, s := range []string{
		`{"metadata":{"managedFields":[1]},"a":1}`, `{"metadata":{"managedFields":[1],"name":"x"}}`, `{"metadata":{"name":"x" , "managedFields" : [ 1 ] } }`,
		`{"metadata":{"name":"x"}}`, `{}`, `{"a":{"managedFields":[1]}}`,
	} {
		out := JSONWithoutManaged([]byte(s))
		var v map[string]any
		require.NoError(t, json.Unmarshal(out, &v), "%s", out)
		if m, ok := v["metadata"].(map[string]any); ok {
			require.NotContains(t, m, "managedFields")
		}
	}
}

func TestController(t *testing.T) {
	refs := []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Node", Name: "n", UID: "1"},
		{APIVersion: "v1", Kind: "Node", Name: "n", UID: "2", Controller: new(false)},
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "a\"b", UID: "3", Controller: new(true), BlockOwnerDeletion: new(true)},
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "second", UID: "4", Controller: new(true)},
	}
	for n, want := range []Owner{{}, {}, {}, {APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "a\"b", UID: "3", BlockDeletion: true, controller: true}} {
		cm := sample()
		cm.OwnerReferences = refs[:n]
		if n == 3 {
			cm.OwnerReferences = refs
		}
		j, err := codec.Marshal(cm)
		require.NoError(t, err)
		p, err := codec.MarshalProto(cm)
		require.NoError(t, err)
		got, ok := JSONController(j)
		require.Equal(t, n == 3, ok)
		require.Equal(t, want, got)
		got, ok = ProtoController(p)
		require.Equal(t, n == 3, ok)
		require.Equal(t, want, got)
	}
	for _, s := range []string{``, `{"metadata":null}`, `{"metadata":{"ownerReferences":null}}`, `{"metadata":{"ownerReferences":[null, 1, {"controller":"true"}]}}`, `{"metadata":{"ownerReferences":[{"controller":true`} {
		_, ok := JSONController([]byte(s))
		require.False(t, ok, s)
	}
}

func TestLists(t *testing.T) {
	l := &metav1.List[*corev1.ConfigMap]{Items: []*corev1.ConfigMap{sample(), sample()}}
	l.ResourceVersion, l.Continue, l.RemainingItemCount = "9", "c", new(int64(3))
	j, err := codec.Marshal(l)
	require.NoError(t, err)
	p, err := codec.MarshalProto(l)
	require.NoError(t, err)
	n := 0
	count := func([]byte) { n++ }
	v, c, rem, err := JSONList(j, count)
	require.NoError(t, err)
	require.Equal(t, []any{"9", "c", int64(3), 2}, []any{v, c, rem, n})
	v, c, rem, err = ProtoList(p, count)
	require.NoError(t, err)
	require.Equal(t, []any{"9", "c", int64(3), 4}, []any{v, c, rem, n})
}

func FuzzScan(f *testing.F) {
	j, _ := codec.Marshal(sample())
	p, _ := codec.MarshalProto(sample())
	f.Add(j)
	f.Add(p)
	f.Add([]byte(`{"items":[{"a":"\""}],"metadata":{"x":[[]]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		keep := bytes.Clone(b)
		m, err := JSONMeta(b)
		if err == nil && json.Valid(b) {
			slim := JSONWithoutManaged(b)
			require.True(t, json.Valid(slim), "%q", slim)
			again, err := JSONMeta(slim)
			require.NoError(t, err)
			require.Equal(t, m.Name, again.Name)
		}
		_, _ = ProtoMeta(b)
		_, _ = JSONController(b)
		_, _ = ProtoController(b)
		_ = ProtoWithoutManaged(b)
		_, _, _, _ = JSONList(b, func([]byte) {})
		_, _, _, _ = ProtoList(b, func([]byte) {})
		require.Equal(t, keep, b, "input is only read")
	})
}
