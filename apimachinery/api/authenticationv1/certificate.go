package authenticationv1

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"slices"
)

// ExtraCredentialID is the attribute of users that identifies their credential.
const ExtraCredentialID = "authentication.kubernetes.io/credential-id"

// uidOID is the subject attribute whose value becomes the user's UID.
var uidOID = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}

// CertificateUser is the user that a client certificate identifies once it has been verified: the common name
// is the user, the organizations are the groups. It is nil if the certificate names none, and an error if it
// gives several UIDs.
func CertificateUser(leaf *x509.Certificate) (*UserInfo, error) {
	if leaf.Subject.CommonName == "" {
		return nil, nil
	}
	u := &UserInfo{Username: leaf.Subject.CommonName, Groups: slices.Clone(leaf.Subject.Organization),
		Extra: map[string]ExtraValue{ExtraCredentialID: {fmt.Sprintf("X509SHA256=%x", sha256.Sum256(leaf.Raw))}}}
	for _, name := range leaf.Subject.Names {
		if !name.Type.Equal(uidOID) {
			continue
		}
		uid, ok := name.Value.(string)
		if !ok || u.UID != "" {
			return nil, fmt.Errorf("client certificate of %q has no single uid", u.Username)
		}
		u.UID = uid
	}
	return u, nil
}
