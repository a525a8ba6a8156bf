package file

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/memory"
)

// A disk that fails: reads still work, all writes are refused, and no unsynced commit is
// visible.
func TestDiskErrors(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	require.NoError(t, err)
	_, err = s.Create(t.Context(), "/a", nil, store.WriteOptions{})
	require.NoError(t, err)
	require.NoError(t, s.journal.file.Close())
	for i := range 2 {
		_, err = s.Create(t.Context(), "/b", nil, store.WriteOptions{})
		var unavailable *store.UnavailableError
		require.ErrorAs(t, err, &unavailable)
		require.Equal(t, i == 0, unavailable.MaybeApplied)
	}
	_, _, err = s.Get(t.Context(), "/b")
	require.ErrorIs(t, err, store.ErrNotFound)
	_, revision, err := s.Get(t.Context(), "/a")
	require.NoError(t, err)
	require.EqualValues(t, 2, revision)
	require.Error(t, s.Close())
}

// A rewrite that fails leaves the store as it was, and is retried.
func TestARewriteThatFails(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{RewriteBytes: 1000})
	require.NoError(t, err)
	blocker := filepath.Join(dir, newName)
	require.NoError(t, os.Mkdir(blocker, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(blocker, "x"), nil, 0o600))
	write := func() {
		for range 20 {
			_, err := s.Update(t.Context(), "/a", make([]byte, 300), store.Absent, store.WriteOptions{})
			if err != nil {
				_, err = s.Update(t.Context(), "/a", make([]byte, 300), store.AnyRevision, store.WriteOptions{})
			}
			require.NoError(t, err)
		}
	}
	write()
	s.rewriting.Wait()
	grown := size(t, dir)
	require.Greater(t, grown, int64(20*300))
	require.False(t, s.journal.rewriting)
	require.Empty(t, s.journal.tail, "nothing is kept for a finished rewrite")
	require.NoError(t, os.RemoveAll(blocker))
	write()
	write()
	s.rewriting.Wait()
	require.NoError(t, s.Close())
	require.Less(t, size(t, dir), 2*grown, "without a rewrite it is three times as large")
	again, err := Open(dir, Options{})
	require.NoError(t, err)
	require.EqualValues(t, 61, again.Snapshot().Revision())
	require.NoError(t, again.Close())
}

func size(t *testing.T, dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, dataName))
	require.NoError(t, err)
	return info.Size()
}

// Files of the format without a checksum of their start can be read.
func TestFormerFiles(t *testing.T) {
	start := append(bytes.Clone(formerMark), bytes.Repeat([]byte{7}, startBytes-len(formerMark))...)
	frame := appendCommit(beginFrame(nil), memory.Entry{Revision: 2, Changes: []memory.Change{{Type: store.Put, Key: "/a", Value: []byte("x")}}})
	identityOf(start).endFrame(frame, startBytes)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, dataName), append(start, frame...), 0o600))
	s, err := Open(dir, Options{})
	require.NoError(t, err)
	kv, revision, err := s.Get(t.Context(), "/a")
	require.NoError(t, err)
	require.Equal(t, "x", string(kv.Value))
	require.EqualValues(t, 2, revision)
	require.NoError(t, s.Close())
}

// Reading a file of any content terminates, with a store or an error.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	s, err := Open(dir, Options{RewriteBytes: 300})
	require.NoError(f, err)
	for _, key := range []string{"/a", "/b", "/c", "/d"} {
		_, err = s.Create(f.Context(), key, bytes.Repeat([]byte("x"), 100), store.WriteOptions{TTL: time.Hour})
		require.NoError(f, err)
	}
	require.NoError(f, s.Close())
	data, err := os.ReadFile(filepath.Join(dir, dataName))
	require.NoError(f, err)
	f.Add(data[startBytes:])
	id := identity(0)
	one := appendCommit(beginFrame(nil), memory.Entry{Revision: 2, Changes: []memory.Change{{Type: store.Put, Key: "/a"}}})
	id.endFrame(one, startBytes)
	f.Add(one)
	f.Fuzz(func(t *testing.T, records []byte) {
		var c contents
		c.snapshot, c.revision = 1, 1
		// After a valid checksum.
		_ = c.add(records)
		// Not random: runs must be equal.
		start := append(bytes.Clone(fileMark), make([]byte, startBytes-len(fileMark))...)
		seal(start)
		id := identityOf(start)
		frame := append(beginFrame(nil), records...)
		id.endFrame(frame, startBytes)
		for _, data := range [][]byte{append(bytes.Clone(start), records...), append(bytes.Clone(start), frame...), records} {
			if c, err := read(bytes.NewReader(data), "fuzz"); err == nil {
				require.LessOrEqual(t, c.end, int64(len(data)))
				require.NoError(t, memory.Restore(c.snapshot, c.all, c.entries, memory.Options{}).Close())
			}
		}
	})
}
