package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type request = certificatesv1.CertificateSigningRequest

// parse reads what a request asks for, and checks that it was made by the owner of the key.
func parse(r *request) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(r.Spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	x, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	return x, x.CheckSignature()
}

// condition is the condition of a type that is true, or nil.
func condition(r *request, t certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequestCondition {
	for i := range r.Status.Conditions {
		if c := &r.Status.Conditions[i]; c.Type == t && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// setCondition adds a condition that is true.
func setCondition(r *request, t certificatesv1.RequestConditionType, reason, message string) {
	now := metav1.Now()
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now,
	})
}

const (
	nodePrefix = "system:node:"
	nodesGroup = "system:nodes"
)

// rules are what each signer issues. kubernetes.io/legacy-unknown is missing: version v1 of the API does not
// know it.
var rules = map[string]func(*x509.CertificateRequest, []certificatesv1.KeyUsage) error{
	certificatesv1.KubeAPIServerClientSignerName:        checkClient,
	certificatesv1.KubeAPIServerClientKubeletSignerName: checkKubeletClient,
	certificatesv1.KubeletServingSignerName:             checkKubeletServing,
}

// checkClient accepts any subject for a client certificate: the approver has checked it.
func checkClient(_ *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	return checkUsages(usages, certificatesv1.UsageClientAuth)
}

// checkKubeletClient wants the client certificate of a node.
func checkKubeletClient(x *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	if len(x.DNSNames) > 0 || len(x.IPAddresses) > 0 {
		return errors.New("DNS and IP subject alternative names are not allowed")
	}
	return checkNode(x, usages, certificatesv1.UsageClientAuth)
}

// checkKubeletServing wants the serving certificate of a node.
func checkKubeletServing(x *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	if len(x.DNSNames) == 0 && len(x.IPAddresses) == 0 {
		return errors.New("at least one DNS or IP subject alternative name is required")
	}
	return checkNode(x, usages, certificatesv1.UsageServerAuth)
}

func checkNode(x *x509.CertificateRequest, usages []certificatesv1.KeyUsage, purpose certificatesv1.KeyUsage) error {
	switch {
	case !slices.Equal(x.Subject.Organization, []string{nodesGroup}):
		return fmt.Errorf("the subject's organization must be %s alone, not %q", nodesGroup, x.Subject.Organization)
	case len(x.EmailAddresses) > 0 || len(x.URIs) > 0:
		return errors.New("email and URI subject alternative names are not allowed")
	case !strings.HasPrefix(x.Subject.CommonName, nodePrefix):
		return fmt.Errorf("the subject's common name must begin with %s", nodePrefix)
	}
	if !slices.Contains(usages, certificatesv1.UsageDigitalSignature) {
		return fmt.Errorf("usages must include %q", certificatesv1.UsageDigitalSignature)
	}
	return checkUsages(usages, purpose)
}

// checkUsages wants the purpose, and beside it what a key for TLS does at most.
func checkUsages(usages []certificatesv1.KeyUsage, purpose certificatesv1.KeyUsage) error {
	if !slices.Contains(usages, purpose) {
		return fmt.Errorf("usages must include %q", purpose)
	}
	for _, u := range usages {
		if u != purpose && u != certificatesv1.UsageDigitalSignature && u != certificatesv1.UsageKeyEncipherment {
			return fmt.Errorf("usage %q is not allowed", u)
		}
	}
	return nil
}
