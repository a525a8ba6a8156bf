package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// certificateVolumes are templates of pods with certificates and trust bundles in volumes, right and wrong.
// Left out is a bundle with a name and a signer, where the message has kube-apiserver's internal type.
func certificateVolumes() (out []step) {
	n := 0
	template := func(sources string) {
		n++
		out = append(out, step{method: "POST", path: "/api/v1/namespaces/default/podtemplates", shown: []string{"template.spec.volumes"}, body: fmt.Sprintf(
			`{"metadata":{"name":"t%d"},"template":{"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","projected":{"sources":[%s]}}]}}}`, n, sources)})
	}
	bundle := func(fields string) { template(`{"clusterTrustBundle":{` + fields + `}}`) }
	certificate := func(fields string) { template(`{"podCertificate":{` + fields + `}}`) }
	const (
		path = `,"path":"p"`
		key  = `,"keyType":"ED25519","keyPath":"k"`
	)
	for _, name := range []string{"", "plain", "Plain", "a:b", "a.test:boats:v1", "a.test:boats:", ":", "a.test:boats:V", "a.test:x:y:z", strings.Repeat("x", 254)} {
		bundle(fmt.Sprintf(`"name":%q`, name) + path)
	}
	signers := []string{"", "boats", "a.test/boats", "a.test/boats/x", "test/boats", "A.test/boats", "a.test/Boats", "a.test/", "/boats", "a..test/boats", "a.test/b..c", "kubernetes.io/legacy-unknown",
		strings.Repeat("a.", 127) + "test/boats", "a.test/" + strings.Repeat("x", 254), strings.Repeat("a.", 120) + "test/" + strings.Repeat("x.", 170) + "y"}
	for _, signer := range signers {
		bundle(fmt.Sprintf(`"signerName":%q`, signer) + path)
		certificate(fmt.Sprintf(`"signerName":%q`, signer) + key)
	}
	for _, fields := range []string{"", `"name":"a"`, `"path":"p"`, `"name":"a","path":""`, `"name":"a","path":"/p"`, `"name":"a","path":"../p"`, `"name":"a","path":"..p"`,
		`"name":"a","labelSelector":{}` + path, `"signerName":"a.test/b","labelSelector":{}` + path, `"signerName":"a.test/b","optional":true,"labelSelector":{"matchLabels":{"a":"b c"}}` + path,
		`"signerName":"a.test/b","labelSelector":{"matchExpressions":[{"key":"a","operator":"Is"}]}` + path} {
		bundle(fields)
	}
	of := func(fields string) { certificate(`"signerName":"a.test/b",` + fields) }
	for _, fields := range []string{`"keyType":""`, `"keyType":"RSA2048","keyPath":"k"`, `"keyType":"RSA3072","keyPath":"k"`, `"keyType":"RSA4096","certificateChainPath":"k"`, `"keyType":"ECDSAP256","credentialBundlePath":"k"`,
		`"keyType":"ECDSAP384","keyPath":"k","certificateChainPath":"c","credentialBundlePath":"b"`, `"keyType":"ECDSAP521","keyPath":"k","certificateChainPath":"k"`, `"keyType":"ED25519"`, `"keyType":"ED25519","keyPath":"../k"`,
		`"keyType":"ED25519","certificateChainPath":"/k"`, `"keyType":"ED25519","credentialBundlePath":"..k"`} {
		of(fields)
	}
	for _, seconds := range []string{"0", "3599", "3600", "86400", "86401", "7862400", "7862401", "-1"} {
		of(`"maxExpirationSeconds":` + seconds + key)
		certificate(`"signerName":"kubernetes.io/b","maxExpirationSeconds":` + seconds + key)
		certificate(`"signerName":"x.kubernetes.io/b","maxExpirationSeconds":` + seconds + key)
	}
	for _, name := range []string{"a", "a.test/b", "A.Test/B", "a.test/", "/b", "a.test/b/c", "a.test/b_c", "test/b"} {
		of(fmt.Sprintf(`"userAnnotations":{%q:"x"}`, name) + key)
	}
	of(`"userAnnotations":{"a.test/b":"` + strings.Repeat("x", 256<<10) + `"}` + key)
	template(`{"clusterTrustBundle":{"name":"a","path":"p"}},{"podCertificate":{"signerName":"a.test/b"` + strings.Replace(key, `"k"`, `"p"`, 1) + `}}`)
	template(`{"clusterTrustBundle":{"name":"a","path":"p"},"podCertificate":{"signerName":"a.test/b"` + key + `}}`)
	template(`{"clusterTrustBundle":{"name":"a","path":"p"}},{"podCertificate":{"signerName":"a.test/b"` + key + `}}`)
	return out
}

// TestCertificateVolumesBeside sends both servers the same templates with the features that are about
// certificates in volumes, with some of them and without.
func TestCertificateVolumesBeside(t *testing.T) {
	const served = "--runtime-config=certificates.k8s.io/v1beta1=true"
	for _, args := range [][]string{
		{served, "--feature-gates=ClusterTrustBundle=true,ClusterTrustBundleProjection=true,PodCertificateRequest=true"},
		{served, "--feature-gates=ClusterTrustBundle=true,PodCertificateRequest=true"},
		nil,
	} {
		theirs, ours := startUpstream(t, args...), startLive(t, args...)
		for _, l := range []*live{theirs, ours} {
			l.until("the namespace default is there", func() bool { return l.code(l.http2, "/api/v1/namespaces/default") == http.StatusOK })
		}
		for i, s := range certificateVolumes() {
			compareStep(t, theirs, ours, i, s)
		}
	}
}
