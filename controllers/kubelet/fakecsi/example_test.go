package fakecsi_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecsi"
)

// A real kubelet mounts an inline volume of a driver whose first answers are lost. The example returns at
// once: time is virtual.
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
		d := fakecsi.New("scratch.example.com", fakecsi.Options{})
		until := time.Now().Add(10 * time.Second)
		d.Fault = func(method string, _ any) fakecri.Fault {
			if method == "NodePublishVolume" && time.Now().Before(until) {
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
		controllertest.Create(c, &storagev1.CSIDriver{ObjectMeta: controllertest.Name("", d.Name()), Spec: storagev1.CSIDriverSpec{
			VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral}}})
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "task")}
		p.Spec.NodeName = "node-0"
		p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: d.Name()}}}}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1", VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}}}
		controllertest.Create(c, p)
		time.Sleep(5 * time.Second)
		fmt.Println("running:", rt.Running(), "published:", len(d.Published()))
		time.Sleep(time.Minute)
		fmt.Println("running:", rt.Running(), "published:", len(d.Published()))
		end() // StopPods
		fmt.Println("published:", len(d.Published()), "rules broken:", len(d.Broken()))
		stop()
		waitDriver()
		waitRuntime()
	})
	// Output:
	// running: [] published: 1
	// running: [task/main] published: 1
	// published: 0 rules broken: 0
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
