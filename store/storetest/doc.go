// Package storetest is the conformance suite of package store, for every implementation: it tests each
// numbered promise of the contract and each capability, compares random histories with a naive model, and
// checks the results of concurrent writers, readers and watchers.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t testing.TB) store.Store { return mystore.New() }, storetest.Options{})
//	}
//
// For tests of what is built on a store the package has Faulty, a wrapper that makes any store fail, delay
// and lose answers, Replaceable, a store that can be restored from a backup, and StartEtcd, which starts a
// private etcd.
package storetest
