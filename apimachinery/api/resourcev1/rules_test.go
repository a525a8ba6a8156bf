package resourcev1_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestCreateRules(t *testing.T) {
	apitest.Create(t, [][4]string{
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"1.2.3"},"w":{"version":"10.0.0-rc.1+a-b.01"},"x":{"version":"0.0.0--"}}`, ""},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"v1.2.3"}}`, "spec.devices[0].attributes[v].version Invalid"},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"1.2"}}`, "spec.devices[0].attributes[v].version Invalid"},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"01.2.3"}}`, "spec.devices[0].attributes[v].version Invalid"},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"1.2.3-01"}}`, "spec.devices[0].attributes[v].version Invalid"},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"1.2.3-a..b"}}`, "spec.devices[0].attributes[v].version Invalid"},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":"1.2.3+ü"}}`, "spec.devices[0].attributes[v].version Invalid"},
		{"resourceslice", "spec.devices.0.attributes", `{"v":{"version":""}}`, "spec.devices[0].attributes[v].version Invalid"},
	})
}

// Objects are rejected for all that is wrong with them and nothing else.
func TestFindings(t *testing.T) {
	const slice = `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"d","pool":{"name":"p","resourceSliceCount":1},`
	for _, f := range []struct {
		name, body string
		want       []string
	}{
		{"claims have no metadata but labels", `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"t","namespace":"n"},"spec":{"metadata":{"name":"x","uid":"u","labels":{"a b":""}},"spec":{"devices":{}}}}`,
			[]string{"spec.metadata.labels FieldValueInvalid", "spec.metadata.name FieldValueForbidden", "spec.metadata.uid FieldValueForbidden"}},
		{"requests of a claim", `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c","namespace":"n"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"d","tolerations":[{"operator":"Equal"}]}},{"name":"r","exactly":{"deviceClassName":"d"}},{"firstAvailable":[{"deviceClassName":"d"}]}],"constraints":[{"requests":["A/r"],"matchAttribute":"x"}]}}}`,
			[]string{"spec.devices.constraints[0].matchAttribute FieldValueInvalid", "spec.devices.constraints[0].requests[0] FieldValueInvalid", "spec.devices.requests[1] FieldValueDuplicate",
				"spec.devices.requests[2].firstAvailable[0].name FieldValueInvalid", "spec.devices.requests[2].name FieldValueInvalid"}},
		{"a class for a resource of Kubernetes", `{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"c","generateName":"C_"},"spec":{"extendedResourceName":"kubernetes.io/a b"}}`,
			[]string{"spec.extendedResourceName FieldValueInvalid"}},
		{"an empty slice", `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"}}`,
			[]string{"spec FieldValueRequired", "spec.driver FieldValueRequired", "spec.pool.name FieldValueRequired", "spec.pool.resourceSliceCount FieldValueInvalid"}},
		{"devices of nodes", slice + `"perDeviceNodeSelection":true,"devices":[{"name":"a","nodeName":"x","allNodes":true},{"name":"b"},{"name":"c","nodeName":""},{"name":"d","allNodes":false}]}}`,
			[]string{"spec.devices[0] FieldValueInvalid", "spec.devices[1] FieldValueRequired", "spec.devices[2] FieldValueRequired", "spec.devices[2].nodeName FieldValueInvalid",
				"spec.devices[3] FieldValueRequired", "spec.devices[3].allNodes FieldValueInvalid"}},
		{"devices of the slice's node", slice + `"nodeName":"n","devices":[{"name":"","nodeName":"x","taints":[{"effect":"NoSchedule"}]}],"sharedCounters":[{"name":"c","counters":{"a.b":{"value":"1"}}},{"name":"c"}]}}`,
			[]string{"spec FieldValueInvalid", "spec.devices[0] FieldValueInvalid", "spec.devices[0].name FieldValueInvalid", "spec.devices[0].taints[0].key FieldValueInvalid", "spec.sharedCounters[0].counters FieldValueInvalid", "spec.sharedCounters[1] FieldValueDuplicate", "spec.sharedCounters[1].counters FieldValueRequired"}},
		{"what devices take, and wait for", slice + `"allNodes":true,"devices":[{"name":"a","consumesCounters":[{"counterSet":"x"},{"counterSet":"x","counters":{"A":{"value":"1"}}}],"bindingConditions":["a b","c"]},` +
			`{"name":"b","bindingConditions":["c"],"bindingFailureConditions":["c","d","d"]},{"name":"c","capacity":{"a b":{"value":"1","requestPolicy":{}}},"attributes":{"a-b":{},"/c":{"int":1}}}]}}`,
			[]string{"spec.devices[0].bindingConditions[0] FieldValueInvalid", "spec.devices[0].bindingFailureConditions FieldValueInvalid", "spec.devices[0].consumesCounters[0].counters FieldValueRequired",
				"spec.devices[0].consumesCounters[1] FieldValueDuplicate", "spec.devices[0].consumesCounters[1].counters FieldValueInvalid", "spec.devices[1].bindingFailureConditions[0] FieldValueInvalid",
				"spec.devices[1].bindingFailureConditions[2] FieldValueDuplicate", "spec.devices[2].attributes FieldValueInvalid", "spec.devices[2].attributes[a-b] FieldValueInvalid",
				"spec.devices[2].capacity FieldValueInvalid", "spec.devices[2].capacity[a b].requestPolicy FieldValueForbidden"}},
	} {
		t.Run(f.name, func(t *testing.T) { apitest.Findings(t, f.body, f.want) })
	}
}
