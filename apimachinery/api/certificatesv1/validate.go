package certificatesv1

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

const (
	minExpiration = 10 * 60
	// legacySignerName stands for a signer without rules, from before requests named their signer.
	legacySignerName = "kubernetes.io/legacy-unknown"
)

func usages() []KeyUsage {
	return []KeyUsage{
		UsageSigning, UsageDigitalSignature, UsageContentCommitment, UsageKeyEncipherment, UsageKeyAgreement, UsageDataEncipherment,
		UsageCertSign, UsageCRLSign, UsageEncipherOnly, UsageDecipherOnly, UsageAny, UsageServerAuth, UsageClientAuth, UsageCodeSigning,
		UsageEmailProtection, UsageSMIME, UsageIPsecEndSystem, UsageIPsecTunnel, UsageIPsecUser, UsageTimestamping, UsageOCSPSigning,
		UsageMicrosoftSGC, UsageNetscapeSGC,
	}
}

// ValidateCertificateSigningRequest checks a request to be created.
func ValidateCertificateSigningRequest(c *CertificateSigningRequest) validation.ErrorList {
	var r check.Report
	s, p := &c.Spec, at("spec")
	if err := checkRequest(s.Request); err != nil {
		r.Invalid(p.Child("request"), s.Request, err.Error())
	}
	if len(s.Usages) == 0 {
		r.Required(p.Child("usages"), "")
	}
	seen := map[KeyUsage]bool{}
	for i, u := range s.Usages {
		q := p.Child("usages").Index(i)
		check.OneOf(&r, q, u, usages()...)
		if !check.Unique(seen, u) {
			r.Duplicate(q, u)
		}
	}
	r.Add(ValidateSignerName(s.SignerName, p.Child("signerName")))
	r.If(s.SignerName == legacySignerName, p.Child("signerName"), s.SignerName, "the legacy signerName is not allowed via this API version")
	r.If(s.ExpirationSeconds != nil && *s.ExpirationSeconds < minExpiration, p.Child("expirationSeconds"), s.ExpirationSeconds, "may not specify a duration less than 600 seconds (10 minutes)")
	r.Add(validateConditions(c.Status.Conditions, at("status", "conditions")))
	return r.List()
}

// checkRequest checks that data is a single PEM block with a certificate request that is signed with its own
// key.
func checkRequest(data []byte) error {
	block, rest := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	if len(strings.TrimSpace(string(rest))) > 0 {
		return errors.New("there is more than one PEM block")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return err
	}
	return request.CheckSignature()
}

// ValidateSignerName checks the name of a signer, DOMAIN/NAME, at p.
func ValidateSignerName(name string, p *validation.Path) validation.ErrorList {
	return check.SignerName(name, p)
}

func validateConditions(list []CertificateSigningRequestCondition, p *path) validation.ErrorList {
	var r check.Report
	seen := map[RequestConditionType]bool{}
	for i := range list {
		c, q := &list[i], p.Index(i)
		if c.Type == "" {
			r.Required(q.Child("type"), "")
		}
		switch c.Type {
		case CertificateApproved, CertificateDenied, CertificateFailed:
			check.Chosen(&r, q.Child("status"), c.Status, corev1.ConditionTrue)
		default:
			check.Chosen(&r, q.Child("status"), c.Status, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown)
		}
		r.If(c.Type == CertificateApproved && seen[CertificateDenied] || c.Type == CertificateDenied && seen[CertificateApproved],
			q.Child("type"), c.Type, "Approved and Denied conditions are mutually exclusive")
		if !check.Unique(seen, c.Type) {
			r.Duplicate(q.Child("type"), c.Type)
		}
	}
	return r.List()
}

// ValidateCertificateSigningRequestUpdate checks a change of a request; its certificate and its conditions of
// approval, denial and failure may not change.
func ValidateCertificateSigningRequestUpdate(c, old *CertificateSigningRequest) validation.ErrorList {
	var r check.Report
	r.Add(keepConditions(c, old, CertificateApproved, CertificateDenied, CertificateFailed))
	r.If(!check.Same(c.Status.Certificate, old.Status.Certificate), at("status", "certificate"), "", "field is immutable")
	return r.List()
}

// ValidateCertificateSigningRequestStatus checks what a signer reports: the certificate, once.
func ValidateCertificateSigningRequestStatus(c, old *CertificateSigningRequest) validation.ErrorList {
	var r check.Report
	p := at("status", "certificate")
	if len(old.Status.Certificate) > 0 {
		r.ForbidIf(!slices.Equal(c.Status.Certificate, old.Status.Certificate), p, "updates may not set or modify an issued certificate")
	} else if len(c.Status.Certificate) > 0 {
		if err := checkCertificates(c.Status.Certificate); err != nil {
			r.Invalid(p, "<certificate data>", err.Error())
		}
	}
	r.Add(validateConditions(c.Status.Conditions, at("status", "conditions")))
	r.Add(keepConditions(c, old, CertificateApproved, CertificateDenied))
	return r.List()
}

// ValidateCertificateSigningRequestApproval checks a change through the approval subresource.
func ValidateCertificateSigningRequestApproval(c, old *CertificateSigningRequest) validation.ErrorList {
	var r check.Report
	r.Add(validateConditions(c.Status.Conditions, at("status", "conditions")))
	had := func(t RequestConditionType) bool {
		return slices.ContainsFunc(old.Status.Conditions, func(x CertificateSigningRequestCondition) bool { return x.Type == t })
	}
	for _, t := range []RequestConditionType{CertificateApproved, CertificateDenied} {
		gone := had(t) && !slices.ContainsFunc(c.Status.Conditions, func(x CertificateSigningRequestCondition) bool { return x.Type == t })
		r.ForbidIf(gone, at("status", "conditions"), "updates may not remove a condition of type \""+string(t)+"\"")
	}
	r.ForbidIf(!slices.Equal(c.Status.Certificate, old.Status.Certificate), at("status", "certificate"), "updates may not set or modify a certificate")
	return r.List()
}

// keepConditions forbids adding, changing or removing conditions of the given types.
func keepConditions(c, old *CertificateSigningRequest, types ...RequestConditionType) validation.ErrorList {
	var r check.Report
	of := func(list []CertificateSigningRequestCondition, t RequestConditionType) []CertificateSigningRequestCondition {
		return slices.DeleteFunc(slices.Clone(list), func(x CertificateSigningRequestCondition) bool { return x.Type != t })
	}
	for _, t := range types {
		r.ForbidIf(!check.Same(of(c.Status.Conditions, t), of(old.Status.Conditions, t)), at("status", "conditions"),
			"updates may not add, change or remove a condition of type \""+string(t)+"\"")
	}
	return r.List()
}

func checkCertificates(data []byte) error {
	found := false
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return errors.New("only CERTIFICATE PEM blocks are allowed")
		}
		if len(block.Headers) > 0 {
			return errors.New("no PEM block headers are permitted")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return errors.New("must contain at least one CERTIFICATE PEM block")
	}
	return nil
}
