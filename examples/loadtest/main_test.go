package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/examples/internal/workload"
)

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--objects=0":         "--objects",
		"--phases=create,fly": `no phase is called "fly"`,
		"--apply-changes=101": "no percentage",
		"--pid=999999999":     "process 999999999",
		"--wrong":             "unknown flag",
		"stray":               `unexpected argument "stray"`,
		"--labels=short":      "--labels is for workload files",
		"--servers=bin":       "--servers is for workload files",
	} {
		_, err := parse([]string{args})
		require.ErrorContains(t, err, want)
	}
	_, err := parse([]string{"--help"})
	require.ErrorIs(t, err, pflag.ErrHelp)
}

func TestBadWorkloadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--objects=5":                         "--objects is not for workload files",
		"--run=(":                             "--run",
		"--servers=bin --kubeconfig=file":     "not with --servers",
		"--servers=bin --pid=1":               "not with --servers",
		"--servers=bin --scheduler-metrics=h": "not with --servers",
	} {
		_, err := parse(append(strings.Fields(args), "--workload=file"))
		require.ErrorContains(t, err, want, args)
	}
	require.ErrorContains(t, run([]string{"--workload=" + ownWorkloads, "--labels=none"}), "no workload has these labels and this name")
	require.ErrorContains(t, run([]string{"--workload=missing.yaml"}), "missing.yaml")
}

const ownWorkloads = "../internal/workload/testdata/workloads.yaml"

// TestWorkloadsBeside runs the same workload on our programs, without and with etcd, and on Kubernetes' own.
func TestWorkloadsBeside(t *testing.T) {
	peers := filepath.Dir(seeds.Peer(t, "kube-apiserver"))
	ours, stored := t.TempDir(), t.TempDir()
	for _, program := range []string{"kube-apiserver", "kube-scheduler", "kube-controller-manager"} {
		out, err := exec.Command("go", "build", "-o", ours, "../"+program).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NoError(t, os.Symlink(filepath.Join(ours, program), filepath.Join(stored, program)))
	}
	require.NoError(t, os.Symlink(filepath.Join(peers, "etcd"), filepath.Join(stored, "etcd")))
	for name, dir := range map[string]string{"ours": ours, "ours on etcd": stored, "Kubernetes": peers} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "items.json")
			require.NoError(t, run([]string{"--workload=" + ownWorkloads, "--run=Everything/small", "--servers=" + dir, "--data-items=" + path}))
			var got struct {
				Version   string
				DataItems []workload.Item
			}
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(data, &got))
			require.Equal(t, "v1", got.Version)
			metrics := map[string]bool{}
			for _, i := range got.DataItems {
				metrics[i.Labels["Metric"]] = true
			}
			for _, metric := range []string{"SchedulingThroughput", "PodLatency", "CPUPerPod", "scheduler_scheduling_attempt_duration_seconds"} {
				require.True(t, metrics[metric], metric)
			}
		})
	}
}

// TestGatesAreRefused starts programs that do not have a feature gate: the error is theirs, and names the
// line of the file.
func TestGatesAreRefused(t *testing.T) {
	dir := t.TempDir()
	program := []byte("#!/bin/sh\necho starting\necho \"unrecognized feature gate: $1\" >&2\nexit 1\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kube-apiserver"), program, 0o700))
	path := filepath.Join(t.TempDir(), "w.yaml")
	require.NoError(t, os.WriteFile(path, []byte("- name: A\n  workloadTemplate: [{opcode: createPods, collectMetrics: true}]\n"+
		"  workloads: [{name: one, featureGates: {\n    Fast: true}}]\n"), 0o600))
	err := run([]string{"--workload=" + path, "--servers=" + dir})
	require.ErrorContains(t, err, path+":4: [0].workloads[0].featureGates.Fast: kube-apiserver: unrecognized feature gate: --feature-gates=Fast=true")
}
