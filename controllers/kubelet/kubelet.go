package kubelet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/certificate"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/csi"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

// Kubelet runs the pods of one node. Use [New].
type Kubelet struct {
	opts Options
	// alone is true without an API server.
	alone bool
	// kernelDir has the parameters of the kernel.
	kernelDir string
	log       *slog.Logger
	m         *manager.Manager
	rt        *runtime
	views     *views
	pleg      *pleg

	pods    *client.Client[*corev1.Pod]
	apiPods *informers.Informer[*corev1.Pod]
	// podEvents is the handler of apiPods that makes workers.
	podEvents *informers.Registration
	services  *informers.Informer[*corev1.Service]
	recorder  *events.Recorder

	objects *objects
	tokens  *tokens
	// certificates and bundles are what is in projected volumes; nil if the options leave them out.
	certificates *podCertificates
	bundles      *trustBundles
	handlers     *handlers
	features     *runtimeFeatures
	ids          *idRanges
	images       *puller
	// providers are programs that give credentials for images.
	providers []*provider
	probes    *probes
	backoffs  *backoffs
	mounts    mounter
	// unshare takes the mount of the root directory away.
	unshare  func()
	cgroups  *cgroups
	limits   *limits
	status   *statuses
	node     *node
	devices  *devices // nil without plugins
	claims   *claims  // nil without plugins, and without an API server
	placer   *placer  // nil if no container has CPUs or memory for itself
	ledger   *ledger
	rotation *rotation
	stats    *stats
	imageGC  *imageGC
	evictor  *evictor
	shutdown *shutdown // nil if shutdowns of the machine are not delayed
	metrics  *metrics
	starts   *podStarts
	orphans  *orphanage
	serving  *certificate.Manager // nil if the serving certificate is given
	began    time.Time            // set by Run
	progress progress

	volumes *volume.Manager
	made    madeVolumes
	csiNode *csiNode

	work    func(*worker) // runs a worker until Run's context ends
	working sync.WaitGroup

	mu      sync.Mutex
	workers map[types.UID]*worker
	static  map[types.UID]*corev1.Pod // what the manifests say
	// staticRead is true once all sources of manifests have been read.
	staticRead bool
	stopping   bool

	staticPoked chan struct{} // capacity 1; a static pod has ended, or there are other manifests
}

// New returns a kubelet that uses conn to access the API server. It does nothing before Run. With a nil conn
// it runs standalone: the pods of the manifests only, without a Node object, mirror pods and events.
func New(conn client.Conn, opts Options) (*Kubelet, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	var reads informers.SetOptions
	alone := conn == nil
	if alone {
		if opts.Listener != nil && (opts.Authenticate == nil || opts.Authorize == nil) {
			return nil, errors.New("kubelet: Options.Listener without an API server needs Authenticate and Authorize")
		}
		if opts.RequestServing {
			return nil, errors.New("kubelet: Options.RequestServing needs an API server")
		}
		conn, reads.NoWatchList = noServer{}, true
	}
	k := &Kubelet{opts: opts, alone: alone, kernelDir: "/proc/sys", log: opts.Logger, workers: map[types.UID]*worker{}, static: map[types.UID]*corev1.Pod{},
		staticPoked: make(chan struct{}, 1)}
	k.progress.log = k.log
	k.progress.enter(phaseObjects)
	k.metrics = newMetrics(k)
	k.starts, k.orphans = newPodStarts(k.metrics.starts), newOrphanage(k)
	if k.providers, err = newProviders(&opts.CredentialProviders, k.metrics); err != nil {
		return nil, err
	}
	if k.rt, err = newRuntime(opts, k.metrics.call); err != nil {
		return nil, err
	}
	k.m = manager.New(conn, manager.Options{Logger: opts.Logger, Informers: reads})
	k.pods = client.For[*corev1.Pod](k.m.Conn())
	k.apiPods = informers.For[*corev1.Pod](k.m.Informers(), informers.Options[*corev1.Pod]{
		FieldSelector: fields.OneEqual("spec.nodeName", opts.NodeName)})
	k.services = informers.For[*corev1.Service](k.m.Informers())
	k.recorder = events.New(paced(k.m.Conn(), opts.EventsPerSecond, opts.EventBurst), events.Options{Component: "kubelet", Host: opts.NodeName, Instance: opts.NodeName, Logger: opts.Logger})
	if err := k.makeParts(); err != nil {
		k.rt.close()
		return nil, err
	}
	return k, nil
}

// makeParts makes the parts of the kubelet, each after those that it needs.
func (k *Kubelet) makeParts() (err error) {
	opts, conn := &k.opts, k.m.Conn()
	if opts.RequestServing {
		if k.serving, err = newServing(k); err != nil {
			return err
		}
	}
	k.metrics.certificates(k.serving, opts.ClientCertificate)
	k.objects, k.tokens, k.handlers = newObjects(k), newTokens(conn), newHandlers(conn)
	if opts.TrustBundles && !k.alone {
		k.bundles = newTrustBundles(k)
	}
	if opts.PodCertificates && !k.alone {
		k.certificates = newPodCertificates(k)
		k.metrics.registry.MustRegister(k.certificates)
	}
	k.features = &runtimeFeatures{rt: k.rt}
	k.ids = newIDRanges(opts.UserNamespaces, k.podDir, k.log)
	if k.images, err = newPuller(k); err != nil {
		return fmt.Errorf("kubelet: records of pulled images: %w", err)
	}
	k.probes = newProbes(k)
	k.backoffs = newBackoffs(min(restartBackoffInitial, opts.MaxRestartDelay), opts.MaxRestartDelay)
	k.mounts, k.unshare = newMounter(), func() {}
	k.cgroups = newCgroups(*opts)
	k.cgroups.metrics = k.metrics
	k.metrics.groupVersion.Set(1)
	if k.cgroups.tree.V2 {
		k.metrics.groupVersion.Set(2)
	}
	if opts.MemoryQoS != nil && !k.cgroups.tree.V2 {
		return errors.New("kubelet: Options.MemoryQoS needs cgroup v2, and this machine has version 1")
	}
	if one := opts.SingleProcessOOMKill; one != nil && !*one && !k.cgroups.tree.V2 {
		return errors.New("kubelet: Options.SingleProcessOOMKill must not be false with cgroup v1, where the kernel ends one process")
	}
	k.limits = newLimits(*opts, k.cgroups.tree.V2, limitsSwap(k.cgroups.tree.Mount, "/proc/self/cgroup", k.cgroups.tree.V2))
	if opts.LimitedSwap && !k.limits.swaps {
		k.log.Warn("pods use no swap: the kernel does not limit the swap of cgroups")
	}
	var drivers *csi.Drivers
	k.volumes, drivers = newVolumes(k)
	k.csiNode = newCSINode(k, drivers)
	k.status = newStatuses(k)
	k.node = newNode(k)
	if opts.Plugins != nil {
		k.devices = newDevices(k)
		if !k.alone {
			k.claims = newClaims(k)
		}
	}
	policy, thresholds, err := opts.Eviction.parse(!opts.NoPodLimit)
	if err != nil {
		return err
	}
	k.evictor = &evictor{k: k, policy: policy, thresholds: thresholds, log: k.log}
	if policy.KernelReports {
		k.evictor.alarms = newMemoryAlarms(k, thresholds)
	}
	k.shutdown = newShutdown(k)
	if k.placer, err = newPlacer(k); err != nil {
		return err
	}
	k.limits.placer, k.cgroups.placer, k.limits.allocatable = k.placer, k.placer, k.node.allocatable
	k.ledger = newLedger(k)
	k.views = newViews(k.rt, k.metrics)
	k.pleg = newPleg(k)
	k.rotation = &rotation{LogPolicy: opts.Logs, rt: k.rt, log: k.log}
	k.stats = &stats{k: k, disks: newDiskMeter(k, opts.VolumeStatsInterval)}
	k.imageGC = newImageGC(k)
	k.metrics.follow(k)
	return nil
}

// Name returns the name of the node.
func (k *Kubelet) Name() string { return k.opts.NodeName }

// Run runs the node until ctx ends and returns nil.
func (k *Kubelet) Run(ctx context.Context) error {
	defer func() { k.unshare() }()
	defer k.rt.close()
	k.began = time.Now()
	parent := ctx
	ctx, fail := context.WithCancelCause(parent)
	var loops sync.WaitGroup
	defer loops.Wait()
	defer fail(nil)
	if l := k.opts.HealthzListener; l != nil { // those who wait for the start learn how far it is
		loops.Go(func() { k.servePlain(ctx, l, k.Healthz(), fail) })
	}
	if w := k.opts.Watchdog; w != nil {
		loops.Go(func() { w.run(ctx, k) })
	}
	k.progress.enter(phaseRuntime)
	if err := k.prepare(ctx); err != nil {
		if parent.Err() != nil {
			return nil
		}
		return fmt.Errorf("kubelet: %w", err)
	}

	k.progress.enter(phaseServices)
	workersCtx, stopWorkers := context.WithCancel(ctx)
	defer stopWorkers()
	// Volumes are taken down after their pods have ended, by drivers that run in pods, perhaps.
	volumesCtx, stopVolumes := context.WithCancel(context.WithoutCancel(ctx))
	defer stopVolumes()
	waitVolumes, err := k.volumes.Start(volumesCtx)
	if err != nil {
		k.log.Warn("volumes of an earlier kubelet are not understood and left alone", "err", err)
	}
	k.work = func(w *worker) { w.run(workersCtx) }
	k.podEvents = k.apiPods.AddHandler(k.podEvent, informers.HandlerOptions{Name: "kubelet"})

	// The manager runs informers, events and status; it ends last, because ending pods still write.
	managerCtx, stopManager := context.WithCancel(context.WithoutCancel(ctx))
	defer stopManager()
	k.m.AddWithoutLeaderElection("kubelet events", k.recorder)
	k.m.AddWithoutLeaderElection("pod status", manager.Func(k.status.run))
	managed := make(chan error, 1)
	go func() {
		err := k.m.Run(managerCtx)
		if err != nil {
			fail(err)
		}
		managed <- err
	}()
	k.startLoops(ctx, &loops, fail)
	k.progress.enter(phaseServers)
	k.startServers(ctx, &loops, fail)
	<-ctx.Done()
	k.mu.Lock()
	k.stopping = true
	k.mu.Unlock()
	stopWorkers()
	k.working.Wait()
	k.probes.stopAll()
	if k.opts.StopPods {
		k.removeAll(context.WithoutCancel(ctx))
	}
	stopVolumes()
	waitVolumes()
	loops.Wait()
	k.csiNode.drivers.Close()
	if k.claims != nil {
		k.claims.Close()
	}
	stopManager()
	err = <-managed
	// The end of parent is no failure, whatever its cause (a signal, say).
	if cause := context.Cause(ctx); err == nil && cause != context.Cause(parent) {
		err = cause
	}
	return err
}

// prepare makes the folders and the groups of the node, and waits for the container runtime.
func (k *Kubelet) prepare(ctx context.Context) error {
	if k.opts.ProtectKernelDefaults {
		if err := checkKernelParameters(k.kernelDir); err != nil {
			return fmt.Errorf("protectKernelDefaults: %w", err)
		}
	}
	for _, dir := range []string{k.opts.RootDir, k.opts.LogDir, k.opts.LogLinkDir} {
		if err := k.makeDir(dir); err != nil {
			return err
		}
	}
	if k.opts.SharedRoot {
		end, err := k.mounts.share(k.opts.RootDir)
		if err != nil {
			return fmt.Errorf("root directory: %w", err)
		}
		k.unshare = end
	}
	version, err := k.waitRuntime(ctx)
	if err != nil {
		return fmt.Errorf("container runtime at %s: %w", k.opts.RuntimeEndpoint, err)
	}
	k.node.runtimeVersion = version
	k.node.passRanges(ctx, k.opts.PodCIDR)
	if _, err := k.features.status(ctx); err != nil {
		k.log.Warn("status of the container runtime failed", "err", err)
	}
	if err := k.loadUserNamespaces(ctx); err != nil {
		return fmt.Errorf("user namespaces of pods: %w", err)
	}
	return k.prepareCgroups(ctx)
}

// startLoops starts everything that runs until ctx ends. fail ends the kubelet.
func (k *Kubelet) startLoops(ctx context.Context, loops *sync.WaitGroup, fail context.CancelCauseFunc) {
	if k.devices != nil {
		k.devices.load() // before the node shows what there is
	}
	if !k.alone {
		loops.Go(func() { k.node.run(ctx) })
	}
	k.checkResolvConf()
	loops.Go(func() { k.pleg.run(ctx) })
	loops.Go(func() { k.openLedger(ctx) })
	loops.Go(func() { k.housekeeping(ctx) })
	loops.Go(func() { k.limitPods(ctx) })
	for _, run := range []func(context.Context){k.rotation.run, k.sweepLogLinks, k.stats.disks.run, k.imageGC.run, k.evictor.run} {
		loops.Go(func() { run(ctx) })
	}
	if k.placer != nil {
		loops.Go(func() { k.placer.run(ctx) })
	}
	if k.opts.KernelLog != nil {
		loops.Go(func() { k.watchMemory(ctx) })
	}
	if t := k.opts.IPTables; t != nil {
		for _, program := range []string{"iptables", "ip6tables"} {
			loops.Go(func() { (&filter{k: k, tables: t, program: program}).run(ctx) })
		}
	}
	if k.shutdown != nil {
		loops.Go(func() { k.shutdown.run(ctx) })
	}
	if k.hasStatic() {
		loops.Go(func() { k.watchStatic(ctx) })
	}
	if k.claims != nil {
		loops.Go(func() { k.claims.run(ctx) })
	}
}

// startServers starts what others connect to and runs until ctx ends. fail ends the kubelet.
func (k *Kubelet) startServers(ctx context.Context, loops *sync.WaitGroup, fail context.CancelCauseFunc) {
	kinds := map[string]pluginType{"CSIPlugin": k.csiNode}
	if k.claims != nil {
		kinds["DRAPlugin"] = k.claims
	}
	if k.opts.Plugins != nil {
		s := &deviceServer{devices: k.devices, opts: *k.opts.Plugins, dir: filepath.Join(k.opts.RootDir, "device-plugins")}
		loops.Go(func() {
			if err := s.run(ctx); err != nil {
				fail(fmt.Errorf("kubelet: device plugins: %w", err))
			}
		})
		loops.Go(func() {
			p := &pluginWatcher{k: k, dir: filepath.Join(k.opts.RootDir, registryFolder), dial: k.opts.Plugins.dialer(), types: kinds,
				nudge: make(chan struct{}, 1), known: map[string]*socket{}}
			if err := p.run(ctx); err != nil {
				fail(fmt.Errorf("kubelet: plugin registration: %w", err))
			}
		})
		loops.Go(func() {
			if err := (resourceServer{k}).serve(ctx); err != nil {
				fail(fmt.Errorf("kubelet: pod resources: %w", err))
			}
		})
	}
	if k.serving != nil {
		loops.Go(func() { _ = k.serving.Run(ctx) }) // ends with ctx
	}
	if k.opts.Listener != nil {
		loops.Go(func() {
			if err := k.serve(ctx); err != nil && ctx.Err() == nil {
				fail(fmt.Errorf("kubelet: %w", err))
			}
		})
	}
	if l := k.opts.ReadOnlyListener; l != nil {
		loops.Go(func() { k.servePlain(ctx, l, k.ReadOnly(), fail) })
	}
}

// makeDir makes a directory of the kubelet's and its parents.
func (*Kubelet) makeDir(dir string) error { return os.MkdirAll(dir, 0o750) }

// wake lets the worker of a pod look at it now.
func (k *Kubelet) wake(uid types.UID) {
	k.mu.Lock()
	w := k.workers[uid]
	k.mu.Unlock()
	if w != nil {
		w.poke()
	}
}

// contentChanged lets a pod follow the content of an object that it refers to.
func (k *Kubelet) contentChanged(uid types.UID) {
	if w := k.worker(uid); w != nil {
		w.followContent()
	}
}

// worker returns the worker of a pod, nil if there is none.
func (k *Kubelet) worker(uid types.UID) *worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.workers[uid]
}

// allWorkers returns the workers of all pods.
func (k *Kubelet) allWorkers() []*worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Values(k.workers))
}

// endPod ends a pod for a reason that is not in its spec. The channel is closed when its containers have
// stopped; it is nil if there is no such pod.
func (k *Kubelet) endPod(uid types.UID, v *verdict) <-chan struct{} {
	if w := k.worker(uid); w != nil {
		return w.order(v)
	}
	return nil
}

// podEvent takes up what the API server says about a pod of this node.
func (k *Kubelet) podEvent(e informers.Event[*corev1.Pod]) {
	pod := e.Object()
	if e.Type != informers.Deleted {
		k.starts.observe(pod)
	}
	if isMirror(pod) {
		// The manifest decides what runs; the mirror only shows it.
		if e.Type == informers.Deleted {
			k.pokeStatic() // it comes back
		}
		if e.Type == informers.Deleted {
			k.starts.forget(pod.UID)
		}
		switch uid := k.staticOf(pod); {
		case uid == "" || e.Type == informers.Deleted:
		case e.Type == informers.Added:
			k.status.again(uid) // until now there was nothing to write to
		default:
			k.status.seen(uid, pod)
		}
		return
	}
	if e.Type == informers.Deleted {
		k.gone(e.UID, pod)
		return
	}
	k.dispatch(pod, false)
	k.status.seen(pod.UID, pod)
}

// dispatch hands a pod to its worker and starts one if need be.
func (k *Kubelet) dispatch(pod *corev1.Pod, static bool) {
	k.mu.Lock()
	w := k.workers[pod.UID]
	if w == nil && !k.stopping {
		w = newWorker(k, pod, static)
		k.workers[pod.UID] = w
		k.working.Go(func() { k.work(w) })
	}
	k.mu.Unlock()
	if w != nil {
		w.update(pod)
	}
}

// gone ends a pod whose object or manifest has been deleted.
func (k *Kubelet) gone(uid types.UID, last *corev1.Pod) {
	if w := k.worker(uid); w != nil {
		w.remove(last)
	} else {
		k.ledger.forget(uid)
		k.starts.forget(uid)
	}
}

// retired forgets a worker that has cleaned up. A pod that came back meanwhile gets a new one, which may
// begin as soon as this one is not known any more: then nothing must be forgotten.
func (k *Kubelet) retired(w *worker) {
	k.status.forget(w.uid)
	k.ledger.forget(w.uid)
	k.starts.forget(w.uid)
	k.mu.Lock()
	if k.workers[w.uid] == w {
		delete(k.workers, w.uid)
	}
	back := k.static[w.uid] != nil
	k.mu.Unlock()
	if w.static {
		if back {
			k.metrics.restarted.WithLabelValues("true").Inc()
		}
		k.pokeStatic()
	}
}

const housekeepingInterval = 2 * time.Second

// housekeeping is the loop that shows that the kubelet runs. It removes what belongs to no pod, once all pods
// are known.
func (k *Kubelet) housekeeping(ctx context.Context) {
	defer k.orphans.working.Wait()
	for {
		k.progress.round()
		select {
		case <-ctx.Done():
			return
		case <-time.After(housekeepingInterval):
		}
		if k.apiPods.HasSynced() && k.staticKnown() {
			k.removeOrphans(ctx)
			k.weighGroups(ctx, true)
			k.sweepGroups(ctx)
			k.volumes.Sweep()
		}
	}
}

// staticKnown reports whether the manifests have been read, so that a pod that is in none of them is no
// static pod.
func (k *Kubelet) staticKnown() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.hasStatic() || k.staticRead
}

// podsKnown reports whether there is a worker for each pod of the node.
func (k *Kubelet) podsKnown() bool { return k.podEvents.HasSynced() && k.staticKnown() }

// hasStatic reports whether there are sources of static pods.
func (k *Kubelet) hasStatic() bool { return k.opts.StaticPodDir != "" || k.opts.StaticPodURL != "" }
