package metricsapi

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

func TestParse(t *testing.T) {
	now := time.Unix(1000, 0)
	node, containers, err := parse([]byte(`# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time
node_cpu_usage_seconds_total 12.5 999500
node_memory_working_set_bytes 4096

container_cpu_usage_seconds_total{container="a",namespace="default",pod="web"} 1.25e0 999000
container_memory_working_set_bytes{pod="web",namespace="default",container="a"} 2048 999000
container_start_time_seconds{container="a",namespace="default",pod="web"} 990.5
container_cpu_usage_seconds_total{container="b",namespace="default",pod="web"} 3 999000
container_start_time_seconds{container="c",namespace="default",pod="web"} 990
other{label="\\ \" \n}"} 1
resource_scrape_error 0
`), now)
	require.NoError(t, err)
	require.Equal(t, reading{at: time.UnixMilli(999500), seconds: 12.5, memory: 4096}, node)
	require.Equal(t, map[containerKey]*reading{{"default", "web", "a"}: {at: time.UnixMilli(999000), seconds: 1.25, memory: 2048, started: time.UnixMilli(990500)}},
		containers, "b has no memory, and c neither")
	const notText = "text format parsing error in line 1"
	for text, want := range map[string]string{
		"":                                      "want one CPU time",
		"node_cpu_usage_seconds_total":          notText,
		"node_cpu_usage_seconds_total x\n":      notText,
		"node_cpu_usage_seconds_total NaN\n":    "not negative",
		"node_cpu_usage_seconds_total -1\n":     "not negative",
		"node_cpu_usage_seconds_total +Inf\n":   "not negative",
		"node_cpu_usage_seconds_total 1 2 3\n":  notText,
		"node_cpu_usage_seconds_total 1 soon\n": notText,
		"a{b} 1\n":                              notText,
		"a{b=c} 1\n":                            notText,
		"a{b=\"c\n":                             notText,
		"node_cpu_usage_seconds_total 1\nnode_memory_working_set_bytes 1\nnode_memory_working_set_bytes 2\n": "want one CPU time",
	} {
		_, _, err := parse([]byte(text), now)
		require.ErrorContains(t, err, want, text)
	}
}

// A series says the same as a list of all readings: the last one whose counter has not begun again since.
func TestSeriesBesideAModel(t *testing.T) {
	for _, seed := range seeds.Of(t, 300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var s series
		var all []reading
		at := time.Unix(1_000_000, 0)
		now := reading{started: at.Add(-time.Duration(r.IntN(300)) * time.Second)}
		for range 30 {
			at = at.Add(time.Duration(r.IntN(80)) * time.Second)
			switch r.IntN(8) {
			case 0: // the container has started again
				now.started, now.seconds = at, 0
			case 1: // the counter has begun again
				now.seconds = 0
			}
			if len(all) == 0 || !at.Equal(all[len(all)-1].at) {
				now.seconds, now.at, now.memory = now.seconds+float64(r.IntN(50)), at, float64(r.IntN(100))
			}
			s = s.add(now)
			if len(all) == 0 || now.at.After(all[len(all)-1].at) {
				all = append(all, now)
			}
			got, ok := s.usage()
			want, wanted := modelUsage(all)
			require.Equal(t, fmt.Sprint(want, wanted), fmt.Sprint(got, ok), "seed %d", seed)
		}
	}
}

func modelUsage(all []reading) (usage, bool) {
	last := all[len(all)-1]
	from, value := last.started, 0.0
	if len(all) > 1 {
		prev := all[len(all)-2]
		if prev.started.Equal(last.started) && prev.seconds <= last.seconds && last.at.Sub(prev.at) <= 2*time.Minute {
			from, value = prev.at, prev.seconds
		}
	}
	window := last.at.Sub(from)
	if window <= 0 || window > 2*time.Minute {
		return usage{}, false
	}
	return usage{(last.seconds - value) / window.Seconds(), last.memory, last.at, window}, true
}
