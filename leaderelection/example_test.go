package leaderelection_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/locktest"
)

// A program that works while it leads, and becomes a candidate again when it has
// lost the lease. In a real one the lock is leaselock.New(conn, key, ...) and ctx
// ends with SIGTERM.
func Example() {
	lock := locktest.NewStore("default", "example").Lock()
	elector, err := leaderelection.New(lock, leaderelection.Options{Identity: "pod-1"})
	if err != nil {
		log.Fatal(err)
	}
	ctx, terminate := context.WithCancel(context.Background())
	lead := func(ctx context.Context) error {
		token, _ := fence.FromContext(ctx)
		fmt.Println("leading under", token)
		terminate()
		<-ctx.Done() // the work stops when ctx ends, and then returns
		return nil
	}
	for {
		err := elector.Run(ctx, lead)
		if !errors.Is(err, leaderelection.ErrLost) {
			fmt.Println("stopped:", err)
			break
		}
	}
	// Output:
	// leading under default/example;0;pod-1
	// stopped: <nil>
}

// BenchmarkIsLeader is what a readiness check costs.
func BenchmarkIsLeader(b *testing.B) {
	e, err := leaderelection.New(locktest.NewStore("ns", "x").Lock(), leaderelection.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		e.IsLeader()
	}
}
