package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
)

func TestGuardHolds(t *testing.T) {
	kv := &store.KV{Key: "/a", Revision: 7}
	for _, c := range []struct {
		revision int64
		current  *store.KV
		want     bool
	}{
		{store.Absent, nil, true}, {store.Absent, kv, false},
		{store.AnyRevision, nil, false}, {store.AnyRevision, kv, true},
		{7, kv, true}, {6, kv, false}, {7, nil, false},
	} {
		require.Equal(t, c.want, store.Guard{Key: "/a", Revision: c.revision}.Holds(c.current), "%+v", c)
	}
}

func TestOpCheck(t *testing.T) {
	kv := &store.KV{Key: "/a", Revision: 7}
	require.NoError(t, store.CreateOp("/a", nil).Check(nil))
	var exists *store.ExistsError
	require.ErrorAs(t, store.CreateOp("/a", nil).Check(kv), &exists)
	require.NoError(t, store.UpdateOp("/a", nil, 7).Check(kv))
	var conflict *store.ConflictError
	require.ErrorAs(t, store.DeleteOp("/a", 6).Check(kv), &conflict)
	require.Equal(t, kv, conflict.Current)
}

func TestErrorsSayWhatHappened(t *testing.T) {
	kv := store.KV{Key: "/a", Revision: 7}
	for want, err := range map[string]error{
		`store: key "/a" exists at revision 7`:                                 &store.ExistsError{Key: "/a", Current: kv},
		`store: key "/a": expected revision 6, found revision 7`:               &store.ConflictError{Key: "/a", Expected: 6, Current: &kv},
		`store: key "/a": expected no such key, found revision 7`:              &store.ConflictError{Key: "/a", Current: &kv},
		`store: key "/a": expected any revision, found none`:                   &store.ConflictError{Key: "/a", Expected: store.AnyRevision},
		`store: guard on "/a" at revision 6 does not hold: found revision 7`:   &store.GuardError{Guard: store.Guard{Key: "/a", Revision: 6}, Current: &kv},
		`store: revision has been compacted (oldest is 5)`:                     &store.ExpiredError{Compacted: 5},
		`store: revision 9 is not reached yet (current is 5)`:                  &store.FutureRevisionError{Requested: 9, Current: 5},
		`store: request of 9 bytes is too large (limit 5)`:                     &store.TooLargeError{Bytes: 9, Limit: 5},
		`store: unavailable: get: no route`:                                    &store.UnavailableError{Op: "get", Err: errors.New("no route")},
		`store: unavailable, create may or may not have been applied: it hung`: &store.UnavailableError{Op: "create", MaybeApplied: true, Err: errors.New("it hung")},
	} {
		require.EqualError(t, err, want)
	}
	cause := errors.New("cause")
	require.ErrorIs(t, &store.UnavailableError{Err: cause}, cause)
	require.ErrorIs(t, &store.ConflictError{}, store.ErrNotFound)
	require.NotErrorIs(t, &store.ConflictError{Current: &kv}, store.ErrNotFound)
	require.Equal(t, "Put Delete Unknown", fmt.Sprint(store.Put, " ", store.Delete, " ", store.EventType(9)))
}

func ExampleOp_Check() {
	held := &store.KV{Key: "/leases/a", Revision: 12}
	fmt.Println(store.CreateOp("/leases/a", nil).Check(held))
	fmt.Println(store.UpdateOp("/leases/a", nil, 12).Check(held))
	// Output:
	// store: key "/leases/a" exists at revision 12
	// <nil>
}
