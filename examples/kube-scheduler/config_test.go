package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/examples/internal/component"
)

// written runs the program with --write-config-to and returns the file.
func written(t *testing.T, args ...string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "written.yaml")
	require.NoError(t, run(append(args, "--write-config-to="+file)))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return data
}

// values are the fields of a configuration by path, without those that are empty.
func values(t *testing.T, data []byte) map[string]any {
	var doc any
	_, err := codec.UnmarshalYAML(data, &doc, codec.DecodeOptions{})
	require.NoError(t, err)
	out := map[string]any{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				walk(path+"."+name, inner)
			}
		case []any:
			for _, inner := range v {
				name := ""
				if m, ok := inner.(map[string]any); ok {
					name, _ = m["name"].(string)
				}
				walk(path+"["+name+"]", inner)
			}
		default:
			out[strings.TrimPrefix(path, ".")] = v
		}
	}
	walk("", doc)
	return out
}

// testdata/written-1.36.yaml is what kube-scheduler 1.36.3 writes for testdata/given.yaml. Here the same is
// written, but for what is different in fact; and the order of plugins is that of upstream.
func TestWrittenConfigurationIsThatOfUpstream(t *testing.T) {
	upstream, err := os.ReadFile("testdata/written-1.36.yaml")
	require.NoError(t, err)
	have := written(t, "--config=testdata/given.yaml")
	want := values(t, upstream)
	want["parallelism"], want["clientConnection.qps"], want["clientConnection.burst"], want["enableContentionProfiling"] = int64(1), int64(-1), int64(0), false
	require.Equal(t, want, values(t, have))
	names := func(text string) (out []string) {
		for line := range strings.Lines(text) {
			if strings.Contains(line, "name: ") {
				out = append(out, strings.TrimSpace(line))
			}
		}
		return out
	}
	require.Equal(t, names(string(upstream)), names(string(have)))
}

// What is written can be read, and says the same: it is written again as it is. So is what upstream writes,
// and what flags say is in it.
func TestWrittenConfigurationsLoad(t *testing.T) {
	for name, fields := range map[string]string{
		"nothing":  "",
		"upstream": "testdata/written-1.36.yaml",
		"all": `
clientConnection: {kubeconfig: /k, qps: 7.5, burst: 9}
leaderElection: {leaderElect: false, leaseDuration: 20s, resourceName: x}
percentageOfNodesToScore: 40
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
delayCacheUntilActive: true
enableProfiling: false
enableContentionProfiling: true
extenders: [{urlPrefix: "http://x", filterVerb: f, prioritizeVerb: p, weight: 3, managedResources: [{name: a.b/c, ignoredByScheduler: true}], tlsConfig: {insecure: true}}]
profiles:
- schedulerName: a
  percentageOfNodesToScore: 10
  plugins:
    multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}, {name: NodePorts}, {name: NodeName}, {name: TaintToleration, weight: 5}]}
    filter: {enabled: [{name: NodeResourcesFit}, {name: NodeName}], disabled: [{name: TaintToleration}]}
  pluginConfig:
  - {name: NodeResourcesFit, args: {ignoredResources: [x.y/z], scoringStrategy: {type: RequestedToCapacityRatio, resources: [{name: cpu, weight: 4}], requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}}
  - {name: DynamicResources, args: {filterTimeout: 0s}}
- schedulerName: b
  pluginConfig:
  - {name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}}
  - {name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]}}}}
`} {
		t.Run(name, func(t *testing.T) {
			file := fields
			if name != "upstream" {
				file = filepath.Join(t.TempDir(), "config.yaml")
				require.NoError(t, os.WriteFile(file, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+fields), 0o600))
			}
			once := written(t, "--config="+file, "--leader-elect-retry-period=3s")
			require.Contains(t, string(once), "retryPeriod: 3s")
			second := filepath.Join(t.TempDir(), "second.yaml")
			require.NoError(t, os.WriteFile(second, once, 0o600))
			require.Equal(t, string(once), string(written(t, "--config="+second)))
			from, to := completed(t, "--config="+file), completed(t, "--config="+second)
			require.Equal(t, from, to)
		})
	}
	require.Equal(t, values(t, written(t)), values(t, written(t, "--config="+writtenFile(t, written(t)))))
}

func writtenFile(t *testing.T, data []byte) string {
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	return file
}

// completed are the options of the scheduler without what cannot be compared.
func completed(t *testing.T, args ...string) scheduler.Options {
	o := options{Options: component.Options{Name: "kube-scheduler"}}
	f := newFlags(&o)
	require.NoError(t, f.Parse(args))
	opts, err := o.complete(f)
	require.NoError(t, err)
	// Those that are not given are the defaults.
	opts.InitialBackoff, opts.MaxBackoff = max(opts.InitialBackoff, time.Second), max(opts.MaxBackoff, 10*time.Second)
	for i := range opts.Extenders {
		opts.Extenders[i].Client, opts.Extenders[i].Timeout = nil, max(opts.Extenders[i].Timeout, 5*time.Second)
	}
	for i := range opts.Profiles {
		opts.Profiles[i] = nil // what is written of them is compared, and see TestPlacesOfPlugins
	}
	return opts
}

// The configuration in force is at /configz, as it is written.
func TestConfigz(t *testing.T) {
	o := options{Options: component.Options{Name: "kube-scheduler"}}
	f := newFlags(&o)
	require.NoError(t, f.Parse([]string{"--config=testdata/given.yaml", "--kube-api-qps=3"}))
	_, err := o.complete(f)
	require.NoError(t, err)
	data, err := codec.MarshalYAML(o.Configz()["componentconfig"])
	require.NoError(t, err)
	require.Equal(t, string(written(t, "--config=testdata/given.yaml", "--kube-api-qps=3")), string(data))
	require.InDelta(t, 3, values(t, data)["clientConnection.qps"], 0)
}

// Plugins are called at each point where the file has them, and in the order of it.
func TestPlacesOfPlugins(t *testing.T) {
	both := func(p *corev1.Pod) {
		p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	}
	for name, v := range map[string]struct{ plugins, reason string }{
		"the order of multiPoint":    {"multiPoint: {}", "node(s) didn't match Pod's node affinity/selector"},
		"own plugins come first":     {"filter: {enabled: [{name: NodePorts}]}", "node(s) didn't have free ports for the requested pod ports"},
		"in their order":             {"filter: {enabled: [{name: NodeAffinity}, {name: NodePorts}]}", "node(s) didn't match Pod's node affinity/selector"},
		"all are given":              {"preFilter: {disabled: [{name: '*'}], enabled: [{name: NodePorts}, {name: NodeAffinity}]}, filter: {disabled: [{name: '*'}], enabled: [{name: NodePorts}, {name: NodeAffinity}]}, reserve: {disabled: [{name: '*'}]}", "node(s) didn't have free ports for the requested pod ports"},
		"others are for all points":  {"multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}, {name: NodePorts}, {name: NodeAffinity}]}", "node(s) didn't have free ports for the requested pod ports"},
		"but not where they are off": {"multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}, {name: NodePorts}, {name: NodeAffinity}]}, filter: {disabled: [{name: NodePorts}]}", "node(s) didn't match Pod's node affinity/selector"},
	} {
		t.Run(name, func(t *testing.T) {
			_, opts, err := read(t, "profiles: [{plugins: {"+v.plugins+"}}]")
			require.NoError(t, err)
			c := scheduler.NewCluster(nil)
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
			n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("10")}
			c.SetNode(n)
			first := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first", UID: "first"}}
			first.Spec.Containers = []corev1.Container{{Name: "main"}}
			both(first)
			second := codec.DeepCopy(first)
			first.Spec.NodeName, second.UID, second.Name = "a", "second", "second"
			c.SetPod(first)
			require.Equal(t, map[string]int{v.reason: 1}, c.ScheduleWith(opts.Profiles[0], second).Reasons)
		})
	}
}

// With delayCacheUntilActive, nothing is read before the scheduler runs, and then all is.
func TestDelayedCache(t *testing.T) {
	_, opts, err := read(t, "delayCacheUntilActive: true")
	require.NoError(t, err)
	require.True(t, opts.DelayCache)
	var s *scheduler.Scheduler
	c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) (err error) {
		s, err = scheduler.New(m, opts)
		require.Empty(t, m.Informers().Status())
		return err
	}}})
	addNode(c, "a")
	addPod(c, "p")
	require.Eventually(t, func() bool { return controllertest.Get[*corev1.Pod](c, "default", "p").Spec.NodeName == "a" }, time.Minute, 10*time.Millisecond)
	require.Len(t, s.Dump().Nodes, 1)
}

// SIGUSR2 logs what the scheduler holds.
func TestDumpBySignal(t *testing.T) {
	var log text
	c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
		s, err := scheduler.New(m, scheduler.Options{})
		if err == nil {
			m.AddWithoutLeaderElection("dump", newDumper(s, slog.New(slog.NewTextHandler(&log, nil))))
		}
		return err
	}}})
	addNode(c, "a")
	addPod(c, "p")
	require.Eventually(t, func() bool { return controllertest.Get[*corev1.Pod](c, "default", "p").Spec.NodeName == "a" }, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGUSR2))
		return strings.Contains(log.String(), "a: 1 pods, requested") && strings.Contains(log.String(), "0 differences")
	}, time.Minute, 10*time.Millisecond)
}

// text is what was written.
type text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *text) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *text) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// addNode makes a node without taints.
func addNode(c *controllertest.Cluster, name string) {
	controllertest.Create(c, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	controllertest.UpdateStatus(c, "", name, func(n *corev1.Node) {
		n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("10")}
	})
	controllertest.Update(c, "", name, func(n *corev1.Node) { n.Spec.Taints = nil })
}

func addPod(c *controllertest.Cluster, name string) {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:1"}}
	controllertest.Create(c, p)
}

const groupGates = "--feature-gates=GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true,WorkloadAwarePreemption=true"

// With the features for groups, profiles have their plugins where kube-scheduler 1.36.3 writes them; without,
// they do not, but a file may name them.
func TestPluginsForGroupsFollowTheFeatures(t *testing.T) {
	upstream, err := os.ReadFile("testdata/written-gates-1.36.yaml")
	require.NoError(t, err)
	plugins := func(data []byte) string {
		text := string(data)
		return text[strings.Index(text, "multiPoint:"):strings.Index(text, "permit:")]
	}
	require.Equal(t, plugins(upstream), plugins(written(t, groupGates)))
	require.NotContains(t, string(written(t)), "GangScheduling")
	names := func(p *scheduler.Profile) (out []string) {
		for _, ref := range p.Plugins() {
			out = append(out, ref.Name)
		}
		return out
	}
	for fields, v := range map[string]struct {
		want, not string
		gates     []string
	}{
		"": {want: "GangScheduling", gates: []string{groupGates}},
		"profiles: [{plugins: {multiPoint: {disabled: [{name: GangScheduling}]}}}]":                                   {want: "PodGroupPodsCount", not: "GangScheduling", gates: []string{groupGates}},
		"profiles: [{plugins: {preEnqueue: {enabled: [{name: GangScheduling}]}}}]":                                    {want: "GangScheduling", not: "PodGroupPodsCount"},
		"profiles: [{plugins: {placementGenerate: {disabled: [{name: '*'}]}}}]":                                       {want: "GangScheduling", not: "TopologyPlacementGenerator", gates: []string{groupGates}},
		"profiles: [{plugins: {placementScore: {enabled: [{name: PodGroupPodsCount, weight: 3}]}}}]":                  {want: "PodGroupPodsCount"},
		"profiles: [{plugins: {multiPoint: {enabled: [{name: TopologyPlacementGenerator}]}, score: {disabled: []}}}]": {want: "TopologyPlacementGenerator"},
	} {
		_, opts, err := read(t, fields, v.gates...)
		require.NoError(t, err, fields)
		require.Contains(t, names(opts.Profiles[0]), v.want, fields)
		if v.not != "" {
			require.NotContains(t, names(opts.Profiles[0]), v.not, fields)
		}
		require.Equal(t, len(v.gates) > 0, opts.PodGroups)
		require.Equal(t, len(v.gates) > 0, opts.PodGroupPreemption)
	}
}

// A feature without the one that it needs is refused, and so is a plugin for groups without groups.
func TestFeaturesOfGroupsNeedEachOther(t *testing.T) {
	for gates, text := range map[string]string{
		"GangScheduling=true":                               "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]",
		"TopologyAwareWorkloadScheduling=true":              "[GenericWorkload]",
		"GenericWorkload=true,WorkloadAwarePreemption=true": "[GangScheduling]",
	} {
		_, _, err := read(t, "", "--feature-gates="+gates)
		require.ErrorContains(t, err, text)
	}
	_, opts, err := read(t, "profiles: [{plugins: {permit: {enabled: [{name: GangScheduling}]}}}]")
	require.NoError(t, err)
	c := controllertest.Start(t, controllertest.Options{})
	_, err = scheduler.New(c.Manager("scheduler"), opts)
	require.ErrorContains(t, err, "a plugin for groups needs Options.PodGroups")
}

// With the feature StorageCapacityScoring, VolumeBinding scores by the shape that is given, or by that of
// kube-scheduler; without it, a shape is refused.
func TestStorageCapacityScoring(t *testing.T) {
	const gate = "--feature-gates=StorageCapacityScoring=true"
	shape := func(data []byte) map[string]any {
		out := map[string]any{}
		for path, v := range values(t, data) {
			if strings.Contains(path, "VolumeBinding") && strings.Contains(path, ".shape") {
				out[path[strings.Index(path, "shape"):]] = v
			}
		}
		return out
	}
	require.Empty(t, shape(written(t)))
	first := shape(written(t, gate))
	require.NotEmpty(t, first)
	file := writtenFile(t, written(t, gate))
	require.Equal(t, first, shape(written(t, gate, "--config="+file)))
	_, _, err := read(t, "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 1, score: 3}]}}]}]", gate)
	require.NoError(t, err)
	for _, wrong := range []string{"[{utilization: 0, score: 11}]", "[{utilization: 5, score: 1}, {utilization: 5, score: 2}]"} {
		_, _, err := read(t, "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: "+wrong+"}}]}]", gate)
		require.ErrorContains(t, err, "profiles[0].pluginConfig[0].args: shape[")
	}
	// The scores are those of the feature also without a file.
	_, opts, err := read(t, "", gate)
	require.NoError(t, err)
	own, _ := scheduler.NewVolumeBinding(10*time.Minute, []scheduler.ShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}})
	i := slices.IndexFunc(opts.Profiles[0].Plugins(), func(p scheduler.PluginWeight) bool { return p.Name == "VolumeBinding" })
	require.Equal(t, own, opts.Profiles[0].Plugins()[i].Plugin)
}
