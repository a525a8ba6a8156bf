package kubelet_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/store/certs"
)

const certifiedPod = `
apiVersion: v1
kind: Pod
metadata: {name: certified}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  securityContext: {runAsUser: 1234}
  containers: [{name: c, image: busybox, imagePullPolicy: Never, command: [sleep, "1000"], volumeMounts: [{name: v, mountPath: /v}]}]
  volumes:
  - name: v
    projected:
      sources:
      - clusterTrustBundle: {name: boats, path: ca.pem}
      - podCertificate: {signerName: example.com/boats, keyType: ED25519, credentialBundlePath: bundle.pem}
`

// testCertificates runs a pod with the certificates of a trust bundle and one of its own, which a signer
// issues, and follows a change of the bundle.
func (n *realNode) testCertificates() {
	change := n.change
	startWith := func(with func(*kubelet.Options)) {
		n.stop()
		n.change = with
		n.stop = n.startKubelet(false)
	}
	startWith(func(o *kubelet.Options) {
		if change != nil {
			change(o)
		}
		o.TrustBundles, o.PodCertificates = true, true
	})
	defer startWith(change)

	gv := certificatesv1beta1.GroupVersion
	bundles := client.ForResource[*bundle](n.conn, client.Resource{GVR: gv.WithResource("clustertrustbundles"), GVK: gv.WithKind("ClusterTrustBundle")})
	requests := client.ForResource[*podRequest](n.conn, client.Resource{GVR: gv.WithResource("podcertificaterequests"), GVK: gv.WithKind("PodCertificateRequest"), Namespaced: true})
	ctx := n.t.Context()
	ca, err := certs.NewAuthority("boats")
	require.NoError(n.t, err)
	first, err := bundles.Create(ctx, &bundle{ObjectMeta: controllertest.Name("", "boats"), Spec: certificatesv1beta1.ClusterTrustBundleSpec{TrustBundle: string(ca.CertPEM())}})
	require.NoError(n.t, err)
	n.apply(certifiedPod)
	var r *podRequest
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for e, err := range requests.Watch(waiting, client.WatchOptions{Namespace: "default"}) {
		require.NoError(n.t, err)
		r = e.Object
		break
	}
	require.NotNil(n.t, r, "no request")
	require.Equal(n.t, "certified", r.Spec.PodName)
	pod := string(r.Spec.PodUID)
	csr, err := x509.ParseCertificateRequest(r.Spec.StubPKCS10Request)
	require.NoError(n.t, err)
	sign(n.t, ca, csr.PublicKey, r, nil)
	setResult(r, certificatesv1beta1.PodCertificateIssued, "Fine", "")
	_, err = requests.UpdateStatus(ctx, r)
	require.NoError(n.t, err)
	n.until("certified", is("True"), "get", "pod", "certified", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	read := func(file string) string { return n.kubectl("exec", "certified", "--", "cat", "/v/"+file) }
	pair, err := tls.X509KeyPair([]byte(read("bundle.pem")), []byte(read("bundle.pem")))
	require.NoError(n.t, err)
	roots := x509.NewCertPool()
	require.True(n.t, roots.AppendCertsFromPEM([]byte(read("ca.pem"))))
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	require.NoError(n.t, err)
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "certified", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	require.NoError(n.t, err)
	require.Equal(n.t, "600 1234", strings.TrimSpace(n.kubectl("exec", "certified", "--", "stat", "-L", "-c", "%a %u", "/v/bundle.pem")), "nobody else reads the key")

	other, err := certs.NewAuthority("boats")
	require.NoError(n.t, err)
	first.Spec.TrustBundle = string(other.CertPEM())
	_, err = bundles.Update(ctx, first)
	require.NoError(n.t, err)
	n.until("the new bundle", is(strings.TrimSpace(string(other.CertPEM()))), "exec", "certified", "--", "cat", "/v/ca.pem")
	n.kubectl("delete", "pod", "certified")
	require.Eventually(n.t, func() bool {
		_, err := os.Stat(filepath.Join(n.dir, "kubelet", "pods", pod))
		return errors.Is(err, fs.ErrNotExist)
	}, patience, 100*time.Millisecond)
}
