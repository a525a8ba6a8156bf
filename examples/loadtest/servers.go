package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/examples/internal/servers"
	"github.com/keelson-dev/keelson/examples/internal/workload"
)

// startServers starts the programs of a folder as the workload wants them, with the controllers that
// workloads rely on.
func startServers(ctx context.Context, dir string, w *workload.Selected, ignored []string) (context.Context, *servers.Servers, error) {
	flags, err := gates(ctx, dir, w, ignored)
	if err != nil {
		return nil, nil, err
	}
	if all := w.Gates(); all["DynamicResourceAllocation"] || all["GenericWorkload"] {
		flags["kube-apiserver"] = append(flags["kube-apiserver"], "--runtime-config=api/beta=true,api/alpha=true")
	}
	o := servers.Options{Dir: dir, Flags: flags, Controllers: "garbage-collector-controller,namespace-controller,resourceclaim-controller"}
	if given := w.SchedulerConfig(); given != "" {
		data, err := os.ReadFile(given)
		if err == nil {
			_, err = codec.UnmarshalYAML(data, &o.Scheduler, codec.DecodeOptions{})
		}
		if err != nil {
			return nil, nil, w.RefuseConfig(err)
		}
	}
	return servers.Start(ctx, o)
}

// gates returns the flag --feature-gates of each program: the gates of the workload that it has. A gate must
// be accepted by one of them.
func gates(ctx context.Context, dir string, w *workload.Selected, ignored []string) (map[string][]string, error) {
	flags := map[string][]string{}
	all := w.Gates()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(ignored, name) {
			continue
		}
		setting := fmt.Sprintf("%s=%v", name, all[name])
		accepted, refusal := false, ""
		for _, program := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
			if !servers.Has(dir, program) {
				continue
			}
			out, err := exec.CommandContext(ctx, filepath.Join(dir, program), "--feature-gates="+setting, "--version").CombinedOutput()
			if err != nil {
				refusal = program + ": " + servers.LastLine(out)
				continue
			}
			accepted = true
			if flags[program] == nil {
				flags[program] = []string{"--feature-gates=" + setting}
			} else {
				flags[program][0] += "," + setting
			}
		}
		if !accepted {
			return nil, w.RefuseGate(name, errors.New(refusal))
		}
	}
	return flags, nil
}
