package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB) store.Store {
		s := memory.New(memory.Options{})
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}, storetest.Options{})
}

func TestConformanceFromSnapshot(t *testing.T) {
	storetest.Run(t, func(t testing.TB) store.Store {
		s := memory.NewFromSnapshot(memory.New(memory.Options{}).Snapshot(), memory.Options{})
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}, storetest.Options{})
}
