// Package storetest is the conformance suite of package store, for every backend there is
// or will be: it tries each numbered promise of the contract, runs random histories against a naive
// model, and checks what concurrent writers, readers and watchers have seen.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t testing.TB) store.Store { return mystore.New() }, storetest.Options{})
//	}
//
// The package also has Faulty, a wrapper that makes any store fail, delay and lose answers, for
// tests of what is built on a store, and StartEtcd, which starts a private etcd.
package storetest
