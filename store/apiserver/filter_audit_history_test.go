package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/audit"
)

// unreliable is a backend that loses the events of some calls. Which ones depends on the first event only.
type unreliable struct {
	auditTrail
	seed  uint64
	calls int
	lost  map[string][]auditv1.Stage
}

// loses reports whether a call that begins with this event fails.
func (u *unreliable) loses(id string, stage auditv1.Stage) bool {
	h := fnv.New32a()
	fmt.Fprint(h, u.seed, id, stage)
	return u.lost != nil && h.Sum32()%5 == 0
}

// Record implements audit.Backend.
func (u *unreliable) Record(ctx context.Context, events ...*auditv1.Event) error {
	u.mu.Lock()
	u.calls++
	fails := u.loses(string(events[0].AuditID), events[0].Stage)
	if fails {
		for _, e := range events {
			u.lost[string(e.AuditID)] = append(u.lost[string(e.AuditID)], e.Stage)
		}
	}
	u.mu.Unlock()
	if fails {
		return errors.New("no space left on device")
	}
	return u.auditTrail.Record(ctx, events...)
}

// all are the stages of a request that were recorded or lost, in the order of a request's life.
func (u *unreliable) all(id string) []auditv1.Stage {
	out := u.stages(id)
	u.mu.Lock()
	defer u.mu.Unlock()
	out = append(out, u.lost[id]...)
	order := []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseStarted, auditv1.StageResponseComplete, auditv1.StagePanic}
	slices.SortFunc(out, func(a, b auditv1.Stage) int { return slices.Index(order, a) - slices.Index(order, b) })
	return out
}

// audited is a request of a history: what is sent, and the stages at which it is to be recorded.
type audited struct {
	id, method, path, user string
	body                   any
	stages                 []auditv1.Stage
	code                   int // of the response
}

// randomAudited returns a request to one of few objects, of which some are refused.
func randomAudited(r *rand.Rand, id string) *audited {
	a := &audited{id: id, user: []string{"ann", "mallory", ""}[r.IntN(3)], stages: []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseComplete}}
	name := fmt.Sprintf("m%d", r.IntN(5))
	switch r.IntN(6) {
	case 0:
		a.method, a.path, a.stages = "GET", configMaps, nil
	case 1:
		a.method, a.path, a.body, a.stages = "POST", configMaps, configMap(name), a.stages[1:]
	case 2:
		a.method, a.path = "DELETE", configMaps+"/"+name
	case 3:
		a.method, a.path, a.body = "PUT", configMaps+"/"+name, configMap(name)
	case 4:
		a.method, a.path = "GET", configMaps+"?watch=1"
		a.stages = slices.Insert(a.stages, 1, auditv1.StageResponseStarted) // also of one that is refused
	default:
		a.method, a.path = "GET", configMaps+"/"+name
	}
	if a.user == "" && a.stages != nil {
		a.stages = []auditv1.Stage{auditv1.StageResponseStarted}
	}
	return a
}

// send sends the request. A watch is left when its response has begun.
func (a *audited) send(s *server) {
	resp := s.open(a.method, a.path, a.body, "Audit-ID", a.id, "X-User", a.user)
	a.code = resp.StatusCode
	_ = resp.Body.Close()
}

// Whatever requests run at the same time, each is recorded exactly once at each stage that the policy
// records, also by a backend that loses events, alone or in batches. If the backend must record and fails at
// the beginning, the request is refused, and nothing more is recorded of it.
func TestAuditHistory(t *testing.T) {
	for _, mode := range []string{"blocking", "lenient", "strict", "batch", "batch in parallel"} {
		refused, failed := 0, 0
		for _, seed := range seeds.Of(t, 4) {
			t.Run(fmt.Sprint(mode, ", seed ", seed), func(t *testing.T) {
				u := &unreliable{seed: seed}
				if mode != "blocking" {
					u.lost = map[string][]auditv1.Stage{}
				}
				requests := runAudited(t, mode, seed, u)
				for _, a := range requests {
					want := a.stages
					if mode == "strict" && len(want) > 1 && want[0] == auditv1.StageRequestReceived && u.loses(a.id, want[0]) {
						want = want[:1]
						require.Equal(t, 500, a.code, a.id)
						refused++
					} else {
						require.NotEqual(t, 500, a.code, a.id)
					}
					require.Equal(t, want, slices.Clip(u.all(a.id)), "%s: %s %s by %q", a.id, a.method, a.path, a.user)
					failed += len(u.lost[a.id])
				}
				if mode == "batch" {
					require.Less(t, u.calls, len(u.events), "events come together")
				}
			})
		}
		require.Equal(t, mode == "strict", refused > 0, mode)
		require.Equal(t, mode != "blocking", failed > 0, mode)
	}
}

// runAudited sends random requests by several clients, and returns them when all that a mode records has been
// passed on.
func runAudited(t *testing.T, mode string, seed uint64, u *unreliable) (requests []*audited) {
	t.Helper()
	var to audit.Backend = u
	end := func() {}
	switch mode {
	case "lenient":
		to = audit.Lenient(u)
	case "batch", "batch in parallel":
		o := audit.BatchOptions{Size: 7}
		if mode != "batch" {
			o.Parallel = 3
		}
		batch := audit.NewBatch(u, o)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- batch.Run(ctx) }()
		to, end = batch, func() { cancel(); require.NoError(t, <-done) }
	}
	policy := auditPolicy(t, "rules: [{level: None, verbs: [list]}, {level: Request, verbs: [create], omitStages: [RequestReceived]}, {level: Metadata}]")
	s := start(t, callers(apiserver.Options{Audit: audit.Options{Policy: policy, Backend: to}}))
	r := seeds.Rand(seed)
	var clients sync.WaitGroup
	for c := range 4 {
		var plan []*audited
		for i := range 25 {
			plan = append(plan, randomAudited(r, fmt.Sprintf("%d-%d", c, i)))
		}
		requests = append(requests, plan...)
		clients.Go(func() {
			for _, a := range plan {
				a.send(s)
			}
		})
	}
	clients.Wait()
	s.stop()
	end()
	return requests
}
