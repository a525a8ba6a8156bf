// Package webhook serves admission and conversion webhooks of operators.
//
//	server := webhook.New(webhook.Options{CertDir: "/certs"})
//	mutate := func(ctx context.Context, r *webhook.Request, site *v1.Website) error {
//		if site.Spec.Image == "" {
//			site.Spec.Image = "nginx"
//		}
//		return nil
//	}
//	validate := func(ctx context.Context, r *webhook.Request, site *v1.Website) error { ... }
//	server.Handle("/mutate", webhook.Mutating(mutate))
//	server.Handle("/validate", webhook.Validating(validate))
//	m.AddWithoutLeaderElection("webhooks", server)
//
// A handler receives the object decoded into its own type and changes it in place. The patch sent to the API
// server contains only what was changed, so fields that the type does not have are preserved. An error or a
// panic rejects the request. Certificates that change on disk are used from the next connection on;
// [Certificates] are made and replaced by the operator itself. [ConversionByHub] converts between the
// versions of a kind.
//
// In tests, pass the server to controllertest.Options.Webhooks, which needs neither certificates nor a port.
package webhook
