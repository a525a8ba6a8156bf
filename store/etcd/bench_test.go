package etcd_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/etcd"
	"github.com/keelson-dev/keelson/store/storetest"
)

func benchStore(b *testing.B) *etcd.Store {
	e := storetest.StartEtcd(b)
	return open(b, etcd.Options{Endpoints: []string{e.Endpoint}})
}

// BenchmarkCreate has 32 clients, as the budget for creating Pods has.
func BenchmarkCreate(b *testing.B) {
	s, value := benchStore(b), make([]byte, 1600)
	var n atomic.Int64
	b.SetParallelism(16)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Create(b.Context(), fmt.Sprintf("/pods/default/%08d", n.Add(1)), value, store.WriteOptions{}); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkGet(b *testing.B) {
	s := benchStore(b)
	if _, err := s.Create(b.Context(), "/pods/default/x", make([]byte, 1600), store.WriteOptions{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Get(b.Context(), "/pods/default/x"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProgress(b *testing.B) {
	s := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Progress(b.Context(), "/pods/"); err != nil {
			b.Fatal(err)
		}
	}
}
