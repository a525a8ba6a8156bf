package proxy

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// run runs a program and returns what it prints; if it has input, with its messages. It waits for the end of
// the output before it waits for that of the program: the Go runtime polls while a thread is within a system
// call, for about 1 ms of CPU a program, but not while it waits for a pipe.
func run(ctx context.Context, stdin []byte, argv []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, messages bytes.Buffer
	errOut := &messages
	if len(stdin) > 0 {
		errOut = &out // one pipe and one goroutine
	}
	err := talk(cmd, stdin, &out, errOut)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		text := strings.TrimSpace(errOut.String())
		if len(text) > 1000 {
			text = text[:1000] + " ..."
		}
		return out.Bytes(), &CommandError{Command: strings.Join(argv, " "), Output: text, Err: err}
	}
	return out.Bytes(), nil
}

// talk starts a program, writes its input and reads its output to the end. A program that ends before it has
// read everything is not an error here. Its ends of the pipes are not those of package os, which would have
// the runtime poll them.
func talk(cmd *exec.Cmd, stdin []byte, out, errOut *bytes.Buffer) error {
	var theirs []*os.File
	defer func() { closeAll(theirs) }()
	var input func()
	if len(stdin) > 0 { // otherwise it reads from nothing
		r, rest, err := inputPipe(stdin)
		if err != nil {
			return err
		}
		theirs, input, cmd.Stdin = append(theirs, r), rest, r
	}
	output, w, err := outputPipe()
	if err != nil {
		return err
	}
	defer output.Close()
	theirs, cmd.Stdout, cmd.Stderr = append(theirs, w), w, w
	messages := output
	if errOut != out {
		if messages, w, err = outputPipe(); err != nil {
			return err
		}
		defer messages.Close()
		theirs, cmd.Stderr = append(theirs, w), w
	}
	err = cmd.Start()
	closeAll(theirs)
	theirs = nil
	var done sync.WaitGroup
	if input != nil {
		done.Go(input) // to a program that did not start, it fails
	}
	if err == nil {
		if messages != output {
			done.Go(func() { _, _ = errOut.ReadFrom(messages) })
		}
		_, _ = out.ReadFrom(output)
	}
	done.Wait()
	return err
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// outputPipe returns a pipe from a program. Only r is polled by the runtime.
func outputPipe() (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("pipe: %w", err)
	}
	_ = unix.SetNonblock(fds[0], true)
	return os.NewFile(uintptr(fds[0]), "|0"), os.NewFile(uintptr(fds[1]), "|1"), nil
}

// inputPipe returns a pipe to a program with data in it. If it does not hold all, rest writes what is left,
// which ends at the latest with the program.
func inputPipe(data []byte) (r *os.File, rest func(), err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("pipe: %w", err)
	}
	r = os.NewFile(uintptr(fds[0]), "|0")
	_ = unix.SetNonblock(fds[1], true)
	n, err := unix.Write(fds[1], data)
	if err == nil && n == len(data) {
		_ = unix.Close(fds[1])
		return r, nil, nil
	}
	w := os.NewFile(uintptr(fds[1]), "|1")
	return r, func() {
		_, _ = w.Write(data[max(n, 0):])
		_ = w.Close()
	}, nil
}
