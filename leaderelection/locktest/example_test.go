package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/locktest"
)

// One call tests a Lock implementation, here the one in memory.
func ExampleTest() {
	_ = func(t *testing.T) { // TestMyLock
		locktest.Test(t, func(t *testing.T) (a, b leaderelection.Lock) {
			store := locktest.NewStore("default", "mine")
			return store.Lock(), store.Lock()
		})
	}
}

// A leader whose server goes away ends its work and returns the reason.
func ExampleStore() {
	store := locktest.NewStore("default", "example")
	lock := store.Lock()
	var down atomic.Bool
	lock.Fault = func(string) locktest.Fault { return locktest.Fault{Drop: down.Load()} }
	elector, err := leaderelection.New(lock, leaderelection.Options{
		Identity: "pod-1", LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 100 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = elector.Run(context.Background(), func(ctx context.Context) error {
		record, _ := store.Record()
		fmt.Println(record.HolderIdentity, "leads")
		down.Store(true)
		<-ctx.Done()
		return nil
	})
	fmt.Println("lost:", errors.Is(err, leaderelection.ErrLost))
	// Output:
	// pod-1 leads
	// lost: true
}
