package nodefit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
)

func TestTolerates(t *testing.T) {
	taint := &corev1.Taint{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}
	for _, c := range []struct {
		toleration corev1.Toleration
		want       bool
	}{
		{corev1.Toleration{Operator: corev1.TolerationOpExists}, true},
		{corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists}, true},
		{corev1.Toleration{Key: "other", Operator: corev1.TolerationOpExists}, false},
		{corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}, false},
		{corev1.Toleration{Key: "k", Value: "v"}, true},
		{corev1.Toleration{Key: "k", Value: "w", Operator: corev1.TolerationOpEqual}, false},
		{corev1.Toleration{Value: "v"}, false},
		{corev1.Toleration{Key: "k", Value: "v", Operator: "unknown"}, false},
		{corev1.Toleration{Key: "k", Value: "1", Operator: corev1.TolerationOpGt}, false},
	} {
		require.Equal(t, c.want, nodefit.Tolerates([]corev1.Toleration{c.toleration}, taint), "%+v", c.toleration)
	}
}

func TestTerms(t *testing.T) {
	node := &corev1.Node{ObjectMeta: controllertest.Name("", "n1")}
	node.Labels = map[string]string{"zone": "a", "cores": "8"}
	label := func(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	name := func(op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: op, Values: values}}}
	}
	for _, c := range []struct {
		term corev1.NodeSelectorTerm
		want bool
	}{
		{label("zone", corev1.NodeSelectorOpIn, "a", "b"), true},
		{label("zone", corev1.NodeSelectorOpNotIn, "a"), false},
		{label("gone", corev1.NodeSelectorOpDoesNotExist), true},
		{label("cores", corev1.NodeSelectorOpGt, "4"), true},
		{label("cores", corev1.NodeSelectorOpLt, "4"), false},
		{label("zone", "unknown", "a"), false},
		{name(corev1.NodeSelectorOpIn, "n1"), true},
		{name(corev1.NodeSelectorOpNotIn, "n1"), false},
		{name(corev1.NodeSelectorOpIn, "n1", "n2"), false},
		{corev1.NodeSelectorTerm{}, false},
	} {
		term := nodefit.Compile(&c.term)
		require.Equal(t, c.want, term.Matches(node), "%+v", c.term)
	}
	require.True(t, nodefit.MatchesAny(nodefit.CompileAll(nil), node))
	require.False(t, nodefit.MatchesAny(nodefit.CompileAll(&corev1.NodeSelector{}), node))
	require.True(t, nodefit.MatchesAny(nodefit.CompileAll(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		name(corev1.NodeSelectorOpIn, "other"), label("zone", corev1.NodeSelectorOpExists)}}), node))
	require.Nil(t, nodefit.Required(&corev1.PodSpec{Affinity: &corev1.Affinity{}}))
}

// The value of the taint is compared with that of the toleration, if both are numbers.
func TestTolerationsOfNumbers(t *testing.T) {
	for _, c := range []struct {
		taint      string
		operator   corev1.TolerationOperator
		toleration string
		want       bool
	}{
		{"950", corev1.TolerationOpGt, "900", true},
		{"900", corev1.TolerationOpGt, "900", false},
		{"899", corev1.TolerationOpLt, "900", true},
		{"1000", corev1.TolerationOpLt, "900", false},
		{"-5", corev1.TolerationOpLt, "0", true},
		{"0950", corev1.TolerationOpGt, "900", false},
		{"950", corev1.TolerationOpGt, "+900", false},
		{"99999999999999999999", corev1.TolerationOpGt, "1", false},
		{"", corev1.TolerationOpLt, "1", false},
		{"high", corev1.TolerationOpGt, "1", false},
	} {
		taint := &corev1.Taint{Key: "k", Value: c.taint, Effect: corev1.TaintEffectNoSchedule}
		toleration := corev1.Toleration{Key: "k", Operator: c.operator, Value: c.toleration}
		require.Equal(t, c.want, nodefit.Matches(&toleration, taint), "%+v", c)
	}
}

// Beta labels go before the stable ones, one by one.
func TestZone(t *testing.T) {
	zone := func(labels map[string]string) string {
		n := &corev1.Node{}
		n.Labels = labels
		return nodefit.Zone(n)
	}
	stable := zone(map[string]string{"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "a"})
	require.Equal(t, stable, zone(map[string]string{"failure-domain.beta.kubernetes.io/region": "r", "failure-domain.beta.kubernetes.io/zone": "a"}))
	require.Equal(t, stable, zone(map[string]string{"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "b", "failure-domain.beta.kubernetes.io/zone": "a"}))
	require.NotEqual(t, stable, zone(map[string]string{"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "a", "failure-domain.beta.kubernetes.io/zone": ""}))
	require.NotEqual(t, stable, zone(map[string]string{"topology.kubernetes.io/zone": "a"}))
	require.NotEqual(t, stable, zone(nil))
	require.Equal(t, zone(nil), zone(map[string]string{"app": "a"}))
}
