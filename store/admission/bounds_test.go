package admission

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	quantity "github.com/keelson-dev/keelson/apimachinery/resource"
)

func cpu(q string) corev1.ResourceList {
	if q == "" {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceCPU: quantity.MustParse(q)}
}

func TestViolations(t *testing.T) {
	for name, c := range map[string]struct {
		item             corev1.LimitRangeItem
		requests, limits corev1.ResourceList
		want             []string
	}{
		"within":        {corev1.LimitRangeItem{Min: cpu("1"), Max: cpu("2")}, cpu("1"), cpu("2"), nil},
		"no request":    {corev1.LimitRangeItem{Min: cpu("1")}, nil, nil, []string{"minimum cpu usage per Container is 1.  No request is specified"}},
		"small request": {corev1.LimitRangeItem{Min: cpu("1")}, cpu("1m"), cpu("1m"), []string{"minimum cpu usage per Container is 1, but request is 1m"}},
		"small limit":   {corev1.LimitRangeItem{Min: cpu("1")}, cpu("1"), cpu("900m"), []string{"minimum cpu usage per Container is 1, but limit is 900m"}},
		"no limit":      {corev1.LimitRangeItem{Max: cpu("1")}, cpu("1"), nil, []string{"maximum cpu usage per Container is 1.  No limit is specified"}},
		"said once":     {corev1.LimitRangeItem{Max: cpu("1")}, cpu("2"), cpu("3"), []string{"maximum cpu usage per Container is 1, but limit is 3"}},
		"large request": {corev1.LimitRangeItem{Max: cpu("1")}, cpu("2"), cpu("1"), []string{"maximum cpu usage per Container is 1, but request is 2"}},
		"ratio":         {corev1.LimitRangeItem{MaxLimitRequestRatio: cpu("2")}, cpu("1"), cpu("3"), []string{"cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"}},
		"ratio of zero": {corev1.LimitRangeItem{MaxLimitRequestRatio: cpu("2")}, nil, cpu("3"), []string{"cpu max limit to request ratio per Container is 2, but no request is specified or request is 0"}},
	} {
		c.item.Type = corev1.LimitTypeContainer
		require.Equal(t, c.want, violations(&c.item, c.requests, c.limits), name)
	}
}

func TestFactoriesAreNamedOnce(t *testing.T) {
	seen := map[string]bool{}
	o := Options{Configuration: Configuration{EventLimits: []EventLimit{{Type: EventLimitServer, QPS: 1, Burst: 1}},
		ImagePolicy: ImagePolicy{Post: func(context.Context, []byte) ([]byte, error) { return nil, nil }}}}
	for _, f := range Factories() {
		require.False(t, seen[f.Name], f.Name)
		seen[f.Name] = true
		p, err := f.New(nil, o)
		require.NoError(t, err)
		require.Equal(t, f.Name, p.Name())
		_, mutates := p.(Mutator)
		_, validates := p.(Validator)
		require.True(t, mutates || validates, f.Name)
		_, idles := p.(*alwaysAdmit)
		require.NotEqual(t, idles, p.Handles(Create) || p.Handles(Update), f.Name)
	}
}

// Values for the audit log are reported once each, in order, and cut where they are too long, between
// characters.
func TestAnnotationsAreBounded(t *testing.T) {
	told := map[string]string{}
	v := verdicts{a: &Attributes{Annotate: func(k, value string) { told[k] = value }}, values: map[string][]string{}}
	for _, value := range []string{" a ", "b", "a", "  "} {
		v.annotate("p/short", value)
	}
	v.annotate("p/long", strings.Repeat("x", maxAnnotation-1)+"\u20ac and more")
	require.NoError(t, v.publish())
	require.Equal(t, map[string]string{"p/short": "a, b", "p/long": strings.Repeat("x", maxAnnotation-1)}, told)
}
