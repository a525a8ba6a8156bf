package resourcev1alpha3_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1alpha3"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type (
	request = resourcev1alpha3.ResourcePoolStatusRequest
	status  = resourcev1alpha3.ResourcePoolStatusRequestStatus
)

// The messages are tested where the kind is served, by examples/kube-apiserver.
func TestDefaultsAndBounds(t *testing.T) {
	r := &request{}
	r.Spec.Driver = "Gpu.example.com"
	require.Equal(t, []string{"spec.limit FieldValueRequired"}, apitest.Found(resourcev1alpha3.ValidateResourcePoolStatusRequest(r)))
	resourcev1alpha3.DefaultResourcePoolStatusRequest(r)
	require.Equal(t, int32(100), *r.Spec.Limit)
	for _, limit := range []int32{1, 1000} {
		r.Spec.Limit = &limit
		resourcev1alpha3.DefaultResourcePoolStatusRequest(r)
		require.Equal(t, limit, *r.Spec.Limit)
		require.Empty(t, resourcev1alpha3.ValidateResourcePoolStatusRequest(r))
	}
	pools, conditions := make([]resourcev1alpha3.PoolStatus, 1001), make([]metav1.Condition, 11)
	for i := range pools {
		pools[i] = resourcev1alpha3.PoolStatus{Driver: "d", PoolName: "p", Generation: 1}
	}
	for i := range conditions {
		conditions[i] = metav1.Condition{Type: fmt.Sprint("T", i), Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: metav1.Now()}
	}
	set := func(pools []resourcev1alpha3.PoolStatus, conditions []metav1.Condition) []string {
		now := &request{Status: &status{PoolCount: new(int32(0)), Pools: pools, Conditions: conditions}}
		return apitest.Found(resourcev1alpha3.ValidateResourcePoolStatusRequestStatus(now, &request{}))
	}
	require.Empty(t, set(pools[:1000], conditions[:10]))
	require.Equal(t, []string{"status.conditions FieldValueTooMany", "status.pools FieldValueTooMany"}, set(pools, conditions))
}

func TestAnswered(t *testing.T) {
	require.Nil(t, (&request{}).Answered())
	require.Nil(t, (&request{Status: &status{Conditions: []metav1.Condition{{Type: "Other"}}}}).Answered())
	for _, typ := range []string{resourcev1alpha3.Complete, resourcev1alpha3.Failed} {
		r := &request{Status: &status{Conditions: []metav1.Condition{{Type: "Other"}, {Type: typ}}}}
		require.Equal(t, typ, r.Answered().Type)
	}
}
