package atomicfile_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "cache", "state.json")
	fmt.Println(atomicfile.Write(path, []byte("{}")))
	b, _ := os.ReadFile(path)
	fmt.Printf("%s\n", b)
	// Output:
	// <nil>
	// {}
}

func TestWrite(t *testing.T) {
	for name, write := range map[string]func(string, []byte) error{"Write": atomicfile.Write, "WriteSync": atomicfile.WriteSync} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a", "b", "file")
			require.NoError(t, write(path, []byte("old")))
			if runtime.GOOS != "windows" {
				require.NoError(t, os.Chmod(path, 0o644), "the mode is not kept")
			}
			require.NoError(t, write(path, []byte("new")))
			require.Equal(t, "new", read(t, path))
			info, err := os.Stat(path)
			require.NoError(t, err)
			if runtime.GOOS != "windows" {
				require.Equal(t, os.FileMode(0o600), info.Mode())
			}
			require.Equal(t, []string{"file"}, names(t, filepath.Dir(path)), "nothing is left behind")
		})
	}
}

// TestFailures: what cannot be written leaves the folder as it was.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "folder", "full"), 0o750))
	require.Error(t, atomicfile.Write(filepath.Join(dir, "folder"), []byte("x")), "a folder is in its place")
	require.Equal(t, []string{"folder"}, names(t, dir))
	require.NoError(t, atomicfile.Write(filepath.Join(dir, "file"), []byte("x")))
	require.Error(t, atomicfile.WriteSync(filepath.Join(dir, "file", "below"), []byte("y")), "a file is in the folder's place")
	require.Equal(t, "x", read(t, filepath.Join(dir, "file")))
	require.Equal(t, []string{"file", "folder"}, names(t, dir))
}

// TestReadersSeeWholeFiles: many writers and a reader of one file.
func TestReadersSeeWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	content := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 1<<16) }
	require.NoError(t, atomicfile.Write(path, content(0)))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 20 {
				if err := atomicfile.Write(path, content(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 50 {
		b := read(t, path)
		require.Len(t, b, 1<<16)
		require.Equal(t, 1<<16, bytes.Count([]byte(b), []byte{b[0]}), "parts of two files")
	}
	wg.Wait()
	require.Equal(t, []string{"file"}, names(t, filepath.Dir(path)))
}

// TestTemporary: the name of a file that a killed program left behind is recognized, and no other.
func TestTemporary(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, atomicfile.Write(filepath.Join(dir, "kept.json"), nil))
	f, err := os.CreateTemp(dir, ".kept.json.tmp-*")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	for _, name := range names(t, dir) {
		require.Equal(t, name != "kept.json", atomicfile.Temporary(name), name)
	}
	for _, name := range []string{"", ".", ".hidden", "file.tmp-1", "tmp-1"} {
		require.False(t, atomicfile.Temporary(name), name)
	}
}

func read(t *testing.T, path string) string {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func names(t *testing.T, dir string) (out []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
