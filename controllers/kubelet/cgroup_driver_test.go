package kubelet

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// The cgroup driver is the runtime's if it says which it has, and otherwise that of the configuration, which
// a metric shows.
func TestCgroupDriverOfTheRuntime(t *testing.T) {
	for name, c := range map[string]struct {
		runtime             *cri.CgroupDriver
		configured, systemd bool
	}{
		"systemd says the runtime":  {new(cri.CgroupDriver_SYSTEMD), false, true},
		"cgroupfs says the runtime": {new(cri.CgroupDriver_CGROUPFS), true, false},
		"it does not say, systemd":  {nil, true, true},
		"it does not say, cgroupfs": {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			rt := fakecri.New()
			rt.CgroupDriver = c.runtime
			ctx, cancel := context.WithCancel(t.Context())
			dial, wait := rt.Serve(ctx)
			defer func() { cancel(); wait() }()
			k := &Kubelet{opts: Options{NodeName: "n", RuntimeDial: dial, RuntimeEndpoint: "unix:///x", ImageEndpoint: "unix:///x", RuntimeTimeout: time.Minute, SystemdCgroups: c.configured},
				log: slog.New(slog.DiscardHandler), pleg: &pleg{}, stats: &stats{disks: &diskMeter{}}}
			k.metrics = newMetrics(k)
			var err error
			k.rt, err = newRuntime(k.opts, k.metrics.call)
			require.NoError(t, err)
			defer k.rt.close()
			require.Equal(t, c.systemd, k.systemdGroups(ctx))
			families, err := k.metrics.registry.Gather()
			require.NoError(t, err)
			warned := false
			for _, f := range families {
				warned = warned || f.GetName() == "kubelet_cri_losing_support" && f.GetMetric()[0].GetGauge().GetValue() == 1
			}
			require.Equal(t, c.runtime == nil, warned)
		})
	}
}
