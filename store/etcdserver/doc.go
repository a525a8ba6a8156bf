// Package etcdserver is etcd's v3 API over any store.Store: etcdctl, a kube-apiserver and all else that
// speaks to etcd may be given one, and a test has its etcd in milliseconds, without a process beside it.
//
//	s := etcdserver.New(memory.New(memory.Options{TxnOps: 1 << 20}), etcdserver.Options{})
//	err := s.Serve(ctx, listener)
//
// What is answered is what etcd 3.6 answers: Range with all its options, Put, DeleteRange, Txn with
// comparisons of any kind, of ranges too, and transactions within it, Compact; watches with all their
// options, any number on a stream; leases; Status, MemberList, gRPC's health service, and /health, /livez,
// /readyz and /version by plain HTTP on the same port. What a store cannot do is refused with
// codes.Unimplemented: a change of members, snapshots and hashes of etcd's file, defragmentation, users and
// roles.
//
// # What is kept where
//
// The store is the server's alone. etcd's key K is the store's "/key/"+K, and its value begins with the key's
// version and lease, so that these are as durable as the value. A lease has a record under "/lease/" as long
// as it has keys. So a server over store/file finds everything again; a lease begins anew then, as after a
// restart of etcd, and one without keys is gone.
//
// # Limits
//
//   - Requests are at most Options.MaxRequestBytes large (1.5 MiB, as etcd's), and what the store takes.
//   - A transaction has at most 128 operations in a list, as etcd's, and 10,000 in all lists. What it writes,
//     with the keys that a DeleteRange finds, is one transaction of the store: more than that takes
//     (store.MaxTxnOps, or Capabilities.TxnOps if that is more) is refused as too many operations. Only a
//     lease with more keys is ended in several commits.
//   - Nothing is kept for watches: one whose client does not read is cancelled as compacted when the store's
//     history has left it behind, and so are the others of its stream. How far back history goes is the
//     store's matter (memory.Options).
//   - A watch from the very revision that was compacted is cancelled as compacted: etcd tells what happens to
//     be left of that revision.
//   - A transaction that may put and delete the same key is refused also where etcd does not notice it.
//   - A request for progress is answered to each watch of the stream by itself. It is not answered over a
//     store without Capabilities.Progress.
//   - A transaction of single keys without leases is made beside others; one of ranges or leases waits until
//     it has the store alone.
//   - A lease lives at least 2 s.
package etcdserver
