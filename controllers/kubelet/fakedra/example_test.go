package fakedra_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakedra"
)

// A real kubelet gives a pod the device of a claim, from a driver whose first answer is lost. The example
// returns at once: time is virtual.
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
		runtimeDial, waitRuntime := rt.Serve(ctx)
		d := fakedra.New("gpus.example.com")
		d.Fault = func(method string, _ []fakedra.Claim) fakecri.Fault {
			if method == "NodePrepareResources" && d.Calls(method) == 1 {
				return fakecri.After
			}
			return 0
		}
		dial, waitDriver, err := d.ServeInMemory(ctx, dir)
		if err != nil {
			fmt.Println(err)
			return
		}
		k, err := kubelet.New(c.Conn(), kubelet.Options{
			NodeName: "node-0", RootDir: dir, LogDir: dir + "/pods", RuntimeDial: runtimeDial, NoCgroups: true, DiskForMemory: true, StopPods: true,
			Plugins: &kubelet.PluginOptions{Dial: dial, Listener: bufconn.Listen(1 << 16), ResourcesListener: bufconn.Listen(1 << 16)},
			// The machine that runs the test may be short of disk space or memory.
			Eviction: kubelet.EvictionPolicy{Hard: map[string]string{}}, ImageGC: kubelet.ImageGCPolicy{HighPercent: 100},
			Host: quiet{},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		end := c.Run(k)
		claim := controllertest.Create(c, &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name("default", "gpu"), Spec: resourcev1.ResourceClaimSpec{
			Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpus"}}}}}})
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "task")}
		p.Spec.NodeName = "node-0"
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("gpu")}}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}}
		p = controllertest.Create(c, p)
		// What the scheduler does.
		claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
			Results: []resourcev1.DeviceRequestAllocationResult{{Request: "one", Driver: d.Name(), Pool: "node", Device: "gpu"}}}}
		claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: p.Name, UID: p.UID}}
		if _, err := client.For[*resourcev1.ResourceClaim](c.Admin()).UpdateStatus(ctx, claim); err != nil {
			fmt.Println(err)
			return
		}
		time.Sleep(time.Minute)
		fmt.Println("running:", rt.Running(), "prepared:", d.Prepared(), "devices:", rt.Config("task", "main").CDIDevices[0].Name)
		controllertest.Delete[*corev1.Pod](c, "default", "task", client.DeleteOptions{GracePeriodSeconds: new(int64(1))})
		time.Sleep(time.Minute)
		fmt.Println("running:", rt.Running(), "prepared:", d.Prepared())
		end()
		stop()
		waitDriver()
		waitRuntime()
	})
	// Output:
	// running: [task/main] prepared: [default/gpu] devices: gpus.example.com/device=gpu
	// running: [] prepared: []
}

// quiet is a machine whose folders cannot be watched: waiting for the kernel would stop virtual time.
type quiet struct{}

func (quiet) Memory() (total, available uint64)                         { return 8 << 30, 4 << 30 }
func (quiet) Disk(string) (kubelet.Disk, error)                         { return kubelet.Disk{}, nil }
func (quiet) PIDs() (most, running uint64)                              { return 1000, 1 }
func (quiet) CPU() uint64                                               { return 0 }
func (quiet) Started() time.Time                                        { return time.Time{} }
func (quiet) WatchDir(context.Context, string, func()) error            { return os.ErrInvalid }
func (quiet) MemoryAlarm(context.Context, string, uint64, func()) error { return os.ErrInvalid }
