package cache

import (
	"context"
	"fmt"
	"testing"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/memory"
)

// BenchmarkCheck is one comparison of 10,000 objects with the store, without the pauses between its pages.
func BenchmarkCheck(b *testing.B) {
	s := memory.New(memory.Options{})
	defer s.Close()
	for i := range 10000 {
		if _, err := s.Create(b.Context(), fmt.Sprintf("/pods/ns-%d/pod-%d", i%50, i), make([]byte, 1600), store.WriteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	c := New(s, "/pods/", Options{})
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	<-c.Ready()
	snap := c.Snapshot()
	page := store.ListOptions{Limit: checkPage, Revision: snap.revision, KeysOnly: true}
	for b.Loop() {
		for o := page; ; {
			list, err := s.List(ctx, c.prefix, o)
			if err == nil {
				err = c.comparePage(snap, o.After, list)
			}
			if err != nil {
				b.Fatal(err)
			}
			if !list.More {
				break
			}
			o.After = list.Items[len(list.Items)-1].Key
		}
	}
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
