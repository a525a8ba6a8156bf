// Package etcdserver serves etcd's v3 API from any store.Store: etcdctl, a kube-apiserver and all other
// clients of etcd can use it, and a test has its etcd in milliseconds, without a separate process.
//
//	s := etcdserver.New(memory.New(memory.Options{TxnOps: 1 << 20}), etcdserver.Options{})
//	err := s.Serve(ctx, listener)
//
// It answers as etcd 3.6 does: Range with all its options, Put, DeleteRange, Txn with
// comparisons of any kind, of ranges too, and transactions within it, Compact; watches with all their
// options, any number on a stream; leases; Status, MemberList, gRPC's health service, and /health, /livez,
// /readyz and /version by plain HTTP on the same port. What a store does not support is refused with
// codes.Unimplemented: a change of members, snapshots and hashes of etcd's file, defragmentation, users and
// roles.
//
// # Layout of the store
//
// No other client may write to the store. etcd's key K is the store's "/key/"+K, and its value begins with
// the key's version and lease, so that these are as durable as the value. A lease has a record under
// "/lease/" as long as it has keys. So a server over store/file survives a restart; the TTL of a lease then
// starts again, as after a restart of etcd, and a lease without keys is lost.
//
// # Limits
//
//   - Requests are at most Options.MaxRequestBytes large (1.5 MiB, as etcd's), and within the store's limit.
//   - A transaction has at most 128 operations in a list, as etcd's, and 10,000 in all lists. What it writes,
//     with the keys that a DeleteRange finds, is one transaction of the store: if it exceeds the store's
//     limit (store.MaxTxnOps, or Capabilities.TxnOps if that is more) it is refused as too many operations.
//     Only a lease with more keys is revoked in several commits.
//   - Watches have no buffers: one whose client does not read is cancelled as compacted when its next event
//     has left the store's history, and so are the others of its stream. The store bounds its history
//     (memory.Options).
//   - A watch from the very revision that was compacted is cancelled as compacted, where etcd sends what
//     happens to be left of that revision.
//   - A transaction that may put and delete the same key is refused even in cases that etcd does not detect.
//   - A progress request is answered separately for each watch of the stream. It is not answered over a store
//     without Capabilities.Progress.
//   - Transactions of single keys without leases run concurrently; one with ranges or leases runs alone.
//   - A lease lives at least 2 s.
package etcdserver
