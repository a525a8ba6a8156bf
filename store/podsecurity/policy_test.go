package podsecurity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/podsecurity"
)

func TestPolicyOf(t *testing.T) {
	const p, b, r = podsecurity.Privileged, podsecurity.Baseline, podsecurity.Restricted
	lv := func(l podsecurity.Level, minor int) podsecurity.LevelVersion {
		return podsecurity.LevelVersion{Level: l, Version: podsecurity.V1(minor)}
	}
	defaults := podsecurity.Policy{Enforce: lv(p, 1), Audit: lv(b, 2), Warn: lv(b, 3)}
	for name, c := range map[string]struct {
		labels map[string]string
		want   podsecurity.Policy
		errs   string
	}{
		"none":                           {nil, defaults, ""},
		"others":                         {map[string]string{"a": "b"}, defaults, ""},
		"all":                            {map[string]string{"enforce": "restricted", "enforce-version": "v1.4", "audit": "privileged", "audit-version": "v1.5", "warn": "privileged", "warn-version": "v1.6"}, podsecurity.Policy{Enforce: lv(r, 4), Audit: lv(p, 5), Warn: lv(p, 6)}, ""},
		"warn follows":                   {map[string]string{"enforce": "restricted", "enforce-version": "v1.4"}, podsecurity.Policy{Enforce: lv(r, 4), Audit: lv(b, 2), Warn: lv(r, 4)}, ""},
		"warn has a version":             {map[string]string{"enforce": "restricted", "warn-version": "v1.6"}, podsecurity.Policy{Enforce: lv(r, 1), Audit: lv(b, 2), Warn: lv(r, 6)}, ""},
		"warn is as strict":              {map[string]string{"enforce": "baseline"}, podsecurity.Policy{Enforce: lv(b, 1), Audit: lv(b, 2), Warn: lv(b, 3)}, ""},
		"only an enforce-version":        {map[string]string{"enforce-version": "latest"}, podsecurity.Policy{Enforce: podsecurity.LevelVersion{Level: p}, Audit: lv(b, 2), Warn: lv(b, 3)}, ""},
		"wrong levels":                   {map[string]string{"enforce": "x", "audit": "y", "warn": "z"}, podsecurity.Policy{Enforce: lv(r, 1), Audit: lv(p, 2), Warn: lv(p, 3)}, "[" + wrong("enforce", "x") + ", " + wrong("audit", "y") + ", " + wrong("warn", "z") + "]"},
		"wrong enforce leaves warn":      {map[string]string{"enforce": "x"}, podsecurity.Policy{Enforce: lv(r, 1), Audit: lv(b, 2), Warn: lv(b, 3)}, wrong("enforce", "x")},
		"wrong version of what enforces": {map[string]string{"enforce-version": "1.4"}, podsecurity.Policy{Enforce: podsecurity.LevelVersion{Level: p}, Audit: lv(b, 2), Warn: lv(b, 3)}, `metadata.labels[pod-security.kubernetes.io/enforce-version]: Invalid value: "1.4": must be "latest" or "v1.x"`},
	} {
		t.Run(name, func(t *testing.T) {
			labels := map[string]string{}
			for k, v := range c.labels {
				labels[podsecurity.LabelPrefix+k] = v
			}
			got, errs := podsecurity.PolicyOf(labels, defaults)
			require.Equal(t, c.want, got)
			require.Equal(t, c.errs, errs.String())
		})
	}
	require.True(t, podsecurity.Policy{Enforce: lv(p, 1), Audit: lv(p, 2), Warn: lv(p, 3)}.Privileged())
	require.False(t, defaults.Privileged())
	require.True(t, defaults.Equivalent(podsecurity.Policy{Enforce: lv(p, 9), Audit: lv(b, 2), Warn: lv(b, 3)}), "the version of privileged does not matter")
	require.False(t, defaults.Equivalent(podsecurity.Policy{Enforce: lv(p, 1), Audit: lv(b, 2), Warn: lv(b, 4)}))
	require.True(t, podsecurity.Stricter(r, b) && podsecurity.Stricter(b, p) && podsecurity.Stricter("x", b))
	require.False(t, podsecurity.Stricter(b, b) || podsecurity.Stricter(p, r) || podsecurity.Stricter(r, "x"))
}

func wrong(mode, level string) string {
	return "metadata.labels[pod-security.kubernetes.io/" + mode + `]: Invalid value: "` + level + `": must be one of privileged, baseline, restricted`
}
