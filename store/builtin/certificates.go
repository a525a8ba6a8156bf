package builtin

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/registry"
)

// certificates returns the kinds of the group certificates.k8s.io.
func certificates(s *scheme.Scheme) []registry.Definition {
	return []registry.Definition{signingRequests(s), {
		Info: kind[*certificatesv1beta1.ClusterTrustBundle](s, certificatesv1beta1.GroupVersion), Table: trustBundleTable,
		Strategy: registry.Strategy{VersionRequired: true},
		Fields: clusterScoped(field("spec.signerName", func(b *certificatesv1beta1.ClusterTrustBundle) string {
			return b.Spec.SignerName
		})),
	}, {
		Info: kind[*certificatesv1beta1.PodCertificateRequest](s, certificatesv1beta1.GroupVersion), Table: podCertificateTable,
		Strategy: registry.Strategy{VersionRequired: true, StatusOnly: true},
		Fields: registry.Fields{
			Names: []string{"spec.signerName", "spec.podName", "spec.nodeName"},
			Of: func(obj metav1.Object, add func(name, value string)) {
				spec := &obj.(*certificatesv1beta1.PodCertificateRequest).Spec
				add("spec.signerName", spec.SignerName)
				add("spec.podName", spec.PodName)
				add("spec.nodeName", spec.NodeName)
			},
		},
	}}
}

// signingRequests returns the kind CertificateSigningRequest.
func signingRequests(s *scheme.Scheme) registry.Definition {
	return registry.Definition{
		Info: kind[*certificatesv1.CertificateSigningRequest](s, certificatesv1.GroupVersion), Table: signingRequestTable,
		Strategy: registry.Strategy{
			PrepareCreate: prepareCSR,
			PrepareUpdate: onBoth(func(csr, old *certificatesv1.CertificateSigningRequest) { csr.Spec = old.Spec }),
			PrepareStatus: onBoth(func(csr, old *certificatesv1.CertificateSigningRequest) {
				csr.Status.Conditions = keepApproval(csr.Status.Conditions, old.Status.Conditions)
			}),
		},
		Fields: clusterScoped(field("spec.signerName", func(csr *certificatesv1.CertificateSigningRequest) string {
			return csr.Spec.SignerName
		})),
		Subresources: map[string]registry.Subresource{
			"approval": {Edit: edit(editApproval), Validate: check(certificatesv1.ValidateCertificateSigningRequestApproval)},
		},
	}
}

// signings returns the kind CertificateSigningRequest with its measurements, if there are any.
func (k *Kinds) signings(s *scheme.Scheme) []registry.Definition {
	if k.metrics.Issued == nil {
		return nil
	}
	d := signingRequests(s)
	d.Strategy.Reserve = func(_ context.Context, obj, old metav1.Object) (registry.Reservation, error) {
		now, _ := obj.(*certificatesv1.CertificateSigningRequest)
		before, _ := old.(*certificatesv1.CertificateSigningRequest)
		if now == nil || before == nil || before.Spec.ExpirationSeconds == nil || len(before.Status.Certificate) > 0 || len(now.Status.Certificate) == 0 {
			return registry.Reservation{}, nil
		}
		signer, honored := now.Spec.SignerName, expiresIn(now.Status.Certificate, time.Duration(*now.Spec.ExpirationSeconds)*time.Second)
		return registry.Reservation{Done: func() { k.metrics.Issued(signer, honored) }}, nil
	}
	return []registry.Definition{d}
}

// expiresIn reports whether the first certificate of a chain in PEM is valid for about as long as was
// requested, as kube-apiserver counts it: signers let certificates begin some minutes in the past.
func expiresIn(chain []byte, requested time.Duration) bool {
	for block, rest := pem.Decode(chain); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" && len(block.Headers) == 0 {
			c, err := x509.ParseCertificate(block.Bytes)
			return err == nil && (requested-c.NotAfter.Sub(c.NotBefore)).Abs() < 5*time.Minute+requested/20
		}
	}
	return false
}

// prepareCSR sets the requesting user: signers decide by it, so it must not be the client's own claim.
func prepareCSR(ctx context.Context, obj metav1.Object) {
	csr := obj.(*certificatesv1.CertificateSigningRequest)
	csr.Spec.Username, csr.Spec.UID, csr.Spec.Groups, csr.Spec.Extra = "", "", nil, nil
	if u := authn.UserFrom(ctx); u != nil {
		csr.Spec.Username, csr.Spec.UID, csr.Spec.Groups = u.Name, u.UID, u.Groups
		for k, v := range u.Extra {
			if csr.Spec.Extra == nil {
				csr.Spec.Extra = map[string]certificatesv1.ExtraValue{}
			}
			csr.Spec.Extra[k] = v
		}
	}
}

// keepApproval keeps approvals and denials, which have a subresource of their own, in a write of the status.
func keepApproval(wanted, old []certificatesv1.CertificateSigningRequestCondition) []certificatesv1.CertificateSigningRequestCondition {
	isVerdict := func(t certificatesv1.RequestConditionType) bool {
		return t == certificatesv1.CertificateApproved || t == certificatesv1.CertificateDenied
	}
	var out []certificatesv1.CertificateSigningRequestCondition
	for _, c := range old {
		if isVerdict(c.Type) {
			out = append(out, c)
		}
	}
	for _, c := range wanted {
		if !isVerdict(c.Type) {
			out = append(out, c)
		}
	}
	return out
}

// editApproval lets the approval subresource change conditions only.
func editApproval(csr, old *certificatesv1.CertificateSigningRequest) {
	conditions := csr.Status.Conditions
	csr.Spec, csr.Status = old.Spec, old.Status
	csr.Status.Conditions = conditions
	now := metav1.Now()
	for i := range csr.Status.Conditions {
		c := &csr.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = now
		}
	}
}
