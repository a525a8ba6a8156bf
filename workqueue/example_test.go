package workqueue_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/keelson-dev/keelson/workqueue"
)

func Example() {
	q := workqueue.New(workqueue.Options[string]{})
	q.AddWith("default/cached", workqueue.AddOptions{Priority: workqueue.LowPriority, Cause: "initial list"})
	q.Add("default/web")
	q.Add("default/web") // still one run
	q.ShutDown()         // what is queued is still handed out

	ctx := context.Background()
	for {
		key, err := q.Get(ctx)
		if errors.Is(err, workqueue.ErrShutDown) {
			return
		}
		fmt.Println(key)
		// A worker that fails calls q.AddRateLimited(key), one that succeeds:
		q.Forget(key)
		q.Done(key)
	}
	// Output:
	// default/web
	// default/cached
}
