package kubelet

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
)

// podKey is the private key of a pod's certificate.
type podKey struct {
	// text is PKCS #8 in PEM, stub an empty certificate request in DER that is signed with the key.
	text, stub []byte
}

// newPodKey returns a new key of a type that podCertificate sources have.
func newPodKey(kind string) (*podKey, error) {
	key, err := generateKey(kind)
	if err != nil {
		return nil, fmt.Errorf("while generating keypair: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	stub, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, err
	}
	return &podKey{text: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), stub: stub}, nil
}

func generateKey(kind string) (crypto.Signer, error) {
	switch kind {
	case "RSA3072":
		return rsa.GenerateKey(rand.Reader, 3072)
	case "RSA4096":
		return rsa.GenerateKey(rand.Reader, 4096)
	case "ECDSAP256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ECDSAP384":
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ECDSAP521":
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "ED25519":
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	return nil, fmt.Errorf("unknown key type %q", kind)
}

// certificatesPEM returns certificates in PEM, without headers and without anything between them.
func certificatesPEM(ders [][]byte) []byte {
	var out bytes.Buffer
	for _, der := range ders {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: der}) // a buffer takes all
	}
	return out.Bytes()
}

// pemBlocks returns the contents of the blocks of a text in PEM.
func pemBlocks(text string) (list [][]byte) {
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return list
		}
		list = append(list, block.Bytes)
	}
}
