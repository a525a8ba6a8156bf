package kubelet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// While something of a pod is forgotten its worker is still known, so that no other one begins for a static
// pod that has come back with its UID.
func TestAWorkerIsKnownUntilAllIsForgotten(t *testing.T) {
	const uid = types.UID("fixed")
	k := &Kubelet{workers: map[types.UID]*worker{}}
	k.status, k.starts = newStatuses(k), newPodStarts(startMetrics{})
	k.status.wanted[uid], k.starts.pods[uid] = &wantedStatus{}, &podStart{}
	w := &worker{k: k, uid: uid}
	k.workers[uid] = w
	known := false
	k.ledger = &ledger{in: map[types.UID]*tenant{uid: {}}, refused: map[types.UID]*verdict{}, waiting: map[types.UID]string{"other": ""},
		wake: func(types.UID) { known = k.worker(uid) == w }}
	k.retired(w)
	require.True(t, known)
	require.Nil(t, k.worker(uid))
	require.Empty(t, k.ledger.in)
	require.Empty(t, k.status.wanted)
	require.Empty(t, k.starts.pods)
}
