package etcdserver

import (
	"context"
	"hash/fnv"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/version"

	"github.com/keelson-dev/keelson/store"
)

// term is the raft term of a cluster after its first election.
const term = 2

// header returns the header of a response.
func (s *Server) header(revision int64) *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: number("cluster"), MemberId: s.member(), Revision: revision, RaftTerm: term}
}

func (s *Server) member() uint64 { return number(s.opts.Name) }

func number(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

// txnOps is how many operations and guards the store accepts in one transaction.
func (s *Server) txnOps() int { return max(store.MaxTxnOps, s.store.Capabilities().TxnOps) }

// MemberList implements etcdserverpb.ClusterServer: there is one member.
func (s *Server) MemberList(ctx context.Context, _ *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	revision, err := s.store.Progress(ctx, nowhere)
	if err != nil {
		return nil, answer(err)
	}
	return &pb.MemberListResponse{Header: s.header(revision), Members: []*pb.Member{{ID: s.member(), Name: s.opts.Name, ClientURLs: s.opts.ClientURLs}}}, nil
}

// MemberAdd implements etcdserverpb.ClusterServer: the list of members does not change.
func (s *Server) MemberAdd(context.Context, *pb.MemberAddRequest) (*pb.MemberAddResponse, error) {
	return nil, unsupported("a change of members")
}

// MemberRemove implements etcdserverpb.ClusterServer.
func (s *Server) MemberRemove(context.Context, *pb.MemberRemoveRequest) (*pb.MemberRemoveResponse, error) {
	return nil, unsupported("a change of members")
}

// MemberUpdate implements etcdserverpb.ClusterServer.
func (s *Server) MemberUpdate(context.Context, *pb.MemberUpdateRequest) (*pb.MemberUpdateResponse, error) {
	return nil, unsupported("a change of members")
}

// MemberPromote implements etcdserverpb.ClusterServer.
func (s *Server) MemberPromote(context.Context, *pb.MemberPromoteRequest) (*pb.MemberPromoteResponse, error) {
	return nil, unsupported("a change of members")
}

// Status implements etcdserverpb.MaintenanceServer. The version is that of the API; the size is the
// store's, zero if it does not report it.
func (s *Server) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	revision, err := s.store.Progress(ctx, nowhere)
	if err != nil {
		return nil, answer(err)
	}
	size := int64(0)
	if sized, ok := s.store.(store.Sized); ok {
		if size, err = sized.Size(ctx); err != nil {
			return nil, answer(err)
		}
	}
	return &pb.StatusResponse{
		Header: s.header(revision), Version: version.Version, StorageVersion: clusterVersion(), DbSize: size, DbSizeInUse: size,
		Leader: s.member(), RaftTerm: term, RaftIndex: uint64(revision), RaftAppliedIndex: uint64(revision),
	}, nil
}

// Alarm implements etcdserverpb.MaintenanceServer: there are never alarms to list or to disarm.
func (s *Server) Alarm(ctx context.Context, r *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	if r.Action == pb.AlarmRequest_ACTIVATE {
		return nil, unsupported("raising an alarm")
	}
	revision, err := s.store.Progress(ctx, nowhere)
	if err != nil {
		return nil, answer(err)
	}
	return &pb.AlarmResponse{Header: s.header(revision)}, nil
}

// Defragment implements etcdserverpb.MaintenanceServer: a store manages its own space.
func (s *Server) Defragment(context.Context, *pb.DefragmentRequest) (*pb.DefragmentResponse, error) {
	return nil, unsupported("defragmentation")
}

// Hash implements etcdserverpb.MaintenanceServer: there is no backend of etcd to hash.
func (s *Server) Hash(context.Context, *pb.HashRequest) (*pb.HashResponse, error) {
	return nil, unsupported("the hash of a backend")
}

// HashKV implements etcdserverpb.MaintenanceServer.
func (s *Server) HashKV(context.Context, *pb.HashKVRequest) (*pb.HashKVResponse, error) {
	return nil, unsupported("the hash of a backend")
}

// Snapshot implements etcdserverpb.MaintenanceServer.
func (s *Server) Snapshot(*pb.SnapshotRequest, pb.Maintenance_SnapshotServer) error {
	return unsupported("a snapshot of a backend")
}

// MoveLeader implements etcdserverpb.MaintenanceServer: there is no other member.
func (s *Server) MoveLeader(context.Context, *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	return nil, unsupported("another leader")
}

// Downgrade implements etcdserverpb.MaintenanceServer.
func (s *Server) Downgrade(context.Context, *pb.DowngradeRequest) (*pb.DowngradeResponse, error) {
	return nil, unsupported("a downgrade")
}

// auth reports that authentication is disabled, apart from client certificates; there are no users and roles.
type auth struct {
	*pb.UnimplementedAuthServer
	s *Server
}

// AuthStatus implements etcdserverpb.AuthServer.
func (a auth) AuthStatus(ctx context.Context, _ *pb.AuthStatusRequest) (*pb.AuthStatusResponse, error) {
	revision, err := a.s.store.Progress(ctx, nowhere)
	if err != nil {
		return nil, answer(err)
	}
	return &pb.AuthStatusResponse{Header: a.s.header(revision), AuthRevision: 1}, nil
}
