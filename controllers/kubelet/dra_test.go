package kubelet_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakedra"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

const gpuDriver = "gpus.example.com"

// gpus is a rig with a driver of dynamic resources.
type gpus struct {
	*rig
	d    *fakedra.Driver
	s    *sockets
	stop func() // of the driver; nil while it is away
}

func withGPUs(t *testing.T, seed uint64, prepare func(*gpus), f func(*gpus)) {
	g := &gpus{d: fakedra.New(gpuDriver), s: &sockets{}}
	seeded(t, seed, func(r *rig) {
		g.rig = r
		g.plugins()
		if prepare != nil {
			prepare(g)
		}
		g.serve()
	}, func(*rig) {
		f(g)
		g.rig.stop()
		g.rig.stop = func() {}
		g.away()
	})
}

// plugins makes new sockets of the kubelet.
func (g *gpus) plugins() {
	g.opts.Plugins = g.s.options()
	g.opts.Plugins.Dial = func(ctx context.Context, path string) (net.Conn, error) { return fakedra.Dialer(g.d)(ctx, path) }
}

func (g *gpus) serve() {
	ctx, cancel := context.WithCancel(g.t.Context())
	_, wait, err := g.d.ServeInMemory(ctx, g.opts.RootDir)
	require.NoError(g.t, err)
	g.stop = func() { cancel(); wait() }
}

// away ends the driver.
func (g *gpus) away() {
	if g.stop != nil {
		g.stop()
		g.stop = nil
	}
}

// restart ends the kubelet without its pods and starts it again; between is called while there is none.
func (g *gpus) restart(between func()) {
	g.rig.stop()
	if between != nil {
		between()
	}
	g.plugins()
	g.start()
	time.Sleep(15 * time.Second) // the folder of plugins is read again after 10 s at most
}

// claim makes a claim that the scheduler has given devices of drivers, by request.
func (g *gpus) claim(name string, drivers ...string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name("default", name)}
	for i := range max(len(drivers), 1) {
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, resourcev1.DeviceRequest{Name: fmt.Sprint("r", i), Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpus"}})
	}
	c = controllertest.Create(g.c, c)
	if len(drivers) == 0 {
		return c
	}
	c.Status.Allocation = &resourcev1.AllocationResult{}
	for i, d := range drivers {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resourcev1.DeviceRequestAllocationResult{Request: fmt.Sprint("r", i), Driver: d, Pool: "node", Device: fmt.Sprint(name, i)})
	}
	return g.update(c)
}

func (g *gpus) update(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	c, err := client.For[*resourcev1.ResourceClaim](g.c.Admin()).UpdateStatus(g.t.Context(), c)
	require.NoError(g.t, err)
	return c
}

// reserve lets a pod use claims, as the scheduler does.
func (g *gpus) reserve(pod *corev1.Pod, claims ...string) {
	for _, name := range claims {
		c := controllertest.Get[*resourcev1.ResourceClaim](g.c, "default", name)
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
		g.update(c)
	}
}

// user makes a pod whose container c uses claims.
func (g *gpus) user(name string, claims ...string) *corev1.Pod {
	p := g.pod(name, useClaims(claims...), "c")
	g.reserve(p, claims...)
	return p
}

func useClaims(claims ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, c := range claims {
			p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: c, ResourceClaimName: new(c)})
			p.Spec.Containers[0].Resources.Claims = append(p.Spec.Containers[0].Resources.Claims, corev1.ResourceClaim{Name: c})
		}
	}
}

func (g *gpus) cdi(pod, container string) (names []string) {
	for _, d := range g.rt.Config(pod, container).CDIDevices {
		names = append(names, d.Name)
	}
	return names
}

// Containers have the devices of the requests that they name. The last pod that uses a claim gives it back
// when it has stopped, and a kubelet that starts again prepares nothing twice.
func TestDynamicResources(t *testing.T) {
	withGPUs(t, 0, func(g *gpus) {
		g.opts.StopPods = false
		g.d.Devices = func(c fakedra.Claim) []fakedra.Device {
			return []fakedra.Device{{Pool: "node", Device: c.Name + "0", Requests: []string{"r0"}, CDI: []string{"x/gpu=" + c.Name + "0"}},
				{Pool: "node", Device: c.Name + "1", Requests: []string{"r1"}, CDI: []string{"x/gpu=" + c.Name + "1", "x/gpu=link"}},
				{Pool: "node", Device: "bus", CDI: []string{"x/bus=0"}}}
		}
	}, func(g *gpus) {
		require.Equal(g.t, []string{""}, g.d.Registrations())
		g.claim("a", gpuDriver, gpuDriver)
		web := g.pod("web", func(p *corev1.Pod) {
			useClaims("a")(p)
			p.Spec.Containers[0].Resources.Claims[0].Request = "r1"
		}, "c", "all", "none")
		g.reserve(web, "a")
		other := g.pod("other", useClaims("a"), "c")
		g.reserve(other, "a")
		time.Sleep(15 * time.Second)
		require.True(g.t, ready(g.get("web")), g.eventsOf("web"))
		require.True(g.t, ready(g.get("other")))
		require.Equal(g.t, []string{"x/gpu=a1", "x/gpu=link", "x/bus=0"}, g.cdi("web", "c"))
		require.Empty(g.t, g.cdi("web", "none"))
		require.Equal(g.t, []string{"x/gpu=a0", "x/gpu=a1", "x/gpu=link", "x/bus=0"}, g.cdi("other", "c"))
		require.Equal(g.t, 1, g.d.Calls("NodePrepareResources"), "once for both pods")
		have := g.podResources(g.s)["web/c"].Dynamic
		require.Len(g.t, have, 1)
		require.Equal(g.t, "a default", have[0].Claim+" "+have[0].Namespace)
		require.Equal(g.t, pluginapi.ClaimResource{CDI: []pluginapi.CDIDevice{{Name: "x/gpu=a1"}, {Name: "x/gpu=link"}}, Driver: gpuDriver, Pool: "node", Device: "a1"}, have[0].Resources[0])
		for _, line := range []string{`dra_resource_claims_in_use{driver_name="<any>"} 1`, `dra_resource_claims_in_use{driver_name="gpus.example.com"} 1`,
			`dra_grpc_operations_duration_seconds_count{driver_name="gpus.example.com",grpc_status_code="OK",method_name="/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"} 1`,
			`dra_operations_duration_seconds_count{is_error="false",operation_name="PrepareResources"} 2`} {
			require.Contains(g.t, g.metrics(), line)
		}

		g.restart(nil)
		g.rt.Kill("web", "c", 1)
		time.Sleep(20 * time.Second)
		require.Equal(g.t, []string{"x/gpu=a1", "x/gpu=link", "x/bus=0"}, g.cdi("web", "c"))
		require.Contains(g.t, g.rt.Running(), "web/c")
		require.Equal(g.t, 1, g.d.Calls("NodePrepareResources"))
		g.delete("web", 1)
		time.Sleep(10 * time.Second)
		require.False(g.t, g.exists("web"))
		require.Equal(g.t, []string{"default/a"}, g.d.Prepared(), "the other pod uses it")
		g.delete("other", 1)
		time.Sleep(10 * time.Second)
		require.Empty(g.t, g.d.Prepared())
		require.Equal(g.t, 1, g.d.Calls("NodeUnprepareResources"))
		require.Contains(g.t, g.metrics(), `dra_resource_claims_in_use{driver_name="<any>"} 0`)
	})
}

// Claims from templates, and those of extended resources.
func TestGeneratedClaims(t *testing.T) {
	withGPUs(t, 0, func(g *gpus) { g.d.Beta = true }, func(g *gpus) {
		g.claim("made", gpuDriver)
		g.claim("extended", gpuDriver)
		p := g.pod("web", func(p *corev1.Pod) {
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("t")}, {Name: "nothing", ResourceClaimTemplateName: new("n")}}
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}, {Name: "nothing"}},
				Requests: corev1.ResourceList{"example.com/card": resource.MustParse("1")}, Limits: corev1.ResourceList{"example.com/card": resource.MustParse("1")}}
		}, "c", "d")
		time.Sleep(5 * time.Second)
		require.Contains(g.t, strings.Join(g.eventsOf("web"), "\n"), `FailedPrepareDynamicResources: Failed to prepare dynamic resources: prepare dynamic resources: pod "default/web": ResourceClaim not created yet`)
		g.reserve(p, "made", "extended")
		_, err := client.For[*corev1.Pod](g.c.Admin()).Patch(g.t.Context(), types.NamespacedName{Namespace: "default", Name: "web"}, client.Patch{Type: types.MergePatchType, Data: []byte(
			`{"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"made"},{"name":"nothing"}],
			"extendedResourceClaimStatus":{"resourceClaimName":"extended","requestMappings":[{"containerName":"c","resourceName":"example.com/card","requestName":"r0"}]}}}`)},
			client.PatchOptions{Subresource: "status"})
		require.NoError(g.t, err)
		time.Sleep(20 * time.Second)
		require.Contains(g.t, strings.Join(g.eventsOf("web"), "\n"), "ResourceClaim default/made was not created for pod default/web (pod is not owner)")
		require.Empty(g.t, g.d.Prepared())
		c := controllertest.Get[*resourcev1.ResourceClaim](g.c, "default", "made")
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web", UID: p.UID, Controller: new(true)}}
		_, err = client.For[*resourcev1.ResourceClaim](g.c.Admin()).Update(g.t.Context(), c)
		require.NoError(g.t, err)
		time.Sleep(20 * time.Second)
		require.True(g.t, ready(g.get("web")), g.eventsOf("web"))
		require.Equal(g.t, []string{gpuDriver + "/device=made", gpuDriver + "/device=extended"}, g.cdi("web", "c"))
		require.Empty(g.t, g.cdi("web", "d"))
	})
}

// What is wrong with one pod's claims keeps that pod from starting, with a reason, and no other.
func TestClaimsThatCannotBePrepared(t *testing.T) {
	var mu sync.Mutex
	var fault fakecri.Fault
	set := func(f fakecri.Fault) {
		mu.Lock()
		defer mu.Unlock()
		fault = f
	}
	withGPUs(t, 0, func(g *gpus) {
		g.d.Refuse = func(c fakedra.Claim) string {
			if c.Name == "refused" {
				return "no more devices"
			}
			return ""
		}
		g.d.Fault = func(string, []fakedra.Claim) fakecri.Fault {
			mu.Lock()
			defer mu.Unlock()
			return fault
		}
	}, func(g *gpus) {
		g.claim("none")
		g.claim("elsewhere", "absent.example.com")
		g.claim("refused", gpuDriver)
		g.claim("good", gpuDriver)
		g.claim("foreign", gpuDriver)
		for _, c := range []string{"elsewhere", "refused", "good"} {
			g.user(c, c)
		}
		g.pod("none", useClaims("none"), "c") // the scheduler has not allocated it
		g.pod("foreign", useClaims("foreign"), "c")
		g.pod("missing", useClaims("missing"), "c")
		time.Sleep(10 * time.Second)
		require.Equal(g.t, []string{"good/c"}, g.rt.Running())
		for pod, want := range map[string]string{"none": "is not allowed to use ResourceClaim none", "elsewhere": "DRA driver absent.example.com is not registered",
			"refused": "NodePrepareResources failed for ResourceClaim refused: no more devices", "foreign": "is not allowed to use ResourceClaim foreign",
			"missing": "fetch ResourceClaim missing: "} {
			require.Contains(g.t, strings.Join(g.eventsOf(pod), "\n"), "Failed to prepare dynamic resources: prepare dynamic resources: ", pod)
			require.Contains(g.t, strings.Join(g.eventsOf(pod), "\n"), want, pod)
			g.delete(pod, 1)
		}
		time.Sleep(10 * time.Second)
		require.Len(g.t, controllertest.List[*corev1.Pod](g.c, "default"), 1, "none of them stays")
		require.Equal(g.t, []string{"default/good"}, g.d.Prepared())

		for i, f := range []fakecri.Fault{fakecri.Before, fakecri.After, fakecri.Instead, fakecri.Hang} {
			set(f)
			name := fmt.Sprint("f", i)
			g.claim(name, gpuDriver)
			g.user(name, name)
			time.Sleep(2 * time.Minute)
			require.Equal(g.t, []string{"good/c"}, g.rt.Running(), name)
			set(0)
			time.Sleep(time.Minute)
			require.Equal(g.t, []string{name + "/c", "good/c"}, g.rt.Running())
			// The pod is not said to have ended before its claim is given back.
			set(f)
			g.delete(name, 1)
			time.Sleep(2 * time.Minute)
			require.NotContains(g.t, g.rt.Running(), name+"/c")
			require.True(g.t, g.exists(name))
			set(0)
			time.Sleep(time.Minute)
			require.False(g.t, g.exists(name))
			require.Equal(g.t, []string{"default/good"}, g.d.Prepared())
		}
	})
}

// What was prepared is given back though the kubelet was killed, and found again though its checkpoint was
// damaged.
func TestClaimsOverRestarts(t *testing.T) {
	withGPUs(t, 0, func(g *gpus) { g.opts.StopPods = false }, func(g *gpus) {
		for _, c := range []string{"stays", "goes"} {
			g.claim(c, gpuDriver)
			g.user(c, c)
		}
		time.Sleep(15 * time.Second)
		require.Equal(g.t, []string{"default/goes", "default/stays"}, g.d.Prepared())
		// One pod goes while there is no kubelet, with its containers.
		g.restart(func() {
			g.rt.KillSandbox("goes")
			g.delete("goes", 0)
		})
		time.Sleep(2 * time.Minute)
		require.Equal(g.t, []string{"default/stays"}, g.d.Prepared())
		require.Equal(g.t, []string{"stays/c"}, g.rt.Running())

		before := g.d.Calls("NodePrepareResources")
		g.restart(func() {
			require.NoError(g.t, os.WriteFile(filepath.Join(g.opts.RootDir, "resource_claims"), []byte(`{"version":1`), 0o600))
		})
		require.Equal(g.t, []string{"stays/c"}, g.rt.Running())
		g.rt.Kill("stays", "c", 1)
		time.Sleep(30 * time.Second)
		require.Equal(g.t, []string{"stays/c"}, g.rt.Running())
		require.Equal(g.t, []string{gpuDriver + "/device=stays"}, g.cdi("stays", "c"))
		require.Equal(g.t, before+1, g.d.Calls("NodePrepareResources"))
		// The driver is away when the pod ends, and comes back.
		g.away()
		g.delete("stays", 1)
		time.Sleep(2 * time.Minute)
		require.True(g.t, g.exists("stays"))
		require.Empty(g.t, g.rt.Running())
		g.serve()
		time.Sleep(time.Minute)
		require.False(g.t, g.exists("stays"))
		require.Empty(g.t, g.d.Prepared())
	})
}

// What drivers have published goes when the kubelet starts, and when its driver is away for long.
func TestResourceSlicesOfDriversThatAreAway(t *testing.T) {
	slice := func(g *gpus, name, node, driver string) {
		s := &resourcev1.ResourceSlice{ObjectMeta: controllertest.Name("", name)}
		s.Spec.Driver, s.Spec.NodeName = driver, &node
		s.Spec.Pool = resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}
		controllertest.Create(g.c, s)
	}
	names := func(g *gpus) (list []string) {
		for _, s := range controllertest.List[*resourcev1.ResourceSlice](g.c, "") {
			list = append(list, s.Name)
		}
		slices.Sort(list)
		return list
	}
	withGPUs(t, 0, func(g *gpus) { slice(g, "old", "n1", gpuDriver); slice(g, "far", "n2", gpuDriver) }, func(g *gpus) {
		time.Sleep(15 * time.Second)
		require.Equal(g.t, []string{"far"}, names(g))
		slice(g, "mine", "n1", gpuDriver)
		slice(g, "others", "n1", "other.example.com")
		g.away()
		time.Sleep(20 * time.Second)
		g.serve()
		time.Sleep(2 * time.Minute)
		require.Equal(g.t, []string{"far", "mine", "others"}, names(g), "it was back in time")
		g.away()
		time.Sleep(time.Minute)
		require.Equal(g.t, []string{"far", "others"}, names(g))
		g.serve()
		time.Sleep(20 * time.Second)
		slice(g, "mine", "n1", gpuDriver)
		time.Sleep(2 * time.Minute)
		require.Equal(g.t, []string{"far", "mine", "others"}, names(g))
	})
}

// The status of a container says how the devices of its claims are.
func TestHealthOfDynamicResources(t *testing.T) {
	withGPUs(t, 0, nil, func(g *gpus) {
		g.claim("a", gpuDriver)
		p := g.pod("web", func(p *corev1.Pod) {
			useClaims("a")(p)
			p.Spec.Containers[0].Resources.Claims[0].Request = "r0"
		}, "c")
		g.reserve(p, "a")
		time.Sleep(15 * time.Second)
		state := func() string {
			st := g.get("web").Status.ContainerStatuses[0].AllocatedResourcesStatus
			require.Len(g.t, st, 1)
			require.Equal(g.t, corev1.ResourceName("claim:a/r0"), st[0].Name)
			require.Equal(g.t, corev1.ResourceID(gpuDriver+"/device=a"), st[0].Resources[0].ResourceID)
			text := string(st[0].Resources[0].Health)
			if m := st[0].Resources[0].Message; m != nil {
				text += " " + *m
			}
			return text
		}
		require.Equal(g.t, "Unknown", state())
		g.d.SetHealth("node", "a", fakedra.Healthy, "", 600)
		time.Sleep(time.Second)
		require.Equal(g.t, "Healthy", state())
		g.d.SetHealth("node", "a", fakedra.Unhealthy, strings.Repeat("hot ", 300), 600)
		time.Sleep(time.Second)
		require.True(g.t, strings.HasPrefix(state(), "Unhealthy hot ") && strings.HasSuffix(state(), "...") && len(state()) == len("Unhealthy ")+1024)
		time.Sleep(12 * time.Minute)
		require.Equal(g.t, "Unknown", state(), "nothing was heard for long")
		g.d.SetHealth("node", "a", fakedra.Healthy, "", 600)
		time.Sleep(time.Second)
		require.Equal(g.t, "Healthy", state())
		g.away()
		time.Sleep(20 * time.Second)
		require.Equal(g.t, "Unknown", state())
	})
}

// Whatever fails, no container runs with a claim that is not prepared, and none stays prepared.
func TestClaimHistories(t *testing.T) {
	for _, seed := range seeds.Of(t, 6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			var broken []string
			rate := 0.3
			draw := func() float64 { mu.Lock(); defer mu.Unlock(); return rnd.Float64() }
			withGPUs(t, seed, func(g *gpus) {
				g.opts.StopPods = false
				g.d.Fault = func(string, []fakedra.Claim) fakecri.Fault {
					if draw() < rate {
						return fakecri.Fault(1 + int(draw()*3))
					}
					return 0
				}
				g.rt.Play = func(c *cri.ContainerConfig) fakecri.Script {
					for _, dev := range c.CDIDevices {
						name := "default/" + strings.TrimPrefix(dev.Name, gpuDriver+"/device=")
						if !slices.Contains(g.d.Prepared(), name) {
							mu.Lock()
							broken = append(broken, name)
							mu.Unlock()
						}
					}
					return fakecri.Script{}
				}
			}, func(g *gpus) {
				const claims = 3
				for i := range claims {
					g.claim(fmt.Sprint("c", i), gpuDriver)
				}
				next := 0
				for range 25 {
					switch n := draw(); {
					case n < 0.45:
						list := []string{fmt.Sprint("c", int(draw()*claims))}
						if two := fmt.Sprint("c", int(draw()*claims)); two != list[0] {
							list = append(list, two)
						}
						g.user(fmt.Sprint("p", next), list...)
						next++
					case n < 0.7:
						if next > 0 {
							if name := fmt.Sprint("p", int(draw()*float64(next))); g.exists(name) {
								g.delete(name, 1)
							}
						}
					case n < 0.85:
						g.restart(nil)
					case n < 0.95:
						g.away()
						time.Sleep(time.Duration(draw()*40) * time.Second)
						g.serve()
					}
					time.Sleep(time.Duration(draw()*10) * time.Second)
				}
				mu.Lock()
				rate = 0
				mu.Unlock()
				time.Sleep(2 * time.Minute)
				for _, p := range controllertest.List[*corev1.Pod](g.c, "default") {
					require.True(g.t, ready(p), "seed %d: %s: %v", seed, p.Name, g.eventsOf(p.Name))
					require.Equal(g.t, len(p.Spec.ResourceClaims), len(g.cdi(p.Name, "c")))
					g.delete(p.Name, 1)
				}
				time.Sleep(2 * time.Minute)
				require.Empty(g.t, g.d.Prepared(), "seed %d", seed)
				require.Empty(g.t, g.rt.Running())
				require.Empty(g.t, broken, "seed %d", seed)
			})
		})
	}
}
