package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
)

func TestTexts(t *testing.T) {
	const core, meta = "io.k8s.api.core.v1.", "io.k8s.apimachinery.pkg.apis.meta.v1."
	for _, name := range []string{
		core + "Pod", core + "PodSpec", core + "Container", core + "Service", "io.k8s.api.apps.v1.Deployment", "io.k8s.api.batch.v1.CronJobSpec",
		meta + "ObjectMeta", meta + "LabelSelector", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
	} {
		require.NotEmpty(t, api.Text(name, ""), name)
	}
	for _, f := range [][2]string{
		{core + "PodSpec", "containers"}, {core + "Pod", "kind"}, {core + "Pod", "apiVersion"}, {core + "Pod", "metadata"},
		{core + "Volume", "emptyDir"}, {core + "Probe", "httpGet"}, {core + "ConfigMapVolumeSource", "name"},
		{"io.k8s.api.apps.v1.DeploymentSpec", "progressDeadlineSeconds"}, {meta + "ObjectMeta", "finalizers"},
		{"io.k8s.api.admissionregistration.v1.RuleWithOperations", "apiGroups"},
	} {
		require.NotEmpty(t, api.Text(f[0], f[1]), f)
	}
	require.Empty(t, api.Text(core+"Pod", "nope"))
	require.Empty(t, api.Text("nope", ""))
	require.Contains(t, api.Text(core+"PodSpec", "initContainers"), "keep running beside them", "comments of several lines are joined")
}
