package kubelet

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// A key is PKCS #8 in PEM, and its empty request is signed with it.
func TestPodKeys(t *testing.T) {
	for kind, is := range map[string]func(any) bool{
		"RSA3072":   func(k any) bool { return k.(*rsa.PrivateKey).N.BitLen() == 3072 },
		"RSA4096":   func(k any) bool { return k.(*rsa.PrivateKey).N.BitLen() == 4096 },
		"ECDSAP256": func(k any) bool { return k.(*ecdsa.PrivateKey).Curve == elliptic.P256() },
		"ECDSAP384": func(k any) bool { return k.(*ecdsa.PrivateKey).Curve == elliptic.P384() },
		"ECDSAP521": func(k any) bool { return k.(*ecdsa.PrivateKey).Curve == elliptic.P521() },
		"ED25519":   func(k any) bool { return len(k.(ed25519.PrivateKey)) == ed25519.PrivateKeySize },
	} {
		key, err := newPodKey(kind)
		require.NoError(t, err, kind)
		block, rest := pem.Decode(key.text)
		require.Empty(t, rest)
		require.Equal(t, "PRIVATE KEY", block.Type)
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		require.NoError(t, err, kind)
		require.True(t, is(parsed), kind)
		csr, err := x509.ParseCertificateRequest(key.stub)
		require.NoError(t, err)
		require.NoError(t, csr.CheckSignature())
		require.Empty(t, csr.Subject.Names)
		require.Equal(t, parsed.(crypto.Signer).Public(), csr.PublicKey, kind)
	}
	_, err := newPodKey("RSA2048")
	require.EqualError(t, err, `while generating keypair: unknown key type "RSA2048"`)
}

// Tokens, keys and trust bundles are for the user and the group of the pod alone, if it has them.
func TestPrivateFiles(t *testing.T) {
	user, group, mode := new(int64(1000)), new(int64(2000)), new(int32(0o444))
	pod := func(user, group *int64) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{RunAsUser: user, FSGroup: group}, Containers: []corev1.Container{{Name: "a"}}}}
	}
	data := []byte("x")
	require.Equal(t, file{data, 0o444, -1}, privateFile(pod(nil, nil), data, mode))
	require.Equal(t, file{data, 0o444, -1}, privateFile(&corev1.Pod{}, data, mode))
	require.Equal(t, file{data, 0o600, 1000}, privateFile(pod(user, nil), data, mode))
	require.Equal(t, file{data, 0o600, -1}, privateFile(pod(nil, group), data, mode))
	require.Equal(t, file{data, 0o600, 1000}, privateFile(pod(user, group), data, mode))
	two := pod(user, nil)
	two.Spec.Containers = append(two.Spec.Containers, corev1.Container{Name: "b", SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(1))}})
	require.Equal(t, file{data, 0o444, -1}, privateFile(two, data, mode))
	for uid, owner := range map[int64]int{1000: 1000, 1: -1} {
		debugged := pod(user, group)
		debugged.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e", SecurityContext: &corev1.SecurityContext{RunAsUser: &uid}}}}
		require.Equal(t, file{data, 0o600, owner}, privateFile(debugged, data, mode))
	}
}

// The order of certificates does not depend on that of the bundles, and is not sorted either.
func TestMergedBundles(t *testing.T) {
	block := func(b byte) string { return string(certificatesPEM([][]byte{{b, b}})) }
	var all, turned string
	for b := range byte(30) {
		all, turned = all+block(b), block(b)+"text\n"+turned
	}
	k := newTrustBundles(nil)
	merged := k.merge(all)
	require.Equal(t, string(merged), string(k.merge(turned, all, block(3))))
	require.Len(t, merged, len(all))
	require.NotEqual(t, all, string(merged))
	require.Empty(t, k.merge())
	require.Empty(t, k.merge("no PEM"))
}
