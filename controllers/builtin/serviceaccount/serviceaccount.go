// Package serviceaccount creates the default service account and the config map with the cluster's root
// certificate in every active namespace, and restores them when they are deleted or changed. It writes the
// tokens of accounts into secrets, and ends those that are not used.
//
// Each controller has a file: accounts.go, rootca.go, tokens.go, cleaner.go. What to write is decided by
// decide.go, without a server.
package serviceaccount

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controllers.
type Options struct {
	// Accounts are the service accounts of every namespace; nil means "default".
	Accounts []string
	// RootCA is the PEM data published in every namespace; if empty, nothing is published.
	RootCA []byte
}

// Add adds the controllers "serviceaccount" and, with a RootCA, "root-ca-certificate-publisher" to m.
func Add(m *manager.Manager, opts Options) error {
	if err := AddAccounts(m, opts); err != nil || len(opts.RootCA) == 0 {
		return err
	}
	return AddRootCA(m, opts.RootCA)
}

// lives reports whether there is a namespace that is not being deleted.
func lives(namespaces informers.Lister[*corev1.Namespace], req reconcile.Request) (alive bool, err error) {
	err = namespaces.View(req, func(ns *corev1.Namespace) {
		alive = ns.DeletionTimestamp == nil && ns.Status.Phase != corev1.NamespaceTerminating
	})
	return alive, apierrors.IgnoreNotFound(err)
}

// settled ignores the errors that mean that the object exists already, or that the namespace is being
// deleted.
func settled(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.HasCause(err, "NamespaceTerminating") {
		return nil
	}
	return err
}
