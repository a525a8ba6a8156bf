package endpointslice

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// inZones returns endpoints in the zones that are the letters of a text.
func inZones(zones string) (out []*discoveryv1.Endpoint) {
	for i, z := range zones {
		out = append(out, &discoveryv1.Endpoint{Addresses: []string{fmt.Sprint(i)}, Zone: new(string(z))})
	}
	return out
}

// hinted returns the zones of the hints as letters, and a dot where there is none.
func hinted(endpoints []*discoveryv1.Endpoint) (out string) {
	for _, e := range endpoints {
		if e.Hints == nil {
			out += "."
		} else {
			out += e.Hints.ForZones[0].Name
		}
	}
	return out
}

func beforeOf(hints string) map[string]string {
	out := map[string]string{}
	for i, z := range hints {
		if z != '.' {
			out[fmt.Sprint(i)] = string(z)
		}
	}
	return out
}

func TestDivide(t *testing.T) {
	half, quarter := map[string]float64{"a": 0.5, "b": 0.5}, map[string]float64{"a": 0.75, "b": 0.25}
	for name, c := range map[string]struct {
		zones, before string
		parts         map[string]float64
		sticky        bool
		hints         string
		problem       string
	}{
		"each in its own zone":               {zones: "abab", parts: half, hints: "abab"},
		"some for the other zone":            {zones: "aaab", parts: half, hints: "baab"},
		"all in one zone":                    {zones: "aaaa", parts: half, hints: "bbaa"},
		"in proportion":                      {zones: "aabb", parts: quarter, hints: "aaab"},
		"what was good stays":                {zones: "aaaaaaabbbbb", before: "aaaaaaabbbbb", parts: half, hints: "aaaaaaabbbbb"},
		"but not if one is new":              {zones: "aaaaaaabbbbb", before: "aaaaaaabbbb.", parts: half, hints: "baaaaaabbbbb"},
		"unless there are many":              {zones: "aaaaaaabbbbb", before: "aaaaaaabbbb.", parts: half, sticky: true, hints: "aaaaaaabbbbb"},
		"never too much for one zone":        {zones: "aaaaaaaaabbb", before: "aaaaaaaaabb.", parts: half, sticky: true, hints: "bbbaaaaaabbb"},
		"a zone without nodes keeps its own": {zones: "aabbcc", before: "aabbzz", parts: half, hints: "aabbcc"},
		"one zone":                           {zones: "aa", parts: map[string]float64{"a": 1}, hints: "..", problem: noCapacity},
		"fewer than zones":                   {zones: "a", parts: half, hints: ".", problem: "Insufficient number of endpoints (1 endpoints, 2 zones)"},
		"not to be divided": {zones: "abc", parts: map[string]float64{"a": 0.9, "b": 0.05, "c": 0.05}, hints: "...",
			problem: "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (3 endpoints, 3 zones)"},
	} {
		t.Run(name, func(t *testing.T) {
			endpoints := inZones(c.zones)
			require.Equal(t, c.problem, divide(endpoints, beforeOf(c.before), c.parts, c.sticky))
			require.Equal(t, c.hints, hinted(endpoints))
		})
	}
	endpoints := inZones("ab")
	endpoints[1].Zone = nil
	require.Equal(t, zoneIsNotKnown, divide(endpoints, nil, half, false))
	require.Equal(t, "..", hinted(endpoints))
}

// Endpoints are divided as evenly as they can be, and dividing them again changes nothing.
func TestDivideIsFair(t *testing.T) {
	for _, seed := range seeds.Of(t, 300) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := 2 + r.IntN(3)
		parts, all := map[string]float64{}, 0.0
		for i := range n {
			parts[string(rune('a'+i))] = 1 + float64(r.IntN(5))
			all += parts[string(rune('a'+i))]
		}
		for z := range parts {
			parts[z] /= all
		}
		zones := ""
		for range 1 + r.IntN(40) {
			zones += string(rune('a' + r.IntN(n)))
		}
		endpoints := inZones(zones)
		problem := divide(endpoints, nil, parts, false)
		hints := hinted(endpoints)
		if problem != "" {
			require.Equal(t, strings.Repeat(".", len(endpoints)), hints, seed)
			continue
		}
		count := map[string]float64{}
		for _, z := range hints {
			count[string(z)]++
		}
		for z, part := range parts {
			should := part * float64(len(endpoints))
			require.Greater(t, count[z], should-1.5, "seed %v: zone %s of %v in %s", seed, z, parts, hints)
			require.Positive(t, count[z], "seed %v: zone %s of %v in %s", seed, z, parts, hints)
		}
		again := inZones(zones)
		require.Empty(t, divide(again, beforeOf(hints), parts, r.IntN(2) == 0), seed)
		require.Equal(t, hints, hinted(again), "seed %v", seed)
	}
}
