package statefulset

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// What a claim's references become. A reference is the first letter of its kind, in upper case if it is the
// controller: S of the StatefulSet, P of its pod, O of another object; s2 and p2 are previous ones of the
// names.
func TestWithOwner(t *testing.T) {
	const retain, remove = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	ref := func(text string) metav1.OwnerReference {
		r := map[byte]metav1.OwnerReference{
			's': {APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web"}, 'p': {APIVersion: "v1", Kind: "Pod", Name: "web-0"},
			'o': {APIVersion: "v1", Kind: "ConfigMap", Name: "other"},
		}[text[0]|0x20]
		r.UID = types.UID(text[:1])
		if text[0] < 'a' {
			r.UID, r.Controller = types.UID(text[0]|0x20), new(true)
		}
		if len(text) > 1 {
			r.UID = types.UID(text)
		}
		return r
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "s"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", UID: "p"}}
	for _, k := range []struct {
		deleted, scaled appsv1.PersistentVolumeClaimRetentionPolicyType
		condemned       bool
		refs, want      []string
		conflict        bool
	}{
		{deleted: retain, scaled: retain},
		{deleted: retain, scaled: retain, refs: []string{"O"}, want: []string{"O"}},
		{deleted: retain, scaled: retain, refs: []string{"S"}},
		{deleted: retain, scaled: retain, refs: []string{"O", "s"}, want: []string{"O"}},
		{deleted: remove, scaled: retain, want: []string{"S"}},
		{deleted: remove, scaled: retain, condemned: true, want: []string{"S"}},
		{deleted: remove, scaled: retain, refs: []string{"P"}, want: []string{"S"}},
		{deleted: remove, scaled: retain, refs: []string{"s"}, want: []string{"S"}},
		{deleted: remove, scaled: retain, refs: []string{"o", "S"}, want: []string{"o", "S"}},
		{deleted: remove, scaled: retain, refs: []string{"S", "o"}, want: []string{"S", "o"}},
		{deleted: remove, scaled: retain, refs: []string{"O"}, want: []string{"O"}, conflict: true},
		{deleted: remove, scaled: retain, refs: []string{"O", "s"}, want: []string{"O"}, conflict: true},
		{deleted: remove, scaled: retain, refs: []string{"s2"}, want: []string{"s2"}, conflict: true},
		{deleted: remove, scaled: retain, refs: []string{"p2"}, want: []string{"p2"}, conflict: true},
		{deleted: retain, scaled: remove, condemned: true, want: []string{"P"}},
		{deleted: retain, scaled: remove, refs: []string{"P"}},
		{deleted: remove, scaled: remove, condemned: true, refs: []string{"S"}, want: []string{"P"}},
		{deleted: remove, scaled: remove, refs: []string{"P"}, want: []string{"S"}},
	} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: k.deleted, WhenScaled: k.scaled}
			claim := &corev1.PersistentVolumeClaim{}
			for _, text := range k.refs {
				claim.OwnerReferences = append(claim.OwnerReferences, ref(text))
			}
			require.Equal(t, k.conflict, conflicting(set, pod, claim))
			refs, changed := withOwner(set, pod, claim, retention(set, k.condemned))
			require.Len(t, refs, len(k.want))
			for i, text := range k.want {
				want := ref(text)
				require.Equal(t, want.UID, refs[i].UID)
				require.Equal(t, want.Controller, refs[i].Controller)
			}
			require.Equal(t, fmt.Sprint(k.refs) != fmt.Sprint(k.want), changed)
		})
	}
}
