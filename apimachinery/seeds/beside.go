package seeds

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// mostAnswer is how long a line of a program may be, in bytes.
const mostAnswer = 64 << 20

// Peer returns the path of a component of Kubernetes, or of a program beside it, that .ci/peers builds. It is
// in the folder that KEELSON_PEERS names; without it the test is skipped. The tests that use one are named
// Beside.
func Peer(t testing.TB, program string) string {
	t.Helper()
	peers := os.Getenv("KEELSON_PEERS")
	if peers == "" {
		t.Skip("KEELSON_PEERS names no folder with Kubernetes' own components: .ci/explore peers")
	}
	path := filepath.Join(peers, program)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("KEELSON_PEERS has no %s: .ci/explore peers", program)
	}
	return path
}

// Beside starts a program that does what a component of Kubernetes does, as .ci/peers builds it, and returns
// a function that sends it a world as a line of JSON and returns the line that it answers with. The program
// is a [Peer], and ends with the test, which fails if the program does. The function must not be called by
// several goroutines.
func Beside[World, Answer any](t testing.TB, program string) func(World) Answer {
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatalf("%s: %v", program, err)
		}
	}
	cmd := exec.Command(Peer(t, program))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	check(err)
	out, err := cmd.StdoutPipe()
	check(err)
	check(cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", program, err)
		}
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, mostAnswer)
	return func(w World) (a Answer) {
		t.Helper()
		line, err := json.Marshal(w)
		check(err)
		_, err = in.Write(append(line, '\n'))
		check(err)
		if !lines.Scan() {
			t.Fatalf("%s has ended: %v", program, lines.Err())
		}
		check(json.Unmarshal(lines.Bytes(), &a))
		return a
	}
}
