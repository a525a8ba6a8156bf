package controllers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers"
)

func TestOwn(t *testing.T) {
	s := api.Scheme()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "owner", UID: "1"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s"}}
	plain := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "9"}
	secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "1"}, plain}
	want := []metav1.OwnerReference{plain, {APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "1", Controller: new(true), BlockOwnerDeletion: new(true)}}
	for range 2 {
		require.NoError(t, controllers.Own(s, owner, secret))
		require.Equal(t, want, secret.OwnerReferences, "once, however often it is called")
	}
	require.True(t, metav1.IsControlledBy(secret, "1"))

	var owned *controllers.OwnedError
	err := controllers.Own(s, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "other", UID: "2"}}, secret)
	require.ErrorAs(t, err, &owned)
	require.EqualError(t, err, "controllers: a/s is already controlled by ConfigMap owner")
	require.Equal(t, want, secret.OwnerReferences)

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "3"}}
	for text, call := range map[string]func() error{
		"it has no uid": func() error {
			return controllers.Own(s, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "new"}}, &corev1.Secret{})
		},
		"a namespaced owner must be in the same namespace": func() error {
			return controllers.Own(s, owner, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "b"}})
		},
		"cannot own /n: a namespaced owner": func() error { return controllers.Own(s, owner, node) },
		"unknown kind of *controllers_test.Website": func() error {
			return controllers.Own(s, &Website{ObjectMeta: metav1.ObjectMeta{Namespace: "a", UID: "1"}}, secret)
		},
		"reference to nil": func() error { return controllers.Own(s, (*corev1.ConfigMap)(nil), secret) },
	} {
		require.ErrorContains(t, call(), text)
	}
	require.NoError(t, controllers.Own(s, node, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "b"}}), "who has no namespace owns anywhere")
	kind := metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Website"}
	require.NoError(t, controllers.Own(s, &metav1.Unstructured{TypeMeta: kind, ObjectMeta: metav1.ObjectMeta{Namespace: "a", UID: "1"}}, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}}))
}

func TestAddOwner(t *testing.T) {
	s := api.Scheme()
	owner := func(name string, uid types.UID) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: uid}}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s"}}
	for range 2 {
		require.NoError(t, controllers.AddOwner(s, owner("one", "1"), secret))
		require.NoError(t, controllers.AddOwner(s, owner("two", "2"), secret))
		require.NoError(t, controllers.Own(s, owner("boss", "3"), secret))
		require.NoError(t, controllers.AddOwner(s, owner("boss", "3"), secret))
	}
	ref := func(name string, uid types.UID) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: uid}
	}
	boss := ref("boss", "3")
	boss.Controller, boss.BlockOwnerDeletion = new(true), new(true)
	require.ElementsMatch(t, []metav1.OwnerReference{ref("one", "1"), ref("two", "2"), boss}, secret.OwnerReferences)
	require.True(t, metav1.IsControlledBy(secret, "3"), "AddOwner does not take the control away")

	require.True(t, controllers.RemoveOwner(owner("one", "1"), secret))
	require.False(t, controllers.RemoveOwner(owner("one", "1"), secret))
	require.Len(t, secret.OwnerReferences, 2)
	require.ErrorContains(t, controllers.AddOwner(s, owner("one", "1"), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "b"}}), "must be in the same namespace")
	require.ErrorContains(t, controllers.AddOwner(s, owner("one", "1"), &corev1.Node{}), "must be in the same namespace")
	require.ErrorContains(t, controllers.AddOwner(s, owner("new", ""), secret), "it has no uid")
}
