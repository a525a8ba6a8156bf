package schedulerconfig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/schedulerconfig"
)

// A configuration is refused, or can be completed or refused then; what is written of it reads the same.
func FuzzRead(f *testing.F) {
	const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	f.Add([]byte(head + "profiles: [{schedulerName: a, plugins: {multiPoint: {enabled: [{name: NodeAffinity, weight: 2}], disabled: [{name: '*'}]}}, pluginConfig: [{name: NodeAffinity, args: {}}]}]"))
	f.Add([]byte(head + "extenders: [{urlPrefix: 'http://x', filterVerb: filter, weight: 1, httpTimeout: 1s, managedResources: [{name: a.b/c}]}]"))
	f.Add([]byte(head + "leaderElection: {leaderElect: true, leaseDuration: 15s}\nparallelism: 16\npercentageOfNodesToScore: 50"))
	f.Add([]byte(head + "profiles: [&a {percentageOfNodesToScore: 1}, *a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := schedulerconfig.Read(data)
		if err != nil {
			return
		}
		if c.Complete() != nil {
			return
		}
		text, err := c.YAML()
		require.NoError(t, err)
		again, err := schedulerconfig.Read(text)
		require.NoError(t, err, "%s", text)
		require.NoError(t, again.Complete())
		repeated, err := again.YAML()
		require.NoError(t, err)
		require.Equal(t, string(text), string(repeated))
	})
}
