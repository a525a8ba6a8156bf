package proxy

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRunPassesAllInput: a program gets input of any size, also more than a pipe holds.
func TestRunPassesAllInput(t *testing.T) {
	for _, size := range []int{1, 4096, 65_536, 65_537, 3_000_000} {
		text := bytes.Repeat([]byte("x"), size)
		out, err := run(t.Context(), text, []string{"cat"})
		require.NoError(t, err)
		require.True(t, bytes.Equal(out, text), "%d of %d bytes", len(out), size)
	}
}

// TestRunOfProgramsThatDoNotRead: input that nothing reads is not an error.
func TestRunOfProgramsThatDoNotRead(t *testing.T) {
	out, err := run(t.Context(), make([]byte, 3_000_000), []string{"sh", "-c", "echo done"})
	require.NoError(t, err)
	require.Equal(t, "done\n", string(out))
}

// TestRunFails: the error has what a program printed for it, shortened, and its exit code; without input the
// output is without messages.
func TestRunFails(t *testing.T) {
	script := []string{"sh", "-c", "echo first; echo second >&2; exit 3"}
	for stdin, want := range map[string]struct{ out, message string }{"": {"first\n", "second"}, "text": {"first\nsecond\n", "first\nsecond"}} {
		out, err := run(t.Context(), []byte(stdin), script)
		failed, ok := errors.AsType[*CommandError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, 3, failed.ExitCode())
		require.Equal(t, want.message, failed.Output)
		require.Equal(t, want.out, string(out))
	}
	_, err := run(t.Context(), []byte("text"), []string{"sh", "-c", "yes | head -c 300000 >&2; exit 1"})
	failed, ok := errors.AsType[*CommandError](err)
	require.True(t, ok, "%v", err)
	require.Len(t, failed.Output, 1000+len(" ..."))

	_, err = run(t.Context(), make([]byte, 3_000_000), []string{"/there/is/none"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestRunEnds: the end of the context ends the program.
func TestRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := run(ctx, []byte("text"), []string{"sleep", "3600"})
	require.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := run(ctx, make([]byte, 3_000_000), []string{"sleep", "3600"})
		result <- err
	}()
	cancel()
	require.Error(t, <-result)
}

// TestRunKeepsNoFiles: programs leave no open files behind, whether they start or not.
func TestRunKeepsNoFiles(t *testing.T) {
	open := func() (n int) {
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		for _, e := range list {
			fd, err := strconv.Atoi(e.Name())
			require.NoError(t, err)
			if to, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && (strings.HasPrefix(to, "/memfd:") || strings.Contains(to, "pidfd")) {
				n++
			}
		}
		return n
	}
	before := open()
	for range 20 {
		_, err := run(t.Context(), nil, []string{"true"})
		require.NoError(t, err)
		_, err = run(t.Context(), []byte("text"), []string{"cat"})
		require.NoError(t, err)
		_, err = run(t.Context(), []byte("text"), []string{"/there/is/none"})
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	require.Equal(t, before, open())
}
