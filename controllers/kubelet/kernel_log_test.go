package kubelet_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/kubelet"
)

// kmsg is a log of the kernel.
type kmsg struct {
	*io.PipeReader
	lose bool // the next message
}

func (k *kmsg) Read(b []byte) (int, error) {
	if k.lose {
		k.lose = false
		return 0, &os.PathError{Op: "read", Path: "/dev/kmsg", Err: syscall.EPIPE}
	}
	return k.PipeReader.Read(b)
}

// Processes that the kernel kills for the whole machine are events of the node, those of a group with a limit
// are not, in the words of kernels before and since 5.0.
func TestSystemOOM(t *testing.T) {
	var mu sync.Mutex
	var write *io.PipeWriter
	opened := 0
	bubble(t, func(r *rig) {
		r.opts.KernelLog = func() (io.ReadCloser, error) {
			mu.Lock()
			defer mu.Unlock()
			read, w := io.Pipe()
			write = w
			opened++
			return &kmsg{PipeReader: read, lose: true}, nil
		}
	}, func(r *rig) {
		say := func(messages ...string) {
			mu.Lock()
			to := write
			mu.Unlock()
			for i, m := range messages {
				_, err := fmt.Fprintf(to, "6,%d,1234567,-;%s\n SUBSYSTEM=memory\n", i, m)
				require.NoError(t, err)
			}
			time.Sleep(time.Second)
		}
		seen := func() (list []string) {
			for _, e := range r.eventsOf("n1") {
				if strings.HasPrefix(e, "SystemOOM") {
					list = append(list, e)
				}
			}
			return list
		}
		say("eth0: link up", "Out of memory: Killed process 1 (not in a kill)",
			"java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=1000",
			"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0,oom_memcg=/kubepods/podx,task_memcg=/kubepods/podx/a,task=java,pid=11,uid=0",
			"Memory cgroup out of memory: Killed process 11 (java) total-vm:1kB, anon-rss:1kB, UID:0 oom_score_adj:1000")
		say("old invoked oom-killer: gfp_mask=0x14000c0, order=0, oom_score_adj=0",
			"Task in /kubepods/podx killed as a result of limit of /kubepods/podx",
			"Memory cgroup out of memory: Kill process 12 (old) score 1 or sacrifice child", "Killed process 12 (old) total-vm:1kB")
		require.Empty(t, seen())

		say("sh invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
			"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/kubepods/pody,task=stress (x),pid=21,uid=0",
			"Out of memory: Killed process 21 (stress (x)) total-vm:1kB, anon-rss:1kB, UID:0 oom_score_adj:0")
		require.Equal(t, []string{"SystemOOM: System OOM encountered, victim process: stress (x), pid: 21"}, seen())
		say("sh invoked oom-killer: gfp_mask=0x14000c0, order=0, oom_score_adj=0", "[ pid ]   uid  tgid total_vm",
			"Out of memory: Kill process 22 (eater) score 900 or sacrifice child", "Killed process 22, UID 0, (eater) total-vm:1kB")
		require.ElementsMatch(t, []string{"SystemOOM: System OOM encountered, victim process: stress (x), pid: 21",
			"SystemOOM: System OOM encountered, victim process: eater, pid: 22"}, seen())

		// A log that ends is opened again.
		mu.Lock()
		require.NoError(t, write.Close())
		mu.Unlock()
		time.Sleep(11 * time.Second)
		mu.Lock()
		require.Equal(t, 2, opened)
		mu.Unlock()
		say("sh invoked oom-killer: order=0", "Out of memory: Killed process 23 (again) total-vm:1kB")
		require.Len(t, seen(), 3)
	})
}

// What comes after the kernel's log was opened is read; a reader that waits ends when it is closed.
func TestKernelLog(t *testing.T) {
	log, err := kubelet.KernelLog()
	if err != nil {
		t.Skip("no log of the kernel: ", err)
	}
	done := make(chan error, 1)
	go func() {
		for b := make([]byte, 8<<10); ; {
			if _, err := log.Read(b); err != nil {
				done <- err
				return
			}
		}
	}()
	require.NoError(t, log.Close())
	require.ErrorIs(t, <-done, os.ErrClosed)
}
