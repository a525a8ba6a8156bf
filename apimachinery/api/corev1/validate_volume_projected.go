package corev1

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func validateProjected(v *ProjectedVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.Add(validateMode(v.DefaultMode, p.Child("defaultMode")))
	paths := map[string]bool{}
	for i := range v.Sources {
		src := &v.Sources[i]
		for _, name := range src.paths() {
			r.If(name != "" && !check.Unique(paths, name), p, name, "conflicting duplicate paths")
		}
		s := &sources{p: p.Child("sources").Index(i), all: true}
		source(s, "secret", src.Secret, func(v *SecretProjection, p *check.Path) validation.ErrorList {
			return append(required(v.Name == "", p.Child("name")), validateKeyPaths(v.Items, p.Child("items"))...)
		})
		source(s, "configMap", src.ConfigMap, func(v *ConfigMapProjection, p *check.Path) validation.ErrorList {
			return append(required(v.Name == "", p.Child("name")), validateKeyPaths(v.Items, p.Child("items"))...)
		})
		source(s, "downwardAPI", src.DownwardAPI, func(v *DownwardAPIProjection, p *check.Path) (errs validation.ErrorList) {
			for j := range v.Items {
				errs = append(errs, validateDownwardFile(&v.Items[j], p)...)
			}
			return errs
		})
		source(s, "serviceAccountToken", src.ServiceAccountToken, validateTokenProjection)
		source(s, "clusterTrustBundle", src.ClusterTrustBundle, validateTrustBundle)
		source(s, "podCertificate", src.PodCertificate, validatePodCertificate)
		s.ForbidIf(s.n > 1, s.p, "may not specify more than 1 volume type per source")
		r.Add(s.List())
	}
	return r.List()
}

// paths returns the paths of the files that a source of a projected volume makes; some may be empty.
func (src *VolumeProjection) paths() []string {
	var out []string
	if src.Secret != nil {
		for _, item := range src.Secret.Items {
			out = append(out, item.Path)
		}
	}
	if src.ConfigMap != nil {
		for _, item := range src.ConfigMap.Items {
			out = append(out, item.Path)
		}
	}
	if src.DownwardAPI != nil {
		for i := range src.DownwardAPI.Items {
			out = append(out, src.DownwardAPI.Items[i].Path)
		}
	}
	if src.ServiceAccountToken != nil {
		out = append(out, src.ServiceAccountToken.Path)
	}
	if src.ClusterTrustBundle != nil {
		out = append(out, src.ClusterTrustBundle.Path)
	}
	if c := src.PodCertificate; c != nil {
		out = append(out, c.CredentialBundlePath, c.KeyPath, c.CertificateChainPath)
	}
	return out
}

func validateTokenProjection(t *ServiceAccountTokenProjection, p *check.Path) validation.ErrorList {
	const minExpiration, maxExpiration = 10 * 60, 1 << 32
	var r check.Report
	if e := t.ExpirationSeconds; e != nil {
		r.If(*e < minExpiration, p.Child("expirationSeconds"), *e, "may not specify a duration less than 10 minutes")
		r.If(*e > maxExpiration, p.Child("expirationSeconds"), *e, "may not specify a duration larger than 2^32 seconds")
	}
	r.NonEmpty(p.Child("path"), t.Path)
	r.Add(unreservedPath(t.Path, p.Child("path")))
	return r.List()
}

func validatePodCertificate(c *PodCertificateProjection, p *check.Path) validation.ErrorList {
	var r check.Report
	r.Add(check.SignerName(c.SignerName, p.Child("signerName")))
	r.Add(check.SignerAnnotations(c.UserAnnotations, p.Child("userAnnotations")))
	check.OneOf(&r, p.Child("keyType"), c.KeyType, "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
	if c.CredentialBundlePath == "" && c.KeyPath == "" && c.CertificateChainPath == "" {
		r.Required(p, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")
	}
	if s, q := c.MaxExpirationSeconds, p.Child("maxExpirationSeconds"); s != nil {
		most := check.CertificateSeconds(c.SignerName)
		r.If(*s < check.MinCertificateSeconds, q, *s, fmt.Sprintf("if provided, maxExpirationSeconds must be >= %d", check.MinCertificateSeconds))
		r.If(*s > most, q, *s, fmt.Sprintf("if provided, maxExpirationSeconds must be <= %d", most))
	}
	r.Add(unreservedPath(c.CredentialBundlePath, p.Child("credentialBundlePath")))
	r.Add(unreservedPath(c.KeyPath, p.Child("keyPath")))
	r.Add(unreservedPath(c.CertificateChainPath, p.Child("certificateChainPath")))
	return r.List()
}

func validateTrustBundle(b *ClusterTrustBundleProjection, p *check.Path) validation.ErrorList {
	var r check.Report
	switch {
	case b.SignerName == nil && b.Name == nil:
		r.Required(p, "either name or signerName must be specified")
	case b.SignerName != nil && b.Name != nil:
		r.Invalid(p, b, "only one of name and signerName may be used")
	case b.SignerName != nil:
		if *b.SignerName == "" {
			r.Required(p.Child("signerName"), "must be a valid signer name")
		}
		r.Add(check.SignerName(*b.SignerName, p.Child("signerName")))
		r.Add(metav1.ValidateLabelSelector(b.LabelSelector, metav1.SelectorRule{}, p.Child("labelSelector")))
	default:
		if *b.Name == "" {
			r.Required(p.Child("name"), "must be a valid object name")
		}
		for _, why := range check.BundleReference(*b.Name) {
			r.Invalid(p.Child("name"), *b.Name, "not a valid clustertrustbundlename: "+why)
		}
		r.If(b.LabelSelector != nil, p.Child("labelSelector"), b.LabelSelector, "labelSelector must be unset if name is specified")
	}
	r.NonEmpty(p.Child("path"), b.Path)
	r.Add(unreservedPath(b.Path, p.Child("path")))
	return r.List()
}
