package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/component"
)

// read parses flags and then a configuration with the given fields.
func read(t *testing.T, fields string, args ...string) (component.Options, []string, error) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+fields), 0o600))
	o := component.Options{Name: "kube-scheduler"}
	f := pflag.NewFlagSet(o.Name, pflag.ContinueOnError)
	o.Flags(f)
	require.NoError(t, f.Parse(args))
	names, err := apply(file, &o, f)
	return o, names, err
}

func TestConfiguration(t *testing.T) {
	o, names, err := read(t, `
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
	require.Equal(t, []string{"one", "default-scheduler"}, names)
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
