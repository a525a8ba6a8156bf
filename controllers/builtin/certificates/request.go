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
	for _, u := range usages {
		if u != certificatesv1.UsageClientAuth && u != certificatesv1.UsageDigitalSignature && u != certificatesv1.UsageKeyEncipherment {
			return fmt.Errorf("invalid usage for client certificate: %s", u)
		}
	}
	if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
		return fmt.Errorf("missing required usage for client certificate: %s", certificatesv1.UsageClientAuth)
	}
	return nil
}

// checkKubeletClient wants the client certificate of a node.
func checkKubeletClient(x *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	switch {
	case !isOfNodes(x):
		return errNotOfNodes
	case len(x.DNSNames) > 0:
		return errors.New("DNS subjectAltNames are not allowed")
	case len(x.EmailAddresses) > 0:
		return errEmail
	case len(x.IPAddresses) > 0:
		return errors.New("IP subjectAltNames are not allowed")
	case len(x.URIs) > 0:
		return errURI
	case !isOfNode(x):
		return errNotOfNode
	}
	return checkUsages(usages, certificatesv1.UsageClientAuth)
}

// checkKubeletServing wants the serving certificate of a node.
func checkKubeletServing(x *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	switch {
	case !isOfNodes(x):
		return errNotOfNodes
	case len(x.DNSNames) == 0 && len(x.IPAddresses) == 0:
		return errors.New("DNS or IP subjectAltName is required")
	case len(x.EmailAddresses) > 0:
		return errEmail
	case len(x.URIs) > 0:
		return errURI
	}
	if err := checkUsages(usages, certificatesv1.UsageServerAuth); err != nil {
		return err
	}
	if !isOfNode(x) {
		return errNotOfNode
	}
	return nil
}

// What is wrong with a request, in the words of kube-controller-manager.
var (
	errNotOfNodes = errors.New("subject organization is not system:nodes")
	errNotOfNode  = errors.New("subject common name does not begin with system:node:")
	errEmail      = errors.New("Email subjectAltNames are not allowed")
	errURI        = errors.New("URI subjectAltNames are not allowed")
)

func isOfNodes(x *x509.CertificateRequest) bool {
	return slices.Equal(x.Subject.Organization, []string{nodesGroup})
}

func isOfNode(x *x509.CertificateRequest) bool {
	return strings.HasPrefix(x.Subject.CommonName, nodePrefix)
}

// checkUsages wants the purpose and signatures, and beside them at most what a key for TLS does.
func checkUsages(usages []certificatesv1.KeyUsage, purpose certificatesv1.KeyUsage) error {
	all := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, purpose}
	slices.Sort(all)
	other := slices.ContainsFunc(usages, func(u certificatesv1.KeyUsage) bool { return !slices.Contains(all, u) })
	if other || !slices.Contains(usages, purpose) || !slices.Contains(usages, certificatesv1.UsageDigitalSignature) {
		return fmt.Errorf("usages did not match %v", all)
	}
	return nil
}
