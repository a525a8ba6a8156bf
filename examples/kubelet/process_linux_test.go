package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"
)

// The kernel ends other processes before the kubelet, as far as it may say so itself.
func TestOOMScore(t *testing.T) {
	const child = "KEELSON_TEST_OOM_SCORE"
	if os.Getenv(child) != "" { // a process of its own: without privileges nothing lowers its score again
		c := kubeletconfig.Default()
		*c.FailCgroupV1, *c.FailSwapOn, *c.OOMScoreAdj = false, false, 417
		require.NoError(t, prepareProcess(c))
		b, err := os.ReadFile("/proc/self/oom_score_adj")
		require.NoError(t, err)
		require.Equal(t, "417\n", string(b))
		// Only some may lower it; the others run all the same.
		*c.OOMScoreAdj = -999
		require.NoError(t, prepareProcess(c))
		return
	}
	_, c, err := parse([]string{"--kubeconfig=x", "--oom-score-adj=-5"})
	require.NoError(t, err)
	require.EqualValues(t, -5, *c.OOMScoreAdj)
	require.EqualValues(t, -999, *kubeletconfig.Default().OOMScoreAdj)
	cmd := exec.Command(os.Args[0], "-test.run=^TestOOMScore$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
