package featuregate_test

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

var (
	v34, v35, v36 = featuregate.MajorMinor(1, 34), featuregate.MajorMinor(1, 35), featuregate.MajorMinor(1, 36)
	known         = map[featuregate.Feature][]featuregate.Spec{
		"Old":   {{Since: v34, Stage: featuregate.GA, Default: true}, {Since: v36, Stage: featuregate.GA, Default: true, LockToDefault: true}},
		"Fresh": {{Since: v36, Stage: featuregate.Alpha}},
		"Grown": {{Since: v35, Stage: featuregate.Beta, Default: true}, {Since: v34, Stage: featuregate.Alpha}},
		"Going": {{Since: v34, Stage: featuregate.Deprecated, Default: true}, {Since: v35, Stage: featuregate.Deprecated, LockToDefault: true}},
	}
)

func gate(t testing.TB, v featuregate.Version) *featuregate.Gate {
	g := featuregate.New(v)
	require.NoError(t, g.Add(known))
	return g
}

func on(g *featuregate.Gate) []featuregate.Feature {
	var out []featuregate.Feature
	for _, s := range g.All() {
		if s.Enabled {
			out = append(out, s.Feature)
		}
	}
	return out
}

func TestDefaultsAreThoseOfTheRelease(t *testing.T) {
	for v, want := range map[featuregate.Version][]featuregate.Feature{
		featuregate.MajorMinor(1, 33): nil, v34: {"Going", "Old"}, v35: {"Grown", "Old"}, v36: {"Grown", "Old"}, featuregate.MajorMinor(2, 0): {"Grown", "Old"},
	} {
		require.Equal(t, want, on(gate(t, v)), v)
	}
	require.Equal(t, []featuregate.Status{
		{Feature: "Fresh", Stage: featuregate.Alpha}, {Feature: "Going", Stage: featuregate.Deprecated},
		{Feature: "Grown", Stage: featuregate.Beta, Enabled: true}, {Feature: "Old", Stage: featuregate.GA, Enabled: true},
	}, gate(t, v36).All())
	require.False(t, gate(t, v36).Enabled("Nope"))
}

func TestSettings(t *testing.T) {
	g := gate(t, v36)
	require.NoError(t, g.Set("Fresh=true, Grown=false,"))
	require.Equal(t, []featuregate.Feature{"Fresh", "Old"}, on(g))
	require.Equal(t, "Fresh=true,Grown=false", g.String())
	for text, want := range map[string]string{
		"Old=false": "cannot set feature gate Old to false, feature is locked to true", "Going=true": "locked to false", "Nope=true": "unrecognized feature gate: Nope",
		"Fresh": "missing bool value", "Fresh=perhaps": "invalid value", "Grown=true,Nope=true": "unrecognized",
	} {
		require.ErrorContains(t, g.Set(text), want, text)
	}
	require.Equal(t, "Fresh=true,Grown=false", g.String(), "a refused change changes nothing")
	require.NoError(t, g.Set("Old=true,Going=false"), "what is locked can be set to what it is")

	g = gate(t, v36)
	require.NoError(t, g.Set("AllAlpha=true,AllBeta=false"))
	require.Equal(t, []featuregate.Feature{"Fresh", "Old"}, on(g))
	require.NoError(t, g.Set("Grown=true,Fresh=false"))
	require.Equal(t, []featuregate.Feature{"Grown", "Old"}, on(g), "a feature's own setting is stronger")
}

func TestEmulation(t *testing.T) {
	g := gate(t, v36)
	require.NoError(t, g.Set("Fresh=true"))
	require.ErrorContains(t, g.Emulate(v35), "Fresh is not in 1.35, it comes with 1.36")
	require.Equal(t, v36, g.Emulated())
	require.NoError(t, g.SetAll(map[featuregate.Feature]bool{"Grown": false}))
	g = gate(t, v34)
	require.NoError(t, g.Set("Going=true,Old=false"))
	require.ErrorContains(t, g.Emulate(v36), "locked")
	require.NoError(t, gate(t, v36).Emulate(v34))
}

func TestAdd(t *testing.T) {
	g := gate(t, v36)
	require.NoError(t, g.Add(known), "the same again")
	require.Error(t, g.Add(map[featuregate.Feature][]featuregate.Spec{"More": {{Since: v34}}, "Old": {{Since: v34}}}))
	require.ErrorContains(t, g.Set("More=true"), "unrecognized", "all or nothing")
	require.Error(t, g.Add(map[featuregate.Feature][]featuregate.Spec{"More": {}}))
	require.Error(t, g.Add(map[featuregate.Feature][]featuregate.Spec{"More": {{Since: v34}, {Since: v34, Default: true}}}))
	require.Error(t, g.Add(map[featuregate.Feature][]featuregate.Spec{featuregate.AllBeta: {{Since: v34}}}))
}

func TestLockReason(t *testing.T) {
	g := featuregate.New(v36)
	require.NoError(t, g.Add(map[featuregate.Feature][]featuregate.Spec{"Fixed": {{Since: v34, LockToDefault: true, LockReason: "it is not here"}}}))
	require.EqualError(t, g.Set("Fixed=true"), "cannot set feature gate Fixed to true, feature is locked to false: it is not here")
	require.NoError(t, g.Set("Fixed=false"))
}

func TestFlag(t *testing.T) {
	g := gate(t, v36)
	f := flag.NewFlagSet("x", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Var(g, "feature-gates", "")
	require.NoError(t, f.Parse([]string{"-feature-gates=Fresh=true", "-feature-gates=Grown=false"}))
	require.Equal(t, []featuregate.Feature{"Fresh", "Old"}, on(g))
	require.Error(t, f.Parse([]string{"-feature-gates=Nope=true"}))
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]featuregate.Version{"1.36": v36, "v1.36": v36, "0.0": {}} {
		got, err := featuregate.ParseVersion(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "1", "1.", "1.36.0", "a.b", "-1.2", "1.+2"} {
		_, err := featuregate.ParseVersion(text)
		require.Error(t, err, text)
	}
}

// Whatever is set in whatever order, what is locked keeps its default and what is set holds.
func TestRandomSettings(t *testing.T) {
	for _, seed := range seeds.Of(t, 500) {
		r := seeds.Rand(seed)
		g := gate(t, []featuregate.Version{v34, v35, v36}[r.IntN(3)])
		want := map[featuregate.Feature]bool{}
		for _, name := range slices.Sorted(maps.Keys(known)) {
			if value := r.IntN(2) == 0; g.Set(fmt.Sprintf("%s=%v", name, value)) == nil {
				want[name] = value
			}
		}
		for name, value := range want {
			require.Equal(t, value, g.Enabled(name), "seed %d: %s", seed, name)
		}
		again := gate(t, g.Emulated())
		require.NoError(t, again.Set(g.String()), "seed %d", seed)
		require.Equal(t, g.All(), again.All(), "seed %d", seed)
	}
}

func FuzzSet(f *testing.F) {
	for _, s := range []string{"Fresh=true,Grown=false", "AllAlpha=1", "=", ",,", "Old=false", "Fresh = true"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g := gate(t, v36)
		if g.Set(text) == nil {
			require.NoError(t, gate(t, v36).Set(g.String()))
		}
	})
}

func Example() {
	gates := featuregate.New(featuregate.MajorMinor(1, 36))
	err := gates.Add(map[featuregate.Feature][]featuregate.Spec{
		"FastLists": {{Since: featuregate.MajorMinor(1, 36), Stage: featuregate.Beta, Default: true}},
	})
	fmt.Println(err, gates.Enabled("FastLists"))
	fmt.Println(gates.Set("FastLists=false"), gates.Enabled("FastLists"))
	// Output:
	// <nil> true
	// <nil> false
}

func TestNeeds(t *testing.T) {
	g := featuregate.New(featuregate.MajorMinor(1, 36))
	alpha := []featuregate.Spec{{Since: featuregate.MajorMinor(1, 35), Stage: featuregate.Alpha}}
	require.NoError(t, g.Add(map[featuregate.Feature][]featuregate.Spec{"A": alpha, "B": alpha, "C": alpha}))
	needs := map[featuregate.Feature][]featuregate.Feature{"A": {"B", "C"}}
	require.NoError(t, g.CheckNeeds(needs))
	require.NoError(t, g.Set("A=true,C=true"))
	require.EqualError(t, g.CheckNeeds(needs), "feature gate A is enabled, but depends on features that are disabled: [B]")
	require.NoError(t, g.Set("AllAlpha=true"))
	require.NoError(t, g.CheckNeeds(needs))
}
