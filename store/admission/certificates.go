package admission

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// certificatePlugin validates writes of CertificateSigningRequests.
type certificatePlugin struct {
	named
	subresource string
	validate    func(ctx context.Context, a *Attributes, csr, old *certificatesv1.CertificateSigningRequest) error
}

func (p *certificatePlugin) Validate(ctx context.Context, a *Attributes) error {
	if a.Resource.Group != certificatesv1.GroupVersion.Group || a.Resource.Resource != "certificatesigningrequests" || a.Subresource != p.subresource {
		return nil
	}
	csr, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return nil
	}
	old, _ := a.Old.(*certificatesv1.CertificateSigningRequest)
	return p.validate(ctx, a, csr, old)
}

// newCertificateApproval requires the verb approve on the signer for approvals and denials, in addition to
// the right to write the subresource.
func newCertificateApproval(_ Access, o Options) Plugin {
	return &certificatePlugin{named{"CertificateApproval", []Operation{Update}}, "approval",
		func(ctx context.Context, a *Attributes, csr, _ *certificatesv1.CertificateSigningRequest) error {
			return maySign(ctx, o, a, "approve", csr.Spec.SignerName)
		}}
}

// newCertificateSigning requires the verb sign on the signer to issue a certificate.
func newCertificateSigning(_ Access, o Options) Plugin {
	return &certificatePlugin{named{"CertificateSigning", []Operation{Update}}, "status",
		func(ctx context.Context, a *Attributes, csr, old *certificatesv1.CertificateSigningRequest) error {
			if old != nil && slices.Equal(old.Status.Certificate, csr.Status.Certificate) && reflect.DeepEqual(old.Status.Conditions, csr.Status.Conditions) {
				return nil
			}
			return maySign(ctx, o, a, "sign", csr.Spec.SignerName)
		}}
}

// ChangesOnlyGCFields reports that an update changes nothing but what the garbage collector needs to delete
// an object. Everything else may grant something: a label makes a role part of aggregated ones, an annotation
// decides whether a server reconciles a role.
func ChangesOnlyGCFields[T metav1.Object](obj, old T) bool {
	was := metav1.MetaOf(old)
	now := codec.DeepCopy(obj)
	m := metav1.MetaOf(now)
	m.OwnerReferences, m.Finalizers, m.ManagedFields, m.SelfLink = was.OwnerReferences, was.Finalizers, was.ManagedFields, was.SelfLink
	return codec.Equal(now, old)
}

// trustBundleAttest requires the verb attest on the signer to write a bundle for it.
type trustBundleAttest struct {
	named
	options Options
}

func newTrustBundleAttest(_ Access, o Options) Plugin {
	return &trustBundleAttest{named{"ClusterTrustBundleAttest", []Operation{Create, Update}}, o}
}

func (p *trustBundleAttest) Validate(ctx context.Context, a *Attributes) error {
	bundle, ok := a.Object.(*certificatesv1beta1.ClusterTrustBundle)
	if !ok || bundle.Spec.SignerName == "" {
		return nil
	}
	if old, ok := a.Old.(*certificatesv1beta1.ClusterTrustBundle); ok && ChangesOnlyGCFields(bundle, old) {
		return nil
	}
	if !usesSigner(ctx, p.options, a, "attest", bundle.Spec.SignerName) {
		return refuse(a, fmt.Errorf("user not permitted to attest for signerName %q", bundle.Spec.SignerName))
	}
	return nil
}

func maySign(ctx context.Context, o Options, a *Attributes, verb, signer string) error {
	if usesSigner(ctx, o, a, verb, signer) {
		return nil
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf("user not permitted to %s requests with signerName %q", verb, signer))
}

// usesSigner checks the verb on the signer itself, and on all signers of its domain.
func usesSigner(ctx context.Context, o Options, a *Attributes, verb, signer string) bool {
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		if o.Authorize == nil {
			break
		}
		check := cel.Check{Verb: verb, Group: certificatesv1.GroupVersion.Group, Resource: "signers", Name: name}
		if o.Authorize(ctx, a.User, check).Allowed {
			return true
		}
	}
	return false
}

// newCertificateSubjectRestriction refuses administrators' certificates from the signer of API clients.
func newCertificateSubjectRestriction(Access) Plugin {
	return &certificatePlugin{named{"CertificateSubjectRestriction", []Operation{Create}}, "",
		func(_ context.Context, a *Attributes, csr, _ *certificatesv1.CertificateSigningRequest) error {
			if csr.Spec.SignerName != "kubernetes.io/kube-apiserver-client" {
				return nil
			}
			request, err := parseRequest(csr.Spec.Request)
			if err != nil {
				return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf("failed to parse CSR: %w", err))
			}
			if slices.Contains(request.Subject.Organization, "system:masters") {
				return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name,
					fmt.Errorf("use of %s signer with system:masters group is not allowed", csr.Spec.SignerName))
			}
			return nil
		}}
}

// parseRequest reads the request of a CertificateSigningRequest.
func parseRequest(data []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the certificate request cannot be parsed: %w", err)
	}
	return request, nil
}
