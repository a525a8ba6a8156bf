package nodev1_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Quantities are rounded up to what Kubernetes stores: thousandths.
func TestDefaults(t *testing.T) {
	c := &nodev1.RuntimeClass{}
	nodev1.DefaultRuntimeClass(c)
	require.Nil(t, c.Overhead)
	c.Overhead = &nodev1.Overhead{PodFixed: corev1.ResourceList{"cpu": resource.MustParse("100u"), "memory": resource.MustParse("1Mi")}}
	nodev1.DefaultRuntimeClass(c)
	cpu, memory := c.Overhead.PodFixed["cpu"], c.Overhead.PodFixed["memory"]
	require.Equal(t, "1m", cpu.String())
	require.Equal(t, "1Mi", memory.String())
}

func TestCreateRules(t *testing.T) {
	apitest.Create(t, [][4]string{
		{"runtimeclass", "handler", `""`, "handler Required"},
		{"runtimeclass", "handler", `"a.b"`, "handler Invalid"},
		{"runtimeclass", "overhead", `{"podFixed":{"cpu":"1","memory":"1Mi"}}`, ""},
		{"runtimeclass", "overhead", `{"podFixed":{"cpu":"-1"}}`, "overhead.limits[cpu] Invalid"},
		{"runtimeclass", "scheduling", `{"nodeSelector":{"a":"b"},"tolerations":[{"key":"k","operator":"Exists"},{"operator":"Exists"}]}`, ""},
		{"runtimeclass", "scheduling", `{"nodeSelector":{"a b":"c"}}`, "scheduling.nodeSelector Invalid"},
		{"runtimeclass", "scheduling", `{"tolerations":[{"key":"k","operator":"Exists"},{"key":"k","operator":"Exists"}]}`, "scheduling.tolerations[1] Duplicate"},
		{"runtimeclass", "scheduling", `{"tolerations":[{"key":"k","operator":"Is"}]}`, "scheduling.tolerations[0].operator NotSupported"},
	})
}

func TestUpdateRules(t *testing.T) {
	apitest.Update(t, []apitest.Updated{
		{Alter: [4]string{"runtimeclass", "overhead", `{"podFixed":{"cpu":"1"}}`, ""}},
		{Alter: [4]string{"runtimeclass", "handler", `"other"`, "handler Invalid"}},
	})
}
