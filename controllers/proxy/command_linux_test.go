package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

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

// TestProgramsEndWithTheProcess that runs them, also if that is killed.
func TestProgramsEndWithTheProcess(t *testing.T) {
	const child = "KEELSON_TEST_PROXY_CHILD"
	if os.Getenv(child) != "" {
		_, err := run(t.Context(), nil, []string{"sh", "-c", "echo started >&3; exec sleep 3600"})
		require.NoError(t, err)
		return
	}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProgramsEndWithTheProcess$")
	cmd.Env, cmd.ExtraFiles = append(os.Environ(), child+"=1"), []*os.File{w}
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	text := bufio.NewReader(r)
	started, err := text.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "started\n", started)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	// The program has the other end of the pipe, too.
	require.NoError(t, r.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = text.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}
