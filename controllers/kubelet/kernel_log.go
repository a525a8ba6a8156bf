package kubelet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/client/events"
)

// KernelLog opens the log of the kernel, /dev/kmsg, after its newest message. It needs Linux, and privileges
// where kernel.dmesg_restrict is set.
func KernelLog() (io.ReadCloser, error) {
	f, err := os.OpenFile("/dev/kmsg", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// kernelRetry is how long to wait before the log of the kernel is opened again.
const kernelRetry = 10 * time.Second

// watchMemory makes an event of each process that the kernel killed because the whole machine was out of
// memory. Those that were killed because of the limit of their group are reported by their containers.
func (k *Kubelet) watchMemory(ctx context.Context) {
	for {
		log, err := k.opts.KernelLog()
		if err != nil {
			k.log.Warn("the log of the kernel cannot be read, no event is made when the machine is out of memory", "err", err)
			return
		}
		stop := context.AfterFunc(ctx, func() { _ = log.Close() })
		err = readKills(log, k.reportKill)
		stop()
		_ = log.Close()
		if ctx.Err() != nil {
			return
		}
		k.log.Warn("read the log of the kernel failed", "err", err)
		if backoff.Sleep(ctx, kernelRetry) != nil {
			return
		}
	}
}

func (k *Kubelet) reportKill(pid, process string) {
	message := "System OOM encountered"
	if pid != "" {
		message += fmt.Sprintf(", victim process: %s, pid: %s", process, pid)
	}
	k.recorder.About(k.node.about(), nil, events.Warning, "SystemOOM", message)
}

// readKills reads the log of the kernel to its end, or an error, and calls killed for each process that was
// killed because there was no memory at all.
func readKills(log io.Reader, killed func(pid, process string)) error {
	// A read returns one message, or fails with EPIPE if messages were overwritten that had not been read.
	lines := bufio.NewReaderSize(skipping{log}, 16<<10)
	k := kill{}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		if k.line(line) {
			killed(k.pid, k.process)
			k = kill{}
		}
	}
}

// skipping goes on after messages that are lost.
type skipping struct{ io.Reader }

func (s skipping) Read(b []byte) (int, error) {
	for {
		n, err := s.Reader.Read(b)
		if !errors.Is(err, syscall.EPIPE) {
			return n, err
		}
	}
}

// kill is what the kernel has said so far about one that is under way.
type kill struct {
	began, ofGroup bool
	pid, process   string
}

// killedLine is the message about the process, the last one of a kill.
var killedLine = regexp.MustCompile(`Killed process (\d+),?(?: UID \d+,)? \((.*)\)`)

// line takes up a message, and reports whether it ends the kill of a process for the whole machine.
func (k *kill) line(text string) bool {
	_, text, _ = strings.Cut(text, ";") // behind the level, number and time
	switch m := killedLine.FindStringSubmatch(text); {
	case strings.Contains(text, "invoked oom-killer:"):
		*k = kill{began: true}
	case !k.began:
	case m != nil:
		system := !k.ofGroup && !strings.HasPrefix(text, "Memory cgroup out of memory")
		k.pid, k.process, k.began = m[1], m[2], false
		return system
	case strings.Contains(text, ",oom_memcg=/,"): // the group of all processes
	case strings.Contains(text, ",oom_memcg=/"), strings.HasPrefix(text, "Task in /") && !strings.Contains(text, "as a result of limit of /\n"):
		k.ofGroup = true
	}
	return false
}
