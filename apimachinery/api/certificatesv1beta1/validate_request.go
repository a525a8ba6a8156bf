package certificatesv1beta1

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

// DefaultPodCertificateRequest limits the lifetime of a certificate to a day unless the request says
// otherwise.
func DefaultPodCertificateRequest(r *PodCertificateRequest) {
	if r.Spec.MaxExpirationSeconds == nil {
		r.Spec.MaxExpirationSeconds = new(int32(MaxKubernetesLifetime))
	}
}

// ValidatePodCertificateRequest checks a request to be created, with the proof that its author has the
// private key.
func ValidatePodCertificateRequest(req *PodCertificateRequest) validation.ErrorList {
	var r check.Report
	s, p := &req.Spec, validation.NewPath("spec")
	r.Add(check.SignerName(s.SignerName, p.Child("signerName")))
	r.Add(check.SignerAnnotations(s.UnverifiedUserAnnotations, p.Child("unverifiedUserAnnotations")))
	for _, of := range []struct {
		kind, name string
		uid        types.UID
	}{{"pod", s.PodName, s.PodUID}, {"serviceAccount", s.ServiceAccountName, s.ServiceAccountUID}, {"node", s.NodeName, s.NodeUID}} {
		r.Each(p.Child(of.kind+"Name"), of.name, validation.IsDNS1123Subdomain(of.name))
		r.If(of.uid == "", p.Child(of.kind+"UID"), of.uid, "must not be empty")
		if len(of.uid) > maxUID {
			r.TooLong(p.Child(of.kind+"UID"), maxUID)
		}
	}
	r.Add(validateLifetime(s, p.Child("maxExpirationSeconds")))
	if s.MaxExpirationSeconds != nil {
		r.Add(validateKey(s, p))
	}
	return r.List()
}

const (
	maxUID           = 128
	certificateBlock = "CERTIFICATE"
)

func validateLifetime(s *PodCertificateRequestSpec, p *path) validation.ErrorList {
	var r check.Report
	if s.MaxExpirationSeconds == nil {
		r.Required(p, "must be set")
		return r.List()
	}
	most := check.CertificateSeconds(s.SignerName)
	r.If(*s.MaxExpirationSeconds < MinLifetime || *s.MaxExpirationSeconds > most, p, *s.MaxExpirationSeconds, fmt.Sprintf("must be in the range [%d, %d]", MinLifetime, most))
	return r.List()
}

// validateKey checks the key of a request and that its signature is made with it.
func validateKey(s *PodCertificateRequestSpec, p *path) validation.ErrorList {
	var r check.Report
	const omitted = "<value omitted>"
	for _, f := range []struct {
		name string
		data []byte
	}{{"stubPKCS10Request", s.StubPKCS10Request}, {"pkixPublicKey", s.PKIXPublicKey}, {"proofOfPossession", s.ProofOfPossession}} {
		if len(f.data) > MaxKeySize {
			r.TooLong(p.Child(f.name), MaxKeySize)
		}
	}
	stub, pkix, proof := len(s.StubPKCS10Request) > 0, len(s.PKIXPublicKey) > 0, len(s.ProofOfPossession) > 0
	if stub == pkix || pkix != proof {
		r.Invalid(p, omitted, "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set")
	}
	if !r.OK() {
		return r.List()
	}
	q := p.Child("stubPKCS10Request")
	if pkix {
		q = p.Child("pkixPublicKey")
	}
	key, err := publicKey(s)
	if err == nil {
		err = supported(key)
	}
	switch {
	case err != nil:
		r.Invalid(q, omitted, err.Error())
	case pkix:
		r.If(!proves(key, []byte(s.PodUID), s.ProofOfPossession), p.Child("proofOfPossession"), omitted, "could not verify proof-of-possession signature")
	default:
		request, _ := x509.ParseCertificateRequest(s.StubPKCS10Request) // publicKey has parsed it
		r.If(request.CheckSignature() != nil, q, omitted, "invalid signature")
	}
	return r.List()
}

// publicKey returns the key that a certificate is requested for.
func publicKey(s *PodCertificateRequestSpec) (any, error) {
	if len(s.StubPKCS10Request) == 0 {
		key, err := x509.ParsePKIXPublicKey(s.PKIXPublicKey)
		if err != nil {
			return nil, errors.New("must be a valid PKIX-serialized public key")
		}
		return key, nil
	}
	request, err := x509.ParseCertificateRequest(s.StubPKCS10Request)
	if err != nil {
		return nil, errors.New("must be a valid PKCS#10 CSR")
	}
	return request.PublicKey, nil
}

// supported returns an error for a key that no certificate may be issued for.
func supported(key any) error {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() || key.Curve == elliptic.P384() || key.Curve == elliptic.P521() {
			return nil
		}
		return errors.New("elliptic public keys must use curve P256, P384, or P521")
	case *rsa.PublicKey:
		if bits := key.Size() * 8; bits == 3072 || bits == 4096 {
			return nil
		}
		return errors.New("RSA keys must have modulus size 3072 or 4096")
	}
	return errors.New("unknown public key type; supported types are Ed25519, ECDSA, and RSA")
}

// proves reports whether a signature of text is made with the private key of key.
func proves(key any, text, signature []byte) bool {
	sum := sha256.Sum256(text)
	switch key := key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, text, signature)
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(key, sum[:], signature)
	case *rsa.PublicKey:
		return rsa.VerifyPSS(key, crypto.SHA256, sum[:], signature, nil) == nil
	}
	return false
}

// ValidatePodCertificateRequestUpdate checks a change of a request; what it requests stays.
func ValidatePodCertificateRequestUpdate(req, old *PodCertificateRequest) validation.ErrorList {
	var r check.Report
	check.Immutable(&r, validation.NewPath("spec"), &req.Spec, &old.Spec)
	return r.List()
}

// ValidatePodCertificateRequestStatus checks a change of a request's status: it gets its result once, and an
// issued certificate is one for its key and within its limits.
func ValidatePodCertificateRequestStatus(req, old *PodCertificateRequest) validation.ErrorList {
	var r check.Report
	p := validation.NewPath("status")
	known := 0
	for i := range req.Status.Conditions {
		c, q := &req.Status.Conditions[i], p.Child("conditions").Index(i)
		check.OneOf(&r, q.Child("type"), c.Type, PodCertificateIssued, PodCertificateDenied, PodCertificateFailed)
		known++
		r.If(known > 1, q.Child("type"), c.Type, `There may be at most one condition with type "Issued", "Denied", or "Failed"`)
		check.OneOf(&r, q.Child("status"), c.Status, metav1.ConditionTrue)
	}
	r.Add(metav1.ValidateConditions(req.Status.Conditions, p.Child("conditions")))
	if !r.OK() {
		return r.List()
	}
	result := req.Result()
	switch {
	case old.Result() != nil:
		r.If(!check.Same(&req.Status, &old.Status), p, "<value omitted>", "immutable after PodCertificateRequest is issued, denied, or failed")
	case result == nil:
		r.If(!check.Same(&req.Status, &old.Status), p, "<value omitted>", `status is immutable unless transitioning to "Issued", "Denied", or "Failed"`)
	case result.Type == PodCertificateIssued:
		r.Add(validateIssued(req, p, time.Now()))
	default:
		r.If(!check.Same(&req.Status, &PodCertificateRequestStatus{Conditions: req.Status.Conditions}), p, "<value omitted>",
			"non-condition status fields must be empty when denying or failing the PodCertificateRequest")
	}
	return r.List()
}

// validateIssued checks an issued certificate and what the status says about it.
func validateIssued(req *PodCertificateRequest, p *path, now time.Time) validation.ErrorList {
	var r check.Report
	const near, refresh = 5 * time.Minute, 10 * time.Minute
	s, chain := &req.Status, p.Child("certificateChain")
	leaf, fault := parseChain(s.CertificateChain)
	if fault == "" {
		fault = leafFault(&req.Spec, leaf)
	}
	if fault != "" {
		r.Invalid(chain, "<value omitted>", fault)
		return r.List()
	}
	for _, f := range []struct {
		name string
		at   *metav1.Time
		text string
	}{
		{"notBefore", s.NotBefore, "must be present and consistent with the issued certificate"},
		{"notAfter", s.NotAfter, "must be present and consistent with the issued certificate"},
		{"beginRefreshAt", s.BeginRefreshAt, "must be present and in the range [notbefore+10min, notafter-10min]"},
	} {
		if f.at == nil {
			r.Required(p.Child(f.name), f.text)
		}
	}
	if !r.OK() {
		return r.List()
	}
	r.If(!s.NotBefore.Time.Equal(leaf.NotBefore), p.Child("notBefore"), s.NotBefore, "must be set to the NotBefore time encoded in the leaf certificate")
	r.If(s.NotBefore.Sub(now).Abs() >= near, p.Child("notBefore"), s.NotBefore, "must be set to within 5 minutes of kube-apiserver's current time")
	r.If(!s.NotAfter.Time.Equal(leaf.NotAfter), p.Child("notAfter"), s.NotAfter, "must be set to the NotAfter time encoded in the leaf certificate")
	r.If(s.BeginRefreshAt.Time.Before(s.NotBefore.Add(refresh)), p.Child("beginRefreshAt"), s.BeginRefreshAt, "must be at least 10 minutes after status.notBefore")
	r.If(s.BeginRefreshAt.Time.After(s.NotAfter.Add(-refresh)), p.Child("beginRefreshAt"), s.BeginRefreshAt, "must be at least 10 minutes before status.notAfter")
	return r.List()
}

// parseChain returns the first certificate of a chain, or what is wrong with the chain.
func parseChain(text string) (leaf *x509.Certificate, fault string) {
	if len(text) > MaxCertificateChainSize {
		return nil, fmt.Sprintf("must be no more than %d bytes", MaxCertificateChainSize)
	}
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != certificateBlock {
			return nil, "issued certificate chain must consist entirely of CERTIFICATE PEM blocks"
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil && leaf == nil:
			return nil, "leaf certificate does not parse as valid X.509"
		case err != nil:
			return nil, "intermediate certificate does not parse as valid X.509"
		case leaf == nil:
			leaf = cert
		}
	}
	if leaf == nil {
		return nil, "issued certificate chain must contain at least one certificate"
	}
	return leaf, ""
}

// leafFault is what is wrong with an issued certificate, if anything.
func leafFault(s *PodCertificateRequestSpec, leaf *x509.Certificate) string {
	for _, name := range leaf.DNSNames {
		if name == "" || strings.Contains(name, "..") || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
			return fmt.Sprintf("leaf certificate has the invalid DNSName %q", name)
		}
	}
	for _, address := range leaf.EmailAddresses {
		if _, err := mail.ParseAddress(address); err != nil {
			return "leaf certificate should not contain invalid EmailAddress"
		}
	}
	want, err := publicKey(s)
	if err != nil {
		return "the key of the request: " + err.Error()
	}
	if key, ok := want.(interface{ Equal(crypto.PublicKey) bool }); !ok || !key.Equal(leaf.PublicKey) {
		return "leaf certificate was not issued to the requested public key"
	}
	switch lifetime := leaf.NotAfter.Sub(leaf.NotBefore); {
	case lifetime < MinLifetime*time.Second:
		return "leaf certificate lifetime must be >= 1 hour"
	case s.MaxExpirationSeconds != nil && lifetime > time.Duration(*s.MaxExpirationSeconds)*time.Second:
		return fmt.Sprintf("leaf certificate lifetime must be <= spec.maxExpirationSeconds (%d)", *s.MaxExpirationSeconds)
	}
	return ""
}
