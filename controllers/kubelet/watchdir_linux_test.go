package kubelet

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWatchDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "manifests")
	require.NoError(t, os.Mkdir(dir, 0o755))
	changes := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	watch := func() { done <- machine{}.WatchDir(ctx, dir, func() { changes <- struct{}{} }) }
	go watch()
	<-changes // it watches
	at := func(name string) string { return filepath.Join(dir, name) }
	f, err := os.Create(at("a"))
	require.NoError(t, err)
	_, err = f.WriteString("half")
	require.NoError(t, err)
	require.Empty(t, changes, "it is being written")
	for _, change := range []func() error{
		f.Close,
		func() error { return os.WriteFile(at("a"), []byte("b"), 0o600) },
		func() error { return os.Rename(at("a"), at("c")) },
		func() error { return os.Symlink(at("c"), at("link")) },
		func() error { return os.Link(at("c"), at("hard")) },
		func() error { return os.Remove(at("c")) },
	} {
		require.NoError(t, change())
		<-changes
		for len(changes) > 0 {
			<-changes // one change may be several events
		}
	}
	require.NoError(t, os.RemoveAll(dir))
	require.ErrorContains(t, <-done, dir+" has been removed or moved")
	require.ErrorIs(t, machine{}.WatchDir(ctx, dir, nil), os.ErrNotExist)

	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	require.ErrorContains(t, machine{}.WatchDir(ctx, dir, nil), "not a directory")
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Mkdir(dir, 0o755))
	go watch()
	<-changes
	for len(changes) > 0 {
		<-changes
	}
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}
