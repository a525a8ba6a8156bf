package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/memory"
)

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := memory.New(memory.Options{})
	pods := cache.New(s, "/pods/", cache.Options{
		Attributes: func(kv store.KV) (cache.Attrs, error) {
			return cache.Attrs{Labels: map[string]string{"app": string(kv.Value)}}, nil
		},
	})
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()

	_, _ = s.Create(ctx, "/pods/default/a", []byte("web"), store.WriteOptions{})
	rev, _ := s.Create(ctx, "/pods/default/b", []byte("db"), store.WriteOptions{})

	// A consistent read includes both writes.
	snap, _ := pods.Consistent(ctx)
	for o := range snap.Range("/pods/default/", "") {
		fmt.Println(o.Namespace, o.Name, o.Attrs.Labels["app"])
	}

	// A watch with a selector: b becomes a web pod, and stops being one.
	_, _ = s.Update(ctx, "/pods/default/b", []byte("web"), rev, store.WriteOptions{})
	_, _ = s.Delete(ctx, "/pods/default/b", store.AnyRevision, store.WriteOptions{})
	enough := errors.New("enough")
	err := pods.Watch(ctx, cache.WatchOptions{
		From:  snap.Revision(),
		Match: func(o *cache.Object) bool { return o.Attrs.Labels["app"] == "web" },
	}, func(events []cache.Event) error {
		for _, e := range events {
			fmt.Println(e.Type, e.Object.Name, strings.ToUpper(string(e.Object.Value)))
			if e.Type == cache.Deleted {
				return enough
			}
		}
		return nil
	})
	fmt.Println(err)
	cancel()
	fmt.Println(<-stopped)
	// Output:
	// default a web
	// default b db
	// ADDED b WEB
	// DELETED b WEB
	// enough
	// <nil>
}
