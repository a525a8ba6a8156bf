package metav1_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func TestConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := metav1.Now().Truncated()
		var all []metav1.Condition
		ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Starting", Message: "one", ObservedGeneration: 1}
		require.True(t, metav1.SetCondition(&all, ready))
		require.True(t, metav1.SetCondition(&all, metav1.Condition{Type: "Other", Status: metav1.ConditionUnknown, Reason: "R"}))
		time.Sleep(1500 * time.Millisecond)
		require.False(t, metav1.SetCondition(&all, ready), "nothing new")
		ready.Message, ready.ObservedGeneration = "two", 2
		require.True(t, metav1.SetCondition(&all, ready))
		got := metav1.FindCondition(all, "Ready")
		require.Equal(t, "two", got.Message)
		require.True(t, got.LastTransitionTime.Equal(&began), "the same status since the beginning")
		ready.Status = metav1.ConditionTrue
		require.True(t, metav1.SetCondition(&all, ready))
		later := metav1.NewTime(began.Add(time.Second))
		require.True(t, got.LastTransitionTime.Equal(&later), "whole seconds, as they come back from a server")
		require.Len(t, all, 2)
		require.True(t, metav1.ConditionIs(all, "Ready", metav1.ConditionTrue))
		require.False(t, metav1.ConditionIs(all, "None", metav1.ConditionFalse))

		ready.Status, ready.LastTransitionTime = metav1.ConditionFalse, metav1.Unix(5, 0)
		require.True(t, metav1.SetCondition(&all, ready))
		require.True(t, got.LastTransitionTime.Equal(&ready.LastTransitionTime), "the caller's own time")
		require.True(t, metav1.RemoveCondition(&all, "Ready"))
		require.False(t, metav1.RemoveCondition(&all, "Ready"))
		require.Equal(t, "Other", all[0].Type)
		require.Nil(t, metav1.FindCondition(all, "Ready"))
	})
}

func TestFinalizers(t *testing.T) {
	before := []string{"a", "b"}
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Finalizers: before}}
	require.False(t, metav1.AddFinalizer(obj, "a"))
	require.True(t, metav1.AddFinalizer(obj, "c"))
	require.Equal(t, []string{"a", "b", "c"}, obj.Finalizers)
	require.True(t, metav1.RemoveFinalizer(obj, "a"))
	require.False(t, metav1.RemoveFinalizer(obj, "a"))
	require.False(t, metav1.HasFinalizer(obj, "a"))
	require.Equal(t, []string{"b", "c"}, obj.Finalizers)
	require.Equal(t, []string{"a", "b"}, before, "a list that others may hold is not changed")
	require.False(t, metav1.IsTerminating(obj))
	obj.DeletionTimestamp = &metav1.Time{}
	require.True(t, metav1.IsTerminating(obj))
}
