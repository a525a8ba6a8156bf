package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
)

// Call is one recorded call for the linearizability checker.
type Call struct {
	Key      string
	Write    bool
	Delete   bool
	Value    string
	Expected int64
}

// Result is the result of a Call. Unknown marks a write without an answer.
type Result struct {
	Revision int64 // the commit's, or that of the key found; zero: no key
	Value    string
	Conflict bool
	Unknown  bool
}

// keyState is the state of one key in the sequential specification.
type keyState struct {
	revision int64
	value    string
}

// Specification is one key of a store as a porcupine model: a register with revisions, whose writes succeed
// exactly when the expected revision is the current one.
var Specification = porcupine.Model{
	Init: func() any { return keyState{} },
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(Call).Key
			byKey[key] = append(byKey[key], op)
		}
		var out [][]porcupine.Operation
		for _, ops := range byKey {
			out = append(out, ops)
		}
		return out
	},
	Step: func(state, input, output any) (bool, any) {
		return stepKey(state.(keyState), input.(Call), output.(Result))
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

func stepKey(st keyState, in Call, out Result) (bool, keyState) {
	if !in.Write {
		return out.Revision == st.revision && out.Value == st.value, st
	}
	matches := in.Expected == st.revision
	if out.Unknown {
		// An unanswered write has no revision to record, so the tests that lose answers check with
		// watches instead; here it may only have failed.
		return true, st
	}
	if out.Conflict {
		return !matches && out.Revision == st.revision && out.Value == st.value, st
	}
	if !matches || out.Revision <= st.revision {
		return false, st
	}
	if in.Delete {
		return true, keyState{}
	}
	return true, keyState{revision: out.Revision, value: in.Value}
}

// linearizable records the calls and results of concurrent clients, with their times, and has porcupine
// search for a sequential order that explains them.
func linearizable(t *testing.T, open Open) {
	s := open(t)
	for _, seed := range seedsFor(t, s, 25, 3) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		ops := recordCalls(ctx, s, seed)
		cancel()
		result := porcupine.CheckOperationsTimeout(Specification, ops, patience)
		require.Equal(t, porcupine.Ok, result, "seed %d: the history of %d calls is not linearizable", seed, len(ops))
	}
}

func recordCalls(ctx context.Context, s store.Store, seed uint64) []porcupine.Operation {
	var mu sync.Mutex
	var ops []porcupine.Operation
	start := time.Now()
	var tasks sync.WaitGroup
	for client := range 5 {
		tasks.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(client)))
			known := map[string]int64{}
			for range 40 {
				in := Call{Key: fmt.Sprintf("/lin%d/%d", seed, rnd.IntN(3)), Write: rnd.IntN(3) > 0}
				in.Expected = known[in.Key]
				in.Delete = in.Write && in.Expected != 0 && rnd.IntN(3) == 0
				in.Value = fmt.Sprintf("%d-%d", client, rnd.Uint32())
				call := time.Since(start).Nanoseconds()
				out := do(ctx, s, in)
				done := time.Since(start).Nanoseconds()
				known[in.Key] = out.Revision
				if in.Delete && !out.Conflict {
					known[in.Key] = 0
				}
				mu.Lock()
				ops = append(ops, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: done})
				mu.Unlock()
			}
		})
	}
	tasks.Wait()
	return ops
}

func do(ctx context.Context, s store.Store, in Call) Result {
	if !in.Write {
		kv, _, err := s.Get(ctx, in.Key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return Result{Unknown: true}
		}
		return Result{Revision: kv.Revision, Value: string(kv.Value)}
	}
	var revision int64
	var err error
	if in.Delete {
		revision, err = s.Delete(ctx, in.Key, in.Expected, store.WriteOptions{})
	} else {
		revision, err = s.Update(ctx, in.Key, []byte(in.Value), in.Expected, store.WriteOptions{})
	}
	var conflict *store.ConflictError
	switch {
	case err == nil:
		return Result{Revision: revision}
	case errors.As(err, &conflict) && conflict.Current != nil:
		return Result{Conflict: true, Revision: conflict.Current.Revision, Value: string(conflict.Current.Value)}
	case errors.As(err, &conflict):
		return Result{Conflict: true}
	default:
		return Result{Unknown: true}
	}
}
