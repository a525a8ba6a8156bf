package certificatesv1_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

// made returns a certificate request and a certificate, DER.
func made(t *testing.T) (request, certificate []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	request, err = x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err = x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return request, certificate
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func TestCreateRules(t *testing.T) {
	der, _ := made(t)
	good := block("CERTIFICATE REQUEST", der)
	forged := bytes.Clone(der)
	forged[len(forged)-1] ^= 1
	value := func(data []byte) string {
		text, err := json.Marshal(base64.StdEncoding.EncodeToString(data))
		require.NoError(t, err)
		return string(text)
	}
	long := "a.test/" + strings.Repeat(strings.Repeat("b", 62)+".", 9)
	apitest.Create(t, [][4]string{
		{"csr", "spec.request", value(good), ""},
		{"csr", "spec.request", value(append(bytes.Clone(good), '\n', ' ')), ""},
		{"csr", "spec.request", value(append(bytes.Clone(good), good...)), "spec.request Invalid"},
		{"csr", "spec.request", value(block("CERTIFICATE", der)), "spec.request Invalid"},
		{"csr", "spec.request", value(block("CERTIFICATE REQUEST", forged)), "spec.request Invalid"},
		{"csr", "spec.request", value(block("CERTIFICATE REQUEST", der[:20])), "spec.request Invalid"},
		{"csr", "spec.request", value([]byte("text")), "spec.request Invalid"},
		{"csr", "spec.usages", `[]`, "spec.usages Required"},
		{"csr", "spec.usages", `["client auth","client auth"]`, "spec.usages[1] Duplicate"},
		{"csr", "spec.usages", `["flying"]`, "spec.usages[0] NotSupported"},
		{"csr", "spec.signerName", `""`, "spec.signerName Required"},
		{"csr", "spec.signerName", `"a.test"`, "spec.signerName Invalid"},
		{"csr", "spec.signerName", `"a.test/b/c"`, "spec.signerName Invalid"},
		{"csr", "spec.signerName", `"test/s"`, "spec.signerName Invalid"},
		{"csr", "spec.signerName", `"a.test/B"`, "spec.signerName Invalid"},
		{"csr", "spec.signerName", `"kubernetes.io/legacy-unknown"`, "spec.signerName Invalid"},
		{"csr", "spec.signerName", `"` + long + `b"`, "spec.signerName TooLong"},
		{"csr", "spec.expirationSeconds", `600`, ""},
		{"csr", "spec.expirationSeconds", `599`, "spec.expirationSeconds Invalid"},
	})
}

var (
	approved = certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}
	denied   = certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue}
	failed   = certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue}
	own      = certificatesv1.CertificateSigningRequestCondition{Type: "Own", Status: corev1.ConditionFalse}
)

func request(certificate []byte, list ...certificatesv1.CertificateSigningRequestCondition) *certificatesv1.CertificateSigningRequest {
	return &certificatesv1.CertificateSigningRequest{Status: certificatesv1.CertificateSigningRequestStatus{Conditions: list, Certificate: certificate}}
}

// Who may change what of a request's status: an update nothing that decides, a signer the certificate and the
// failure, an approver approval and denial.
func TestChangesOfStatus(t *testing.T) {
	_, der := made(t)
	cert := block("CERTIFICATE", der)
	headers := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der, Headers: map[string]string{"A": "b"}})
	const (
		atConditions  = "status.conditions FieldValueForbidden"
		atCertificate = "status.certificate FieldValueForbidden"
		badData       = "status.certificate FieldValueInvalid"
	)
	for _, c := range []struct {
		name                     string
		from, to                 *certificatesv1.CertificateSigningRequest
		update, signer, approval []string
	}{
		{"nothing", request(cert, approved), request(cert, approved), nil, nil, nil},
		{"approve", request(nil), request(nil, approved), []string{atConditions}, []string{atConditions}, nil},
		{"withdraw", request(nil, denied), request(nil), []string{atConditions}, []string{atConditions}, []string{atConditions}},
		{"fail", request(nil), request(nil, failed), []string{atConditions}, nil, nil},
		{"own condition", request(nil), request(nil, own), nil, nil, nil},
		{"issue", request(nil), request(cert), []string{badData}, nil, []string{atCertificate}},
		{"issue a chain", request(nil), request(append(bytes.Clone(cert), cert...)), []string{badData}, nil, []string{atCertificate}},
		{"reissue", request(cert), request(append(bytes.Clone(cert), '\n')), []string{badData}, []string{atCertificate}, []string{atCertificate}},
		{"issue text", request(nil), request([]byte("text")), []string{badData}, []string{badData}, []string{atCertificate}},
		{"issue headers", request(nil), request(headers), []string{badData}, []string{badData}, []string{atCertificate}},
		{"issue a key", request(nil), request(block("PRIVATE KEY", der)), []string{badData}, []string{badData}, []string{atCertificate}},
		{"issue a part", request(nil), request(block("CERTIFICATE", der[:20])), []string{badData}, []string{badData}, []string{atCertificate}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.ElementsMatch(t, c.update, apitest.Found(certificatesv1.ValidateCertificateSigningRequestUpdate(c.to, c.from)), "update")
			require.ElementsMatch(t, c.signer, apitest.Found(certificatesv1.ValidateCertificateSigningRequestStatus(c.to, c.from)), "signer")
			require.ElementsMatch(t, c.approval, apitest.Found(certificatesv1.ValidateCertificateSigningRequestApproval(c.to, c.from)), "approval")
		})
	}
}

func TestConditions(t *testing.T) {
	with := func(list ...certificatesv1.CertificateSigningRequestCondition) []string {
		return apitest.Found(certificatesv1.ValidateCertificateSigningRequestApproval(request(nil, list...), request(nil)))
	}
	undecided := approved
	undecided.Status = corev1.ConditionFalse
	require.Equal(t, []string{"status.conditions[0].status FieldValueNotSupported"}, with(undecided))
	require.Equal(t, []string{"status.conditions[0].status FieldValueNotSupported"},
		with(certificatesv1.CertificateSigningRequestCondition{Type: "Own", Status: "Maybe"}))
	require.Equal(t, []string{"status.conditions[0].status FieldValueRequired", "status.conditions[0].type FieldValueRequired"},
		with(certificatesv1.CertificateSigningRequestCondition{}))
	require.Equal(t, []string{"status.conditions[1].type FieldValueInvalid"}, with(approved, denied))
	require.Equal(t, []string{"status.conditions[1].type FieldValueDuplicate"}, with(own, own))
}
