package certificatesv1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "certificates.k8s.io", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return errors.Join(
		scheme.Add[*CertificateSigningRequest](s, GroupVersion, scheme.Kind{
			Resource: "certificatesigningrequests", ShortNames: []string{"csr"},
			Subresources: []scheme.Subresource{
				{Name: "approval", Kind: "CertificateSigningRequest", Verbs: []string{"get", "patch", "update"}},
				{Name: "status", Kind: "CertificateSigningRequest", Verbs: []string{"get", "patch", "update"}},
			},
		}),
	)
}
