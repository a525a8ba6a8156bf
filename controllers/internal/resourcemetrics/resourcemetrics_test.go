package resourcemetrics_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/internal/resourcemetrics"
)

func TestFamilies(t *testing.T) {
	for _, name := range []string{
		resourcemetrics.ScrapeError, resourcemetrics.NodeCPU, resourcemetrics.NodeMemory, resourcemetrics.ContainerCPU, resourcemetrics.ContainerMemory,
		resourcemetrics.ContainerStart, resourcemetrics.ContainerSwap, resourcemetrics.ContainerSwapLimit,
		resourcemetrics.NodeSwap, resourcemetrics.PodCPU, resourcemetrics.PodMemory, resourcemetrics.PodSwap,
	} {
		var b strings.Builder
		resourcemetrics.Family(&b, name)
		require.Regexp(t, `^# HELP `+name+` \[(STABLE|ALPHA)\] .+\n# TYPE `+name+` (counter|gauge)\n$`, b.String())
		require.Equal(t, strings.HasSuffix(name, "_total"), strings.Contains(b.String(), "counter"), name)
	}
	require.Equal(t, `container="a",namespace="default",pod="web"`, resourcemetrics.Container("default", "web", "a"))
}
