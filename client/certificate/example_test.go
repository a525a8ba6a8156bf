package certificate_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/certificate"
)

// office is a server that signs every request immediately.
type office struct {
	signed *certificatesv1.CertificateSigningRequest
}

func (*office) Scheme() *scheme.Scheme { return api.Scheme() }

func (o *office) Do(_ context.Context, r *client.Request) (*client.Response, error) {
	if r.ContentType == client.MediaProtobuf {
		return nil, apierrors.NewUnsupportedMediaType("JSON only")
	}
	if r.Method == "POST" {
		csr := &certificatesv1.CertificateSigningRequest{}
		if err := codec.Unmarshal(r.Body, csr); err != nil {
			return nil, err
		}
		csr.Name, csr.UID, csr.ResourceVersion = csr.GenerateName+"1", "1", "1"
		csr.Status.Certificate = sign(csr.Spec.Request)
		o.signed = csr
	}
	var answer any = o.signed
	if r.Method == "GET" {
		l := &certificatesv1.CertificateSigningRequestList{Items: []*certificatesv1.CertificateSigningRequest{o.signed}}
		l.ResourceVersion = "1"
		answer = l
	}
	b, err := codec.Marshal(answer)
	return &client.Response{Code: 200, ContentType: client.MediaJSON, Body: b}, err
}

func (*office) Stream(context.Context, *client.Request) (*client.Stream, error) {
	return nil, apierrors.NewServiceUnavailable("nothing changes here")
}

// sign issues a certificate for an hour.
func sign(request []byte) []byte {
	block, _ := pem.Decode(request)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		panic(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(2), Subject: csr.Subject, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}, ca, csr.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// An agent gets a client certificate. As rest.Config.Credentials of connections, the manager keeps their
// certificate valid.
func Example() {
	got := make(chan string, 1)
	m, err := certificate.New(certificate.Options{
		Conn: &office{}, Signer: certificatesv1.KubeAPIServerClientSignerName,
		Request: func() *x509.CertificateRequest {
			return &x509.CertificateRequest{Subject: pkix.Name{CommonName: "agent", Organization: []string{"agents"}}}
		},
		OnChange: func(c *tls.Certificate) { got <- c.Leaf.Subject.String() },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = m.Run(ctx) }()
	fmt.Println(<-got)
	cancel()
	<-done
	// Output: CN=agent,O=agents
}
