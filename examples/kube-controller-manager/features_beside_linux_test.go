package main

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/controllers/kubefeatures"
)

// The features of Kubernetes are those that its own program lists: the alpha and beta ones.
func TestFeaturesBeside(t *testing.T) {
	help, err := exec.Command(seeds.Peer(t, "kube-controller-manager"), "--help").Output()
	require.NoError(t, err)
	want := map[featuregate.Feature]kubefeatures.Fixed{}
	for _, m := range regexp.MustCompile(`(?m)kube:(\w+)=true\|false \((ALPHA|BETA) - default=(true|false)\)`).FindAllStringSubmatch(string(help), -1) {
		if name := featuregate.Feature(m[1]); name != featuregate.AllAlpha && name != featuregate.AllBeta {
			want[name] = kubefeatures.Fixed{On: m[3] == "true", Why: m[2]}
		}
	}
	require.NotEmpty(t, want)
	got := map[featuregate.Feature]kubefeatures.Fixed{}
	for name, spec := range kubefeatures.Kubernetes().Specs {
		if spec.Stage == featuregate.Alpha || spec.Stage == featuregate.Beta {
			got[name] = kubefeatures.Fixed{On: spec.Default, Why: string(spec.Stage)}
		}
	}
	require.Equal(t, want, got)
}
