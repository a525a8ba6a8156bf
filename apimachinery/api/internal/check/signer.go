package check

import (
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// The limits of signers' names, in bytes: of the domain, and of all, which has room for the names of a
// namespace and of an object after the domain.
const (
	maxSignerDomain = 253
	maxSigner       = 253 + 1 + 63 + 1 + 253
)

// The lifetime of certificates that are requested for pods, in seconds: the shortest one that can be
// requested, and the longest one, of all signers and of those of Kubernetes.
const (
	MinCertificateSeconds           = 3600
	MaxCertificateSeconds           = 91 * 24 * 3600
	MaxKubernetesCertificateSeconds = 24 * 3600
)

// SignerName checks the name of a signer, DOMAIN/NAME, at p.
func SignerName(name string, p *Path) validation.ErrorList {
	var r Report
	if name == "" {
		r.Required(p, "")
		return r.List()
	}
	domain, rest, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(rest, "/") {
		r.Invalid(p, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
		return r.List()
	}
	if len(domain) > maxSignerDomain {
		r.TooLong(p, maxSignerDomain)
	}
	parts := func(text string, wrong func(string) []string) {
		for part := range strings.SplitSeq(text, ".") {
			if why := wrong(part); len(why) > 0 { // one bad part is enough
				for _, one := range why {
					r.Invalid(p, text, fmt.Sprintf("validating label %q: %s", part, one))
				}
				return
			}
		}
	}
	parts(domain, validation.IsDNS1123Label)
	r.If(!strings.Contains(domain, "."), p, domain, "should be a domain with at least two segments separated by dots")
	parts(rest, validation.IsDNS1123Subdomain)
	if len(name) > maxSigner {
		r.TooLong(p, maxSigner)
	}
	return r.List()
}

// CertificateSeconds returns the longest lifetime that can be requested of a signer for a pod's certificate.
func CertificateSeconds(signer string) int32 {
	if domain, _, _ := strings.Cut(signer, "/"); domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
		return MaxKubernetesCertificateSeconds
	}
	return MaxCertificateSeconds
}

// SignerAnnotations checks the annotations of a pod for the signer of its certificate, at p.
func SignerAnnotations(annotations map[string]string, p *Path) validation.ErrorList {
	var r Report
	for _, key := range Keys(annotations) {
		r.Add(validation.DomainPrefixedKey(p, strings.ToLower(key)))
	}
	if validation.AnnotationsSize(annotations) > validation.AnnotationsMaxSize {
		r.TooLong(p, validation.AnnotationsMaxSize)
	}
	return r.List()
}

// BundlePrefix returns what the names of a signer's trust bundles begin with.
func BundlePrefix(signer string) string { return strings.ReplaceAll(signer, "/", ":") + ":" }

// BundleName returns what is wrong with the name of a trust bundle of a signer; an empty one is none.
func BundleName(name, signer string) []string {
	if signer == "" {
		if strings.Contains(name, ":") {
			return []string{`ClusterTrustBundle without signer name must not have ":" in its name`}
		}
		return validation.IsDNS1123Subdomain(name)
	}
	prefix := BundlePrefix(signer)
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return []string{fmt.Sprintf("ClusterTrustBundle for signerName %s must be named with prefix %s", signer, prefix)}
	}
	return validation.IsDNS1123Subdomain(rest)
}

// BundleReference returns what is wrong with the name of a trust bundle whose signer the name says.
func BundleReference(name string) []string {
	signer := ""
	if i := strings.LastIndex(name, ":"); i >= 0 {
		signer = strings.ReplaceAll(name[:i], ":", "/")
	}
	return BundleName(name, signer)
}
