package certificates_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/client"
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

// A kubelet whose user may request its own certificate gets the request approved.
func ExampleAddApproving() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{})
		office(c, certificates.AddApproving)
		bind(c, "system:nodes", mayAsk)
		bind(c, "system:nodes", sameNode)
		c.Settle() // the authorizer has the bindings
		kubelet := c.Conn(client.User{Name: "system:node:n", Groups: []string{"system:nodes", "system:authenticated"}})
		ask(t, kubelet, "n", kubeletClient, node("n"), []certificatesv1.KeyUsage{digital, forUse}, nil)
		c.Settle()
		fmt.Println(get(c, "n").Status.Conditions[0].Type)
	})
	// Output: Approved
}

// A request that was answered is deleted an hour later.
func ExampleAddCleaner() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{})
		office(c, certificates.AddCleaner)
		ask(t, c.Admin(), "ann", anyClient, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "ann"}}, []certificatesv1.KeyUsage{forUse}, nil)
		answer(t, c, "ann", certificatesv1.CertificateDenied)
		for range 2 {
			c.Sleep(40 * time.Minute)
			fmt.Println("there:", controllertest.Exists[*csr](c, "", "ann"))
		}
	})
	// Output:
	// there: true
	// there: false
}

// A request of a pod for a certificate is deleted a quarter of an hour after it was made.
func ExampleAddPodCleaner() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := startGated(t, "podcertificaterequestcleaner", certificates.AddPodCleaner)
		controllertest.Create(c, newPodRequest(t, "web"))
		for range 2 {
			c.Sleep(10 * time.Minute)
			fmt.Println("there:", controllertest.Exists[*podRequest](c, "default", "web"))
		}
	})
	// Output:
	// there: true
	// there: false
}

// The authority of API servers is published for pods.
func ExampleAddBundlePublisher() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		const account = "kube-apiserver-serving-clustertrustbundle-publisher"
		c := startGated(t, account, nil)
		c.Run(c.Manager("controllers", func(m *manager.Manager) error {
			return certificates.AddBundlePublisher(m, certificates.BundleOptions{Signer: certificates.ServingSigner, Bundle: c.Authority().CertPEM()})
		}))
		c.Settle()
		for _, b := range controllertest.List[*bundle](c, "") {
			fmt.Println(b.Spec.SignerName, b.Spec.TrustBundle == string(c.Authority().CertPEM()))
		}
	})
	// Output: kubernetes.io/kube-apiserver-serving true
}
