package networkingv1_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestCreateRules(t *testing.T) {
	apitest.Create(t, [][4]string{
		{"ingress", "spec.rules.0.http.paths.0.backend", `{}`, "spec.rules[0].http.paths[0].backend Invalid"},
		{"ingress", "spec.rules.0.http.paths", `[]`, "spec.rules[0].http.paths Required"},
		{"ingress", "spec.rules", `[]`, "spec Invalid"},
		{"ingress-classes", "spec.ingressClassName", `"c"`, "annotations.kubernetes.io/ingress.class Invalid"},
		{"ingress-classes", "metadata.annotations", `{"kubernetes.io/ingress.class":"d"}`, ""},
		{"networkpolicy", "spec.egress", `[{"to":[{}]}]`, "spec.egress[0].to[0] Required"},
		{"networkpolicy", "spec.ingress", `[{"ports":[{"endPort":9}]}]`, "spec.ingress[0].ports[0].endPort Invalid"},
	})
}

// Objects are rejected for all that is wrong with them and nothing else.
func TestFindings(t *testing.T) {
	for _, f := range []struct {
		name, body string
		want       []string
	}{
		{"an address is not generated", `{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":"10.0.0.1","generateName":"x"},"spec":{"parentRef":{"resource":"a","name":"b"}}}`,
			[]string{"metadata.generateName FieldValueInvalid"}},
		{"three ranges", `{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"c"},"spec":{"cidrs":["x","y","z"]}}`, []string{"spec.cidrs FieldValueInvalid"}},
		{"exceptions of nothing", `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"p","namespace":"n"},"spec":{"podSelector":{},"egress":[{"to":[{"ipBlock":{"cidr":"x","except":["y"]}}]}]}}`,
			[]string{"spec.egress[0].to[0].ipBlock.cidr FieldValueInvalid"}},
	} {
		t.Run(f.name, func(t *testing.T) { apitest.Findings(t, f.body, f.want) })
	}
}
