// Package certificate manages a client or serving certificate issued by a cluster's signers: it requests one
// with a CertificateSigningRequest, waits for it, stores it in a file, and renews it in time.
//
//	m, err := certificate.New(certificate.Options{
//		Conn: bootstrapConn, File: "/var/lib/agent/client.pem",
//		Signer: certificatesv1.KubeAPIServerClientSignerName,
//		Request: func() *x509.CertificateRequest {
//			return &x509.CertificateRequest{Subject: pkix.Name{CommonName: "agent"}}
//		},
//	})
//	go m.Run(ctx)
//	cfg.Credentials = m
//
// A Manager is a rest.CredentialSource, so connections made with it switch to a new certificate
// automatically. A key never leaves the program except to the file, which only its owner can read. A
// certificate is replaced between 70 and 90 percent of its lifetime. Refusals and failures are logged and
// retried with growing waits, up to 5 minutes. The key of a request without a result is kept in File.pending,
// so that a program that is restarted continues its request.
package certificate
