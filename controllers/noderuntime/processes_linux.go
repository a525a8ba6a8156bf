package noderuntime

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is a process held by a pidfd, so that a signal never reaches another process with the same pid.
type process struct {
	pid int
	fd  int
}

// openProcess opens the process with a pid if is reports true. Because is runs after the pidfd was opened,
// and the process has not ended after that, what it read from /proc was of this process.
func openProcess(pid int, is func() bool) (process, bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return process{}, false
	}
	p := process{pid, fd}
	if !is() || p.ended(0) {
		p.close()
		return process{}, false
	}
	return p, true
}

func (p process) signal(s unix.Signal) { _ = unix.PidfdSendSignal(p.fd, s, nil, 0) }

func (p process) close() { _ = unix.Close(p.fd) }

// ended waits for the end of the process for at most d and reports whether it has ended.
func (p process) ended(d time.Duration) bool {
	deadline := time.Now().Add(d)
	for {
		left := max(time.Until(deadline), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n > 0
		}
	}
}

// endTrees kills the processes that match reports and all their descendants, and waits for their end for at
// most d. The processes are stopped first, for at most half of it, until no new descendants appear, so that
// none escapes by forking. Descendants whose parents end are found if the matched processes are their
// subreapers, as shims are.
func endTrees(match func(pid int) bool, d time.Duration) error {
	deadline := time.Now().Add(d)
	stopped := time.Now().Add(d / 2)
	tree := map[int]process{}
	defer func() {
		for _, p := range tree {
			p.close()
		}
	}()
	for quiet := false; !quiet; {
		quiet = true
		for pid := range pids() {
			if _, known := tree[pid]; known {
				continue
			}
			p, ok := openProcess(pid, func() bool {
				parent, _ := stat(pid)
				held, below := tree[parent]
				// The pid of a parent that has ended may be another process's by now.
				return below && !held.ended(0) || match(pid)
			})
			if !ok {
				continue
			}
			tree[pid] = p
			p.signal(unix.SIGSTOP)
			quiet = false
		}
		// A process may fork until it has stopped.
		for pid, p := range tree {
			if _, state := stat(pid); !strings.Contains("TtZX", state) && !p.ended(0) {
				quiet = false
			}
		}
		if time.Now().After(stopped) {
			break // a process in an uninterruptible wait does not stop
		}
		if !quiet {
			time.Sleep(time.Millisecond)
		}
	}
	for _, p := range tree {
		p.signal(unix.SIGKILL)
	}
	left := 0
	for _, p := range tree {
		if !p.ended(time.Until(deadline)) {
			left++
		}
	}
	if left > 0 {
		return fmt.Errorf("noderuntime: %d of %d processes have not ended %v after they were killed", left, len(tree), d)
	}
	return nil
}

// pids yields the pids of all processes.
func pids() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		dir, err := os.Open("/proc")
		if err != nil {
			return
		}
		defer dir.Close()
		names, _ := dir.Readdirnames(-1)
		for _, name := range names {
			if pid, err := strconv.Atoi(name); err == nil && !yield(pid) {
				return
			}
		}
	}
}

// stat returns the parent and the state letter of a process, or 0 and "X" if there is none.
func stat(pid int) (parent int, state string) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, "X"
	}
	// The name, in parentheses, may contain spaces and parentheses.
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 2 {
		return 0, "X"
	}
	parent, _ = strconv.Atoi(f[1])
	return parent, f[0]
}
