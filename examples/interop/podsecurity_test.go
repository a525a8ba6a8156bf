package interop

import (
	stdjson "encoding/json"
	"fmt"
	"testing"

	fuzz "github.com/google/gofuzz"
	"github.com/stretchr/testify/require"
	upcorev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/podsecurity"
)

// securityTexts are the values of all strings in random pods: few, so that names repeat, and those that some
// check of some version allows.
var securityTexts = []string{"", "a", "a", "b", "c", `q"%s`, "localhost", "localhost/x", "runtime/default", "docker/default", "unconfined", "container_t",
	"container_init_t", "container_engine_t", "kernel.shm_rmid_forced", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_rmem"}

// choose returns a fuzz function that sets a value to one of those given.
func choose[T any](of ...T) func(*T, fuzz.Continue) {
	return func(v *T, c fuzz.Continue) { *v = of[c.Intn(len(of))] }
}

// securityFiller fills pods of which most values are ones that a check looks at.
func securityFiller(seed uint64, nilChance float64) *fuzz.Fuzzer {
	return filler(seed).NilChance(nilChance).NumElements(0, 2).MaxDepth(9).Funcs(
		choose(securityTexts...),
		choose[upcorev1.AppArmorProfileType]("", "Unconfined", "RuntimeDefault", "Localhost", "Other"),
		choose[upcorev1.SeccompProfileType]("", "Unconfined", "RuntimeDefault", "Localhost", "Other"),
		choose[upcorev1.ProcMountType]("", "Default", "Unmasked", "Other"),
		choose[upcorev1.Capability]("ALL", "ALL", "NET_BIND_SERVICE", "NET_RAW", "CHOWN", "all", ""),
		choose[upcorev1.OSName]("linux", "windows", "windows", ""),
		func(v *int64, c fuzz.Continue) { *v = c.Int63n(2) },
		func(v *int32, c fuzz.Continue) { *v = c.Int31n(3) },
		func(m *map[string]string, c fuzz.Continue) {
			*m = map[string]string{}
			for range c.Intn(4) {
				key := oneOf(c.Rand, "", upcorev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix, "container.seccomp.security.alpha.kubernetes.io/") + oneOf(c.Rand, securityTexts...)
				(*m)[oneOf(c.Rand, key, key, "seccomp.security.alpha.kubernetes.io/pod")] = oneOf(c.Rand, securityTexts...)
			}
		},
	)
}

// securityVersions are a third of the versions that there are and the latest. Three consecutive turns cover
// all.
func securityVersions(turn uint64) []string {
	var versions []string
	for minor := int(turn % 3); minor < 38; minor += 3 {
		versions = append(versions, fmt.Sprintf("v1.%d", minor))
	}
	return append(versions, "latest")
}

// Random pods are allowed or refused as the evaluator of kube-apiserver does, word for word, at all levels
// and versions.
func TestPodSecurityAsUpstream(t *testing.T) {
	upstream, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	reasons, allowed := map[string]int{}, 0
	all := seeds.Of(t, 2000)
	for _, seed := range all {
		var theirs upcorev1.Pod
		f := securityFiller(seed, []float64{.3, .6, .9}[seed%3])
		f.Fuzz(&theirs.Annotations)
		f.Fuzz(&theirs.Spec)
		data, err := stdjson.Marshal(&theirs)
		require.NoError(t, err, "seed %d", seed)
		var ours corev1.Pod
		require.NoError(t, codec.Unmarshal(data, &ours), "seed %d", seed)
		for _, level := range []podsecurity.Level{podsecurity.Privileged, podsecurity.Baseline, podsecurity.Restricted} {
			for _, text := range securityVersions(seed / 3) {
				theirVersion, err := api.ParseVersion(text)
				require.NoError(t, err)
				version, err := podsecurity.ParseVersion(text)
				require.NoError(t, err)
				want := policy.AggregateCheckResults(upstream.EvaluatePod(api.LevelVersion{Level: api.Level(level), Version: theirVersion}, &theirs.ObjectMeta, &theirs.Spec))
				got := podsecurity.Evaluate(level, version, &ours.ObjectMeta, &ours.Spec)
				if want.Allowed != got.Allowed() || want.ForbiddenReason() != got.Reason() || want.ForbiddenDetail() != got.Detail() {
					t.Fatalf("seed %d, %s:%s: got %q (%v), upstream has %q (%v)", seed, level, text, got.Detail(), got.Allowed(), want.ForbiddenDetail(), want.Allowed)
				}
				if level != podsecurity.Privileged && got.Allowed() {
					allowed++
				}
				for _, v := range got.Violations {
					reasons[v.Check]++
				}
			}
		}
	}
	require.Greater(t, allowed, len(all)/2, "some pods pass")
	require.Len(t, reasons, 19, "every check refuses some pods: %v", reasons)
}

// Random labels of namespaces set the same policy over random defaults, with the same errors.
func TestPodSecurityPolicyAsUpstream(t *testing.T) {
	levels := []string{"privileged", "baseline", "baseline", "restricted", "restricted", "", "Baseline"}
	versions := []string{"latest", "v1.7", "v1.36", "v1.07", "1.7", ""}
	invalid := 0
	all := seeds.Of(t, 2000)
	for _, seed := range all {
		r := seeds.Rand(seed)
		var theirs api.Policy
		var ours podsecurity.Policy
		for _, mode := range []struct {
			theirs *api.LevelVersion
			ours   *podsecurity.LevelVersion
		}{{&theirs.Enforce, &ours.Enforce}, {&theirs.Audit, &ours.Audit}, {&theirs.Warn, &ours.Warn}} {
			level, version := levels[r.IntN(5)], versions[r.IntN(3)]
			mode.theirs.Level = api.Level(level)
			mode.theirs.Version, _ = api.ParseVersion(version)
			mode.ours.Level = podsecurity.Level(level)
			mode.ours.Version, _ = podsecurity.ParseVersion(version)
		}
		labels := map[string]string{}
		for _, mode := range []string{"enforce", "audit", "warn"} {
			if r.IntN(2) == 0 {
				labels[podsecurity.LabelPrefix+mode] = levels[r.IntN(len(levels))]
			}
			if r.IntN(2) == 0 {
				labels[podsecurity.LabelPrefix+mode+"-version"] = versions[r.IntN(len(versions))]
			}
		}
		want, wantErrs := api.PolicyToEvaluate(labels, theirs)
		got, errs := podsecurity.PolicyOf(labels, ours)
		require.Equal(t, []string{want.Enforce.String(), want.Audit.String(), want.Warn.String()}, []string{got.Enforce.String(), got.Audit.String(), got.Warn.String()}, "seed %d: %v over %v", seed, labels, theirs)
		require.Equal(t, want.FullyPrivileged(), got.Privileged(), "seed %d", seed)
		require.Equal(t, want.Equivalent(&theirs), got.Equivalent(ours), "seed %d", seed)
		require.Equal(t, api.CompareLevels(want.Enforce.Level, want.Warn.Level) > 0, podsecurity.Stricter(got.Enforce.Level, got.Warn.Level), "seed %d", seed)
		if len(wantErrs) > 0 {
			require.EqualError(t, errs.Err(), wantErrs.ToAggregate().Error(), "seed %d", seed)
			invalid++
		} else {
			require.Empty(t, errs, "seed %d", seed)
		}
	}
	require.Greater(t, invalid, len(all)/20)
}
