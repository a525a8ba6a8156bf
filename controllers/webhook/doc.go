// Package webhook is for operators that serve admission and conversion webhooks.
//
//	server := webhook.New(webhook.Options{CertDir: "/certs"})
//	server.Handle("/mutate", webhook.Mutating(func(ctx context.Context, r *webhook.Request, site *v1.Website) error {
//		if site.Spec.Image == "" {
//			site.Spec.Image = "nginx"
//		}
//		return nil
//	}))
//	server.Handle("/validate", webhook.Validating(func(ctx context.Context, r *webhook.Request, site *v1.Website) error { ... }))
//	m.AddAlways("webhooks", server)
//
// What is promised: a handler gets the object decoded into its own type and changes it in place; the patch
// that the API server gets names what was changed and nothing else, so fields that the type does not know
// survive. An error refuses the request, a panic too, and neither ends the process. The server answers on
// every replica, leader or not, when it is added with AddAlways; certificates that change on disk are used
// from the next connection on.
//
// Inside go test, hand the server to controllertest.Options.Webhooks, which needs neither certificates nor a
// port.
package webhook
