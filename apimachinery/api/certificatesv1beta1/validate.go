package certificatesv1beta1

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// maxTrustBundle is the greatest size of a bundle in bytes.
const maxTrustBundle = 1 << 20

// ValidateClusterTrustBundle checks a bundle to be created.
func ValidateClusterTrustBundle(b *ClusterTrustBundle) validation.ErrorList {
	return append(validateSigner(b), validateBundle(b.Spec.TrustBundle)...)
}

// ValidateClusterTrustBundleUpdate checks a change of a bundle; its signer stays. Certificates that stay are
// not parsed again: a later release may be stricter.
func ValidateClusterTrustBundleUpdate(b, old *ClusterTrustBundle) validation.ErrorList {
	var r check.Report
	r.Add(validateSigner(b))
	if b.Spec.TrustBundle != old.Spec.TrustBundle {
		r.Add(validateBundle(b.Spec.TrustBundle))
	}
	check.Immutable(&r, validation.NewPath("spec", "signerName"), b.Spec.SignerName, old.Spec.SignerName)
	return r.List()
}

// BundlePrefix returns what the names of a signer's bundles begin with.
func BundlePrefix(signer string) string { return check.BundlePrefix(signer) }

// validateSigner checks the signer, and the name, which says whose bundle it is.
func validateSigner(b *ClusterTrustBundle) validation.ErrorList {
	var r check.Report
	r.Each(validation.NewPath("metadata", "name"), b.Name, check.BundleName(b.Name, b.Spec.SignerName))
	if b.Spec.SignerName != "" {
		r.Add(check.SignerName(b.Spec.SignerName, validation.NewPath("spec", "signerName")))
	}
	return r.List()
}

func validateBundle(text string) validation.ErrorList {
	var r check.Report
	p := validation.NewPath("spec", "trustBundle")
	if len(text) > maxTrustBundle {
		return validation.ErrorList{validation.TooLong(p, maxTrustBundle)}
	}
	wrong := func(format string, args ...any) { r.Invalid(p, "<value omitted>", fmt.Sprintf(format, args...)) }
	first := map[[sha256.Size]byte]int{}
	rest, n := []byte(text), 0
	for ; ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		switch {
		case block.Type != "CERTIFICATE":
			wrong("entry %d has bad block type: %v", n, block.Type)
			continue
		case len(block.Headers) > 0:
			wrong("entry %d has PEM block headers", n)
			continue
		case err != nil:
			wrong("entry %d does not parse as X.509", n)
			continue
		case !certificate.IsCA || !certificate.BasicConstraintsValid:
			wrong("entry %d does not have the CA bit set", n)
			continue
		}
		digest := sha256.Sum256(block.Bytes)
		if i, ok := first[digest]; ok {
			wrong("duplicate trust anchor (indices [%d %d])", i, n)
		} else {
			first[digest] = n
		}
	}
	if n == 0 {
		wrong("at least one trust anchor must be provided")
	}
	return r.List()
}
