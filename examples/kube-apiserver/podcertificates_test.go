package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Where bundles of certificates or requests for certificates are not served, no volume has any; nodes may
// request certificates where they are.
func TestCertificateVolumesNeedTheirKinds(t *testing.T) {
	const served = "--runtime-config=certificates.k8s.io/v1beta1=true"
	const spec = `"spec":{"containers":[{"name":"c","image":"i"}],"automountServiceAccountToken":false,"volumes":[{"name":"v","projected":{"sources":[` +
		`{"clusterTrustBundle":{"name":"b","path":"b"}},{"podCertificate":{"signerName":"a.test/boats","keyType":"ED25519","keyPath":"k"}},{"configMap":{"name":"c"}}]}}]}`
	for _, c := range []struct {
		args                  []string
		bundles, certificates bool
	}{
		{nil, false, false}, {[]string{served}, false, false},
		{[]string{served, "--feature-gates=ClusterTrustBundle=true"}, false, false},
		{[]string{served, "--feature-gates=ClusterTrustBundle=true,ClusterTrustBundleProjection=true"}, true, false},
		{[]string{served, "--feature-gates=PodCertificateRequest=true,AuthorizeNodeWithSelectors=true"}, false, true},
		{[]string{"--feature-gates=PodCertificateRequest=true,ClusterTrustBundle=true,ClusterTrustBundleProjection=true"}, false, false},
	} {
		do := groupServer(t, c.args...)
		_, _ = do(http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"default"}}`)
		for path, body := range map[string]string{
			"pods":                   `{"metadata":{"name":"p"},` + spec + `}`,
			"replicationcontrollers": `{"metadata":{"name":"r"},"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},` + spec + `}}}`,
		} {
			status, made := do(http.MethodPost, "/api/v1/namespaces/default/"+path, body)
			require.Equal(t, http.StatusCreated, status, made)
			require.Equal(t, c.bundles, strings.Contains(made, `"clusterTrustBundle"`), "%s %s", c.args, made)
			require.Equal(t, c.certificates, strings.Contains(made, `"podCertificate"`), "%s %s", c.args, made)
			require.Contains(t, made, `"configMap"`)
		}
		_, role := do(http.MethodPatch, "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node", `{}`)
		require.Equal(t, c.certificates, strings.Contains(role, `"podcertificaterequests"`), role)
	}
	_, err := parse([]string{"--storage-backend=memory", "--feature-gates=ClusterTrustBundleProjection=true"})
	require.ErrorContains(t, err, "ClusterTrustBundleProjection is enabled, but depends on features that are disabled: [ClusterTrustBundle]")
}
