package file_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/file"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

var none store.WriteOptions

func open(t testing.TB, dir string, opts file.Options) *file.Store {
	t.Helper()
	s, err := file.Open(dir, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestConformance(t *testing.T) { conformance(t, file.Options{}) }

// The file is rewritten all the time.
func TestConformanceWhileRewriting(t *testing.T) { conformance(t, file.Options{RewriteBytes: 1}) }

func conformance(t *testing.T, opts file.Options) {
	dirs := map[store.Store]string{}
	storetest.Run(t, func(t testing.TB) store.Store {
		dir := t.TempDir()
		s := open(t, dir, opts)
		dirs[s] = dir
		return s
	}, storetest.Options{Crash: func(t testing.TB, s store.Store) store.Store {
		return open(t, image(t, dirs[s], ""), opts)
	}})
}

// image copies the file of a store as a crash would leave it, followed by more.
func image(t testing.TB, dir, more string) string {
	data, err := os.ReadFile(filepath.Join(dir, "keelson.log"))
	require.NoError(t, err)
	to := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(to, "keelson.log"), append(data, more...), 0o600))
	return to
}

// state is everything that must survive.
func state(t testing.TB, s *file.Store) map[string]string {
	list, err := s.List(context.Background(), "", store.ListOptions{})
	require.NoError(t, err)
	out := map[string]string{"revision": fmt.Sprint(list.Revision)}
	for _, kv := range list.Items {
		out[kv.Key] = fmt.Sprintf("%q %d %d %d", kv.Value, kv.Revision, kv.CreateRevision, s.Snapshot().Deadline(kv.Key).UnixNano())
	}
	return out
}

// A store that ends at any time has the same state when opened again.
func TestRandomHistories(t *testing.T) {
	for _, seed := range seeds.Slow(t, 20) {
		r := seeds.Rand(seed)
		dir := t.TempDir()
		o := file.Options{RewriteBytes: int64(1 + r.IntN(4000))}
		s := open(t, dir, o)
		for range 60 {
			key := fmt.Sprintf("/a/%d", r.IntN(12))
			value := bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(200))
			var ttl store.WriteOptions
			if r.IntN(4) == 0 {
				ttl.TTL = time.Duration(1+r.IntN(100)) * time.Hour
			}
			switch r.IntN(10) {
			case 0, 1:
				_, _ = s.Delete(t.Context(), key, store.AnyRevision, none)
			case 2:
				_, _ = s.Txn(t.Context(), []store.Op{store.CreateOp(key, value), store.DeleteOp("/a/0", store.AnyRevision), store.CreateOp("/b"+key, nil)}, nil)
			case 3: // crashes
				more := string(bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(40)))
				if r.IntN(2) == 0 {
					more = "\xf5Kel" + more
				}
				want := state(t, s)
				dir = image(t, dir, more)
				s = open(t, dir, o)
				require.Equal(t, want, state(t, s), "seed %d", seed)
			case 4: // ends
				want := state(t, s)
				require.NoError(t, s.Close())
				s = open(t, dir, o)
				require.Equal(t, want, state(t, s), "seed %d", seed)
			default:
				if _, err := s.Create(t.Context(), key, value, ttl); err != nil {
					_, err = s.Update(t.Context(), key, value, store.AnyRevision, ttl)
					require.NoError(t, err)
				}
			}
		}
	}
}

// Many writers at once share syncs, and lose nothing while the file is rewritten at the same time.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, file.Options{RewriteBytes: 10_000})
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := range 40 {
				_, err := s.Create(context.Background(), fmt.Sprintf("/w%02d/%03d", w, i%20), make([]byte, 100), none)
				if i >= 20 {
					_, err = s.Update(context.Background(), fmt.Sprintf("/w%02d/%03d", w, i%20), []byte{1}, store.AnyRevision, none)
				}
				if err != nil {
					panic(err)
				}
			}
		})
	}
	wg.Wait()
	want := state(t, s)
	require.Len(t, want, 16*20+1)
	require.Equal(t, fmt.Sprint(1+16*40), want["revision"])
	require.Equal(t, want, state(t, open(t, image(t, dir, ""), file.Options{})))
}

// A file cut anywhere is a store with the commits that were whole; a file damaged anywhere else is refused.
func TestCutAndDamaged(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, file.Options{})
	ends := []int64{}
	path := filepath.Join(dir, "keelson.log")
	for i := range 5 {
		_, err := s.Create(t.Context(), fmt.Sprintf("/k/%d", i), []byte("value"), none)
		require.NoError(t, err)
		info, err := os.Stat(path)
		require.NoError(t, err)
		ends = append(ends, info.Size())
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	count := func(data []byte) (int, error) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "keelson.log"), data, 0o600))
		s, err := file.Open(dir, file.Options{})
		if err != nil {
			return 0, err
		}
		n := s.Snapshot().Len()
		require.EqualValues(t, n+1, s.Snapshot().Revision())
		_, err = s.Create(t.Context(), "/more", nil, none)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		s, err = file.Open(dir, file.Options{})
		require.NoError(t, err, "what is written after a truncation is found")
		require.Equal(t, n+1, s.Snapshot().Len())
		return n, s.Close()
	}
	for cut := range len(data) + 1 {
		whole := 0
		for _, end := range ends {
			if int64(cut) >= end {
				whole++
			}
		}
		n, err := count(data[:cut])
		require.NoError(t, err, "cut at %d", cut)
		require.Equal(t, whole, n, "cut at %d", cut)
	}
	for at := range len(data) {
		damaged := bytes.Clone(data)
		damaged[at] ^= 0x10
		n, err := count(damaged)
		if int64(at) >= ends[3] { // the last frame
			require.NoError(t, err, "damaged at %d", at)
			require.Equal(t, 4, n)
			continue
		}
		var corrupt *file.CorruptError
		require.ErrorAs(t, err, &corrupt, "damaged at %d", at)
		require.Contains(t, err.Error(), "restore it from a copy")
	}
}

// What a crash leaves behind the last synced frame is anything: the frame may be there in part, its sectors
// in any order, with zeros or what the disk had before between them. In every case all that was
// acknowledged is found, and nothing else.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, file.Options{})
	path := filepath.Join(dir, "keelson.log")
	for i := range 5 {
		_, err := s.Create(t.Context(), fmt.Sprintf("/k/%d", i), bytes.Repeat([]byte{byte(i)}, 3000), none)
		require.NoError(t, err)
	}
	acknowledged, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = s.Create(t.Context(), "/k/5", bytes.Repeat([]byte{5}, 3000), none)
	require.NoError(t, err)
	all, err := os.ReadFile(path)
	require.NoError(t, err)
	const sector = 512
	for _, seed := range seeds.Of(t, 200) {
		rnd := seeds.Rand(seed)
		torn := bytes.Clone(all)
		for at := len(acknowledged); at < len(torn); {
			end := min(len(torn), at/sector*sector+sector)
			switch rnd.IntN(3) {
			case 0:
				clear(torn[at:end])
			case 1:
				// An earlier frame's bytes, where the disk had them.
				copy(torn[at:end], all[rnd.IntN(len(acknowledged)-sector):])
			}
			at = end
		}
		torn = append(torn, make([]byte, rnd.IntN(3)*sector)...)
		want := 5
		if bytes.Equal(torn[:len(all)], all) {
			want = 6
		}
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "keelson.log"), torn, 0o600))
		s, err := file.Open(dir, file.Options{})
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, want, s.Snapshot().Len(), "seed %d", seed)
		require.EqualValues(t, want+1, s.Snapshot().Revision(), "seed %d", seed)
		require.NoError(t, s.Close())
	}
}

// A file of this store inside of a value is no part of the store.
func TestAFileInAValue(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, file.Options{})
	_, err := s.Create(t.Context(), "/a", []byte("1"), none)
	require.NoError(t, err)
	inner, err := os.ReadFile(filepath.Join(dir, "keelson.log"))
	require.NoError(t, err)
	_, err = s.Create(t.Context(), "/b", inner, none)
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(dir, "keelson.log"))
	require.NoError(t, err)
	cut := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(cut, "keelson.log"), data[:len(data)-1], 0o600))
	require.Equal(t, 1, open(t, cut, file.Options{}).Snapshot().Len())
}

func TestOneAtATime(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, file.Options{})
	_, err := file.Open(dir, file.Options{})
	require.ErrorIs(t, err, file.ErrInUse)
	require.NoError(t, s.Close())
	open(t, dir, file.Options{})
}

// Revisions, watches and deadlines continue after a restart.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, file.Options{})
	first, err := s.Create(t.Context(), "/a", nil, none)
	require.NoError(t, err)
	// Mostly after the store is open again.
	_, err = s.Create(t.Context(), "/gone", nil, store.WriteOptions{TTL: 200 * time.Millisecond})
	require.NoError(t, err)
	second, err := s.Create(t.Context(), "/b", nil, none)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	s = open(t, dir, file.Options{})
	var keys []string
	enough := errors.New("enough")
	err = s.Watch(t.Context(), "/", first, store.WatchOptions{}, func(b store.Batch) error {
		for _, e := range b.Events {
			keys = append(keys, e.Type.String()+" "+e.KV.Key)
		}
		if len(keys) >= 3 {
			return enough
		}
		return nil
	})
	require.Equal(t, enough, err)
	require.ElementsMatch(t, keys, []string{"Put /gone", "Put /b", "Delete /gone"})
	third, err := s.Create(t.Context(), "/c", nil, none)
	require.NoError(t, err)
	require.Greater(t, third, second)
}

// TestAProcess is a writer that TestKill starts and kills.
func TestAProcess(t *testing.T) {
	dir := os.Getenv("KEELSON_FILE_TEST")
	if dir == "" {
		t.Skip("it is a part of TestKill")
	}
	s, err := file.Open(dir, file.Options{RewriteBytes: 20_000, Memory: memory.Options{}})
	require.NoError(t, err)
	var out sync.Mutex
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("/%d/%d", w, i)
				if _, err := s.Create(context.Background(), key, make([]byte, 200), none); err == nil {
					out.Lock()
					fmt.Println("stored " + key)
					out.Unlock()
				}
			}
		})
	}
	wg.Wait()
}

// What a process has acknowledged survives its kill.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	total := 0
	for round := range 3 {
		require.NoError(t, os.RemoveAll(dir))
		cmd := exec.Command(os.Args[0], "-test.run", "^TestAProcess$")
		cmd.Env = append(os.Environ(), "KEELSON_FILE_TEST="+dir)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		var stored []string
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			key, ok := strings.CutPrefix(lines.Text(), "stored ")
			require.True(t, ok, lines.Text())
			if stored = append(stored, key); len(stored) == 150*(round+1) {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		_ = cmd.Wait()
		s := open(t, dir, file.Options{})
		for _, key := range stored {
			_, _, err := s.Get(t.Context(), key)
			require.NoError(t, err)
		}
		total += len(stored)
		require.NoError(t, s.Close())
	}
	require.GreaterOrEqual(t, total, 900)
}

func Example() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for range 2 {
		s, err := file.Open(dir, file.Options{})
		if err != nil {
			panic(err)
		}
		_, err = s.Create(context.Background(), "/greeting", []byte("hello"), store.WriteOptions{})
		fmt.Println(err)
		if err := s.Close(); err != nil {
			panic(err)
		}
	}
	// Output:
	// <nil>
	// store: key "/greeting" exists at revision 2
}

// BenchmarkCreate measures concurrent writers whose writes are synced.
func BenchmarkCreate(b *testing.B) {
	for _, writers := range []int{1, 32} {
		b.Run(fmt.Sprintf("%d-writers", writers), func(b *testing.B) {
			s, err := file.Open(b.TempDir(), file.Options{})
			require.NoError(b, err)
			var next sync.Mutex
			n := 0
			var wg sync.WaitGroup
			b.ResetTimer()
			for range writers {
				wg.Go(func() {
					for {
						next.Lock()
						i := n
						n++
						next.Unlock()
						if i >= b.N {
							return
						}
						if _, err := s.Create(context.Background(), fmt.Sprintf("/%d", i), make([]byte, 1600), none); err != nil {
							panic(err)
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			require.NoError(b, s.Close())
		})
	}
}
