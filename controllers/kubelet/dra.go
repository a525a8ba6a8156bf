package kubelet

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/dra"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// claims are the dynamic resources of pods, and their drivers.
type claims struct {
	*dra.Manager
	k      *Kubelet
	slices *client.Client[*resourcev1.ResourceSlice]

	mu     sync.Mutex
	begin  func(driver string) context.CancelFunc // wipes meanwhile; set by run
	wiping map[string]context.CancelFunc          // by driver
	wipers sync.WaitGroup
}

func newClaims(k *Kubelet) *claims {
	c := &claims{k: k, slices: client.For[*resourcev1.ResourceSlice](k.m.Conn()), wiping: map[string]context.CancelFunc{}}
	objects := client.For[*resourcev1.ResourceClaim](k.m.Conn())
	c.Manager = dra.New(dra.Options{Path: filepath.Join(k.opts.RootDir, "resource_claims"), Dial: k.opts.Plugins.dialer(), Log: k.log,
		Claim: func(ctx context.Context, namespace, name string) (*resourcev1.ResourceClaim, error) {
			return objects.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name})
		},
		Hooks: dra.Hooks{Lost: c.lost, Found: c.found, Called: k.metrics.driverCalled, Changed: func(pods []types.UID) {
			for _, uid := range pods {
				k.wake(uid)
			}
		}}})
	k.metrics.registry.MustRegister(claimUse{c.Manager})
	return c
}

// register implements pluginType.
func (c *claims) register(_ context.Context, info *pluginapi.PluginInfo) (func(ctx, here context.Context), error) {
	return c.Register(info)
}

// claimsInterval is how often claims of pods that are gone are looked for.
const claimsInterval = time.Minute

// run removes the ResourceSlices of an earlier kubelet, whose drivers publish theirs again, and from time to
// time takes back the claims of pods that were removed while no kubelet ran. It returns when ctx has ended.
func (c *claims) run(ctx context.Context) {
	begin := func(f func(driver string) context.CancelFunc) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.begin = f
	}
	begin(func(driver string) context.CancelFunc {
		one, cancel := context.WithCancel(ctx)
		c.wipers.Go(func() { c.wipe(one, driver) })
		return cancel
	})
	defer func() {
		begin(nil)
		c.wipers.Wait()
	}()
	c.wipers.Go(func() { c.wipe(ctx, "") })
	if c.k.apiPods.WaitForSync(ctx) != nil {
		return
	}
	for backoff.Sleep(ctx, claimsInterval) == nil {
		if _, err := c.k.pleg.healthy(); err != nil || !c.k.staticKnown() {
			continue
		}
		held := c.k.pleg.held()
		for _, uid := range c.Pods() {
			if held[uid] || c.k.wanted(uid) {
				continue
			}
			if err := c.unprepare(ctx, uid); err != nil && ctx.Err() == nil {
				c.k.log.Info("unprepare resources of a pod that is gone failed, will retry", "uid", uid, "err", err)
			}
		}
	}
}

// lost begins to remove what a driver has published, which is away.
func (c *claims) lost(driver string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begin != nil && c.wiping[driver] == nil {
		c.wiping[driver] = c.begin(driver)
	}
}

// found ends that.
func (c *claims) found(driver string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.wiping[driver]; cancel != nil {
		cancel()
		delete(c.wiping, driver)
	}
}

// wipe removes the ResourceSlices of a driver on this node, those of all drivers if it is empty. It tries
// again until ctx ends.
func (c *claims) wipe(ctx context.Context, driver string) {
	select {
	case <-ctx.Done():
		return
	case <-c.k.node.registered:
	}
	which := fields.Set{"spec.nodeName": c.k.opts.NodeName}
	if driver != "" {
		which["spec.driver"] = driver
	}
	for n := 1; ctx.Err() == nil; n++ {
		err := c.slices.DeleteCollection(ctx, client.ListOptions{FieldSelector: fields.SelectorFromSet(which)}, client.DeleteOptions{})
		if err == nil || apierrors.IsNotFound(err) {
			return
		}
		c.k.log.Info("remove ResourceSlices failed", "driver", driver, "err", err)
		_ = backoff.Sleep(ctx, backoff.Policy{Initial: time.Second, Max: 5 * time.Minute}.Delay(ctx, n))
	}
}

// prepareClaims lets the drivers prepare the claims of a pod. Of a pod without claims it does nothing.
func (w *worker) prepareClaims(ctx context.Context, pod *corev1.Pod) error {
	c := w.k.claims
	if c == nil {
		return nil
	}
	began := time.Now()
	err := c.Prepare(ctx, pod)
	if len(pod.Spec.ResourceClaims) > 0 || pod.Status.ExtendedResourceClaimStatus != nil {
		w.k.metrics.claimsDone("PrepareResources", err, time.Since(began))
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	err = fmt.Errorf("prepare dynamic resources: %s", describe(err))
	w.k.recorder.Event(pod, events.Warning, "FailedPrepareDynamicResources", "Failed to prepare dynamic resources: "+err.Error())
	return err
}

// unprepare takes the claims of a pod back whose containers have stopped. c may be nil.
func (c *claims) unprepare(ctx context.Context, uid types.UID) error {
	if c == nil || !c.Uses(uid) {
		return nil
	}
	began := time.Now()
	err := c.Unprepare(ctx, uid)
	c.k.metrics.claimsDone("UnprepareResources", err, time.Since(began))
	if err != nil {
		return fmt.Errorf("unprepare dynamic resources: %s", describe(err))
	}
	return nil
}

// addClaims adds the devices of claims to a container. c may be nil.
func (c *claims) addClaims(config *cri.ContainerConfig, pod *corev1.Pod, spec *corev1.Container) error {
	if c == nil {
		return nil
	}
	given, err := c.Devices(pod, spec)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, g := range given {
		for _, name := range g.CDI {
			if !seen[name] { // two requests may have one device
				seen[name] = true
				config.CDIDevices = append(config.CDIDevices, &cri.CDIDevice{Name: name})
			}
		}
	}
	return nil
}

// resources are the devices of claims that a container has, for the API of pod resources. c may be nil.
func (c *claims) resources(pod *corev1.Pod, spec *corev1.Container) (list []pluginapi.DynamicResource) {
	if c == nil {
		return nil
	}
	given, err := c.Devices(pod, spec)
	if err != nil {
		return nil
	}
	at := map[string]int{}
	for _, g := range given {
		i, ok := at[g.Claim]
		if !ok {
			i = len(list)
			at[g.Claim] = i
			list = append(list, pluginapi.DynamicResource{Claim: g.Claim, Namespace: pod.Namespace})
		}
		one := pluginapi.ClaimResource{Driver: g.Driver, Pool: g.Pool, Device: g.Device, Share: g.Share}
		for _, name := range g.CDI {
			one.CDI = append(one.CDI, pluginapi.CDIDevice{Name: name})
		}
		list[i].Resources = append(list[i].Resources, one)
	}
	return list
}

// claimHealth is what the status of a container says of its claims.
func (w *worker) claimHealth(pod *corev1.Pod, c *corev1.Container) []corev1.ResourceStatus {
	if w.k.claims == nil || len(c.Resources.Claims) == 0 {
		return nil
	}
	return w.k.claims.Health(pod, c)
}

// checkCDI refuses devices of the Container Device Interface where the runtime would leave them out without a
// word: containerd has them since 1.7.
func (n *node) checkCDI(config *cri.ContainerConfig) error {
	v := n.runtimeVersion
	if len(config.CDIDevices) == 0 || v == nil || v.RuntimeName != "containerd" {
		return nil
	}
	major, rest, _ := strings.Cut(strings.TrimPrefix(v.RuntimeVersion, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if errA == nil && errB == nil && (a < 1 || a == 1 && b < 7) {
		return fmt.Errorf("the container runtime %s://%s does not support CDI devices, such as %s", v.RuntimeName, v.RuntimeVersion, config.CDIDevices[0].Name)
	}
	return nil
}

// driverCalled measures a call of a driver of dynamic resources.
func (m *metrics) driverCalled(driver, method string, code codes.Code, took time.Duration) {
	m.claimCalls.WithLabelValues(driver, method, code.String()).Observe(took.Seconds())
}

// claimsDone measures the preparation of a pod's claims, and the reverse.
func (m *metrics) claimsDone(operation string, err error, took time.Duration) {
	m.claimOperations.WithLabelValues(operation, strconv.FormatBool(err != nil)).Observe(took.Seconds())
}

// claimUse shows the claims that are prepared.
type claimUse struct{ m *dra.Manager }

var claimsInUse = prometheus.NewDesc("dra_resource_claims_in_use",
	"Prepared claims that have devices of a driver; of the driver <any>: all claims, each once.", []string{"driver_name"}, nil)

// Describe implements prometheus.Collector.
func (claimUse) Describe(ch chan<- *prometheus.Desc) { ch <- claimsInUse }

// Collect implements prometheus.Collector.
func (u claimUse) Collect(ch chan<- prometheus.Metric) {
	byDriver, all := u.m.InUse()
	byDriver["<any>"] = all
	for name, n := range byDriver {
		ch <- prometheus.MustNewConstMetric(claimsInUse, prometheus.GaugeValue, float64(n), name)
	}
}
