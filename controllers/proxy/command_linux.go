package proxy

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// run runs a program and returns what it prints; if it has input, with its messages. Input and output are
// files in memory: a pipe has a goroutine at its other end, and threads that wake for it. The end of the
// program is waited for with the poller of the Go runtime, which does nothing meanwhile, while it would look
// at a thread within a system call again and again, for about 1 ms of CPU a program.
//
// The program ends with this process, however that ends: it would write rules after the next process has
// written its own. The kernel takes the end of the thread for that of the process, so the thread is kept.
func run(ctx context.Context, stdin []byte, argv []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var files memoryFiles
	defer files.close()
	out, err := files.add(nil)
	if err != nil {
		return nil, err
	}
	messages := out
	if len(stdin) > 0 { // otherwise it reads from nothing
		in, err := files.add(stdin)
		if err != nil {
			return nil, err
		}
		cmd.Stdin = in
	} else if messages, err = files.add(nil); err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out, messages
	pidfd := -1
	cmd.SysProcAttr = &syscall.SysProcAttr{PidFD: &pidfd, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err = cmd.Start(); err == nil {
		awaitEnd(pidfd)
		err = cmd.Wait()
	}
	text, readErr := content(out)
	if err == nil {
		return text, readErr
	}
	what := text
	if messages != out {
		what, _ = content(messages)
	}
	failed := &CommandError{Command: strings.Join(argv, " "), Output: strings.TrimSpace(string(what)), Err: err}
	if len(failed.Output) > 1000 {
		failed.Output = failed.Output[:1000] + " ..."
	}
	return text, failed
}

// awaitEnd waits until a process has ended, and takes over its descriptor; -1 is that of a kernel without
// them. If it cannot wait it returns at once.
func awaitEnd(pidfd int) {
	if pidfd < 0 {
		return
	}
	_ = unix.SetNonblock(pidfd, true) // otherwise package os does not poll it
	f := os.NewFile(uintptr(pidfd), "pidfd")
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	ready := []unix.PollFd{{Events: unix.POLLIN}}
	_ = conn.Read(func(fd uintptr) bool {
		ready[0].Fd = int32(fd)
		n, err := unix.Poll(ready, 0)
		return n != 0 || err != nil && err != unix.EINTR
	})
}

// memoryFiles are files without a name in a file system.
type memoryFiles []*os.File

func (m *memoryFiles) add(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("keelson-proxy", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("proxy: file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	*m = append(*m, f)
	if len(data) > 0 {
		// A program starts where the file was left, which is its beginning.
		if _, err := f.WriteAt(data, 0); err != nil {
			return nil, fmt.Errorf("proxy: input of a program: %w", err)
		}
	}
	return f, nil
}

func (m *memoryFiles) close() {
	for _, f := range *m {
		_ = f.Close()
	}
}

// content is all that a file has.
func content(f *os.File) ([]byte, error) {
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return nil, err
	}
	data := make([]byte, st.Size())
	_, err = f.ReadAt(data, 0)
	if err == io.EOF {
		err = nil // a program that is still running may have cut it
	}
	return data, err
}
