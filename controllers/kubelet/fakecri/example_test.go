package fakecri_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// A real kubelet runs a pod on a simulated runtime, which loses the answers of all starts for a while: the
// container runs once all the same. The example returns at once: time is virtual.
func Example() {
	dir, err := os.MkdirTemp("", "kubelet-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{})
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		rt := fakecri.New("app:1")
		until := time.Now().Add(20 * time.Second)
		rt.Fault = func(method string, _ any) fakecri.Fault {
			if method == "StartContainer" && time.Now().Before(until) {
				return fakecri.After
			}
			return 0
		}
		rt.Play = func(*cri.ContainerConfig) fakecri.Script { return fakecri.Script{RunFor: time.Minute, ExitCode: 3} }
		dial, wait := rt.Serve(ctx)
		k, err := kubelet.New(c.Conn(), kubelet.Options{
			NodeName: "node-0", RootDir: dir, LogDir: dir + "/pods", RuntimeDial: dial, NoCgroups: true, DiskForMemory: true, StopPods: true,
			// The machine that runs the test may be short of disk space or memory.
			Eviction: kubelet.EvictionPolicy{Hard: map[string]string{}}, ImageGC: kubelet.ImageGCPolicy{HighPercent: 100},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		end := c.Run(k)
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "task")}
		p.Spec.NodeName, p.Spec.RestartPolicy = "node-0", corev1.RestartPolicyNever
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		controllertest.Create(c, p)
		time.Sleep(30 * time.Second)
		fmt.Println(rt.Running(), "doubles:", len(rt.Doubles()))
		time.Sleep(2 * time.Minute)
		status := controllertest.Get[*corev1.Pod](c, "default", "task").Status
		fmt.Println(status.Phase, status.ContainerStatuses[0].State.Terminated.ExitCode)
		end()
		stop()
		wait()
	})
	// Output:
	// [task/main] doubles: 0
	// Failed 3
}
