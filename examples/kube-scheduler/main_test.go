package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/examples/internal/flagtest"
)

// read parses flags and then a configuration with the given fields.
func read(t *testing.T, fields string, args ...string) (options, scheduler.Options, error) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+fields), 0o600))
	o := options{Options: component.Options{Name: "kube-scheduler"}}
	f := newFlags(&o)
	require.NoError(t, f.Parse(append(args, "--config="+file)))
	opts, err := o.complete(f)
	return o, opts, err
}

// Every flag of kube-scheduler is known, and docs/kube-scheduler-flags.md says what becomes of it.
func TestEveryFlagIsKnown(t *testing.T) {
	flagtest.Check(t, newFlags(&options{Options: component.Options{Name: "kube-scheduler"}}))
}

// The command line that kubeadm 1.36 writes into the manifest of kube-scheduler is accepted; what has another
// effect here is refused with the reason.
func TestFlags(t *testing.T) {
	parse := func(args ...string) error {
		return component.Parse(newFlags(&options{Options: component.Options{Name: "kube-scheduler"}}), "", args)
	}
	require.NoError(t, parse("--authentication-kubeconfig=/etc/kubernetes/scheduler.conf", "--authorization-kubeconfig=/etc/kubernetes/scheduler.conf",
		"--bind-address=127.0.0.1", "--kubeconfig=/etc/kubernetes/scheduler.conf", "--leader-elect=true"))
	require.ErrorContains(t, parse("--pod-max-in-unschedulable-pods-duration=1m"), "after five minutes")
	require.NoError(t, parse("--feature-gates=SchedulerQueueingHints=true,SchedulerAsyncAPICalls=false"))
	require.ErrorContains(t, parse("--feature-gates=SchedulerAsyncAPICalls=true"), "locked")
	for gates, off := range map[string]bool{"": false, "NominatedNodeNameForExpectation=false,OpportunisticBatching=false": true} {
		_, opts, err := read(t, "", "--feature-gates="+gates)
		require.NoError(t, err)
		require.Equal(t, []bool{off, off}, []bool{opts.NoExpectedNode, opts.NoBatching})
	}
	require.ErrorContains(t, parse("--feature-gates=SchedulerQueueingHints=false"), "locked")
	require.ErrorContains(t, parse("--feature-gates=Nothing=true"), "Nothing")
}

func TestConfiguration(t *testing.T) {
	o, opts, err := read(t, `
clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf, qps: 50, burst: 100, contentType: application/vnd.kubernetes.protobuf, acceptContentTypes: ""}
leaderElection: {leaderElect: false, leaseDuration: 20s}
profiles: [{schedulerName: one}, {}]
`)
	require.NoError(t, err)
	require.Equal(t, "/etc/kubernetes/scheduler.conf", o.Kubeconfig)
	require.InDelta(t, 50, o.QPS, 0)
	require.Equal(t, 100, o.Burst)
	require.False(t, o.LeaderElect)
	require.Equal(t, 20*time.Second, o.LeaseDuration)
	require.Equal(t, []string{"one", "default-scheduler"}, []string{opts.Profiles[0].Name(), opts.Profiles[1].Name()})
}

func TestRateOfTheConnection(t *testing.T) {
	for name, v := range map[string]struct {
		fields string
		args   []string
		qps    float64
		burst  int
		err    string
	}{
		"nothing said":             {},
		"one of two":               {fields: "clientConnection: {qps: 7.5}", qps: 7.5, burst: 100},
		"the other":                {fields: "clientConnection: {burst: 3}", qps: 50, burst: 3},
		"zero is the default":      {fields: "clientConnection: {qps: 0, burst: 0}", qps: 50, burst: 100},
		"negative lifts the limit": {fields: "clientConnection: {qps: -1, burst: 9}"},
		"flags win":                {fields: "clientConnection: {qps: 5, burst: 9}", args: []string{"--kube-api-qps=2"}, qps: 2, burst: 9},
		"negative burst":           {fields: "clientConnection: {burst: -1}", err: "clientConnection.burst: -1: want no negative number"},
		"another form":             {fields: "clientConnection: {contentType: application/json}", err: `clientConnection.contentType: "application/json"`},
		"unknown field":            {fields: "clientConnection: {speed: 1}", err: "speed"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _, err := read(t, v.fields, v.args...)
			if v.err != "" {
				require.ErrorContains(t, err, v.err)
				return
			}
			require.NoError(t, err)
			require.InDelta(t, v.qps, o.QPS, 0)
			require.Equal(t, v.burst, o.Burst)
		})
	}
}

// What the file says of a profile decides where its pods go.
func TestProfilesOfTheFile(t *testing.T) {
	for name, v := range map[string]struct{ fields, node string }{
		"spread by default":         {"profiles: [{}]", "empty"},
		"packed":                    {"profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}}], plugins: {score: {disabled: [{name: NodeResourcesBalancedAllocation}]}}}]", "used"},
		"packed by a shape":         {"profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, resources: [{name: cpu, weight: 1}], requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}}], plugins: {multiPoint: {disabled: [{name: NodeResourcesBalancedAllocation}]}}}]", "used"},
		"added affinity":            {"profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]}}}}]}]", "tainted"},
		"taints are not looked at":  {"profiles: [{plugins: {filter: {disabled: [{name: TaintToleration}]}, preScore: {disabled: [{name: '*'}]}, score: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity, weight: 7}]}}}]", "tainted"},
		"one plugin instead of all": {"profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: NodeResourcesFit}, {name: DefaultBinder}]}}}]", "tainted"},
	} {
		t.Run(name, func(t *testing.T) {
			_, opts, err := read(t, v.fields)
			require.NoError(t, err)
			c := scheduler.NewCluster(nil)
			for _, name := range []string{"tainted", "used", "empty"} {
				n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
				n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("10")}
				if name == "tainted" && !strings.Contains(v.fields, "addedAffinity") {
					n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
				}
				if name == "tainted" {
					n.Labels = map[string]string{"disk": "ssd"}
				}
				c.SetNode(n)
			}
			pod := func(name, node string) *corev1.Pod {
				p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
				p.Spec.NodeName = node
				p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}
				return p
			}
			c.SetPod(pod("x", "used"))
			require.Equal(t, v.node, c.ScheduleWith(opts.Profiles[0], pod("p", "")).Node)
		})
	}
}

// A wrong configuration is refused with the path of what is wrong.
func TestWrongProfiles(t *testing.T) {
	for fields, text := range map[string]string{
		"parallelism: 4":                                                        "parallelism: 4: one goroutine decides",
		"parallelism: 0":                                                        "parallelism: 0",
		"percentageOfNodesToScore: 101":                                         "percentageOfNodesToScore: 101",
		"podInitialBackoffSeconds: 0":                                           "podInitialBackoffSeconds: 0",
		"podMaxBackoffSeconds: 1\npodInitialBackoffSeconds: 2":                  "podMaxBackoffSeconds: 1",
		"leaderElection: {resourceLock: endpoints}":                             "leaderElection.resourceLock",
		"profiles: [{}, {}]":                                                    `profiles[1].schedulerName: "default-scheduler"`,
		"profiles: [{plugins: {score: {enabled: [{name: Other}]}}}]":            "profiles[0].plugins.score.enabled[0]: no plugin is called \"Other\"",
		"profiles: [{plugins: {multiPoint: {enabled: [{name: VolumeZones}]}}}]": "profiles[0].plugins.multiPoint.enabled[0]: no plugin is called \"VolumeZones\"",
		"profiles: [{pluginConfig: [{name: DynamicResources, args: {filterTimeout: -1s}}]}]":                                                                     "profiles[0].pluginConfig[0].args: filterTimeout: -1s",
		"profiles: [{pluginConfig: [{name: DynamicResources, args: {bindingTimeout: 1ms}}]}]":                                                                    "profiles[0].pluginConfig[0].args: bindingTimeout: 1ms",
		"profiles: [{pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 0}}]}]":                                                                     "bindTimeoutSeconds: 0",
		"profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 0}]}}]}]":                                                       "shape: nodes are scored by the capacity of their storage only with the feature gate StorageCapacityScoring",
		"profiles: [{plugins: {permit: {enabled: [{name: NodeName}]}}}]":                                                                                         "profiles[0].plugins.permit.enabled[0]: plugin NodeName has no such point",
		"profiles: [{plugins: {preFilter: {disabled: [{name: NodePorts}]}}}]":                                                                                    "profiles[0].plugins.preFilter.disabled",
		"profiles: [{plugins: {preFilter: {disabled: [{name: '*'}]}}}]":                                                                                          "profiles[0].plugins.preFilter.disabled",
		"profiles: [{plugins: {preFilter: {enabled: [{name: NodeName}]}}}]":                                                                                      "plugin NodeName has no such point",
		"profiles: [{plugins: {preFilter: {enabled: [{name: VolumeZone}, {name: NodePorts}]}}}]":                                                                 "NodePorts: want the order of the point filter",
		"profiles: [{plugins: {reserve: {disabled: [{name: VolumeBinding}]}}}]":                                                                                  "VolumeBinding: disable it at the point filter too",
		"profiles: [{plugins: {filter: {disabled: [{name: VolumeBinding}]}, preBind: {enabled: [{name: VolumeBinding}]}}}]":                                      "VolumeBinding: enable it at the point filter too",
		"profiles: [{plugins: {filter: {disabled: [{name: NodePort}]}}}]":                                                                                        `profiles[0].plugins.filter.disabled[0]: no plugin is called "NodePort"`,
		"profiles: [{plugins: {filter: {enabled: [{name: NodePorts}, {name: NodePorts}]}}}]":                                                                     "enabled[1]: NodePorts is enabled already",
		"profiles: [{plugins: {placementScore: {enabled: [{name: NodeName}]}}}]":                                                                                 "profiles[0].plugins.placementScore.enabled[0]",
		"profiles: [{plugins: {placementGenerate: {enabled: [{name: PodGroupPodsCount}]}}}]":                                                                     "plugin PodGroupPodsCount has no such point",
		"profiles: [{plugins: {permit: {enabled: [{name: GangSchedulings}]}}}]":                                                                                  "no plugin is called \"GangSchedulings\"",
		"profiles: [{plugins: {bind: {disabled: [{name: DefaultBinder}]}}}]":                                                                                     "profiles[0].plugins.bind: no plugin is enabled",
		"profiles: [{plugins: {queueSort: {disabled: [{name: '*'}]}}}]":                                                                                          "profiles[0]",
		"profiles: [{pluginConfig: [{name: NodeName}]}]":                                                                                                         "profiles[0].pluginConfig[0]: plugin NodeName has no arguments",
		"profiles: [{pluginConfig: [{name: NodeAffinity, args: {wrong: 1}}]}]":                                                                                   "profiles[0].pluginConfig[0].args",
		"profiles: [{pluginConfig: [{name: NodeAffinity, args: {kind: PodArgs}}]}]":                                                                              "profiles[0].pluginConfig[0].args.kind",
		"profiles: [{pluginConfig: [{name: NodeAffinity}, {name: NodeAffinity}]}]":                                                                               "profiles[0].pluginConfig[1].name",
		"profiles: [{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 101}}]}]":                                                      "minCandidateNodesPercentage",
		"profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]":                                                             "hardPodAffinityWeight",
		"profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway}]}}]}]": "defaultingType",
		"profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Best}}}]}]":                                                          "scoringStrategy.type",
	} {
		_, _, err := read(t, fields)
		require.ErrorContains(t, err, text, fields)
	}
}
