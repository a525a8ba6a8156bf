package storagev1_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

// Objects are rejected for all that is wrong with them and nothing else.
func TestFindings(t *testing.T) {
	for _, f := range []struct {
		name, body string
		want       []string
	}{
		{"a CSI driver's name may be long", `{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}`, nil},
		{"one topology twice", `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"s"},"provisioner":"p","allowedTopologies":[{"matchLabelExpressions":[{"key":"k","values":["v"]}]},{"matchLabelExpressions":[{"key":"k","values":["v"]}]}]}`,
			[]string{"allowedTopologies[1].matchLabelExpressions FieldValueDuplicate"}},
		{"topology keys", `{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"n"},"spec":{"drivers":[{"name":"d","nodeID":"i","topologyKeys":["a b","a b"]}]}}`,
			[]string{"spec.drivers[0] FieldValueDuplicate", "spec.drivers[0] FieldValueInvalid"}},
		{"tokens for nobody", `{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"d"},"spec":{"serviceAccountTokenInSecrets":false}}`,
			[]string{"spec.serviceAccountTokenInSecrets FieldValueInvalid"}},
	} {
		t.Run(f.name, func(t *testing.T) { apitest.Findings(t, f.body, f.want) })
	}
}
