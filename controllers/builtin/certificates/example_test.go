package certificates_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/controllers/builtin/certificates"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A request is approved by a person and signed by the cluster's authority.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{})
		c.Run(c.Manager("controllers", func(m *manager.Manager) error {
			return certificates.AddSigning(m, certificates.SigningOptions{Cert: c.Authority().Cert, Key: c.Authority().Key})
		}))
		ask(t, c.Admin(), "ann", certificatesv1.KubeAPIServerClientSignerName, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "ann"}},
			[]certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}, nil)
		answer(t, c, "ann", certificatesv1.CertificateApproved)
		c.Settle()
		cert := issued(t, get(c, "ann"))
		fmt.Println(cert.Subject, "by", cert.Issuer)
	})
	// Output: CN=ann by CN=keelson
}
