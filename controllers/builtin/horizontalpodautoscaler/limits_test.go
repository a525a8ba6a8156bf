package horizontalpodautoscaler

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// model remembers everything, and applies the rules of the API one after the other.
type model struct {
	wanted, changes []stamped
}

func (m *model) limit(n int32, b *bounds) int32 {
	rules := func(r *autoscalingv2.HPAScalingRules, unset time.Duration) time.Duration {
		if r == nil || r.StabilizationWindowSeconds == nil {
			return unset
		}
		return time.Duration(*r.StabilizationWindowSeconds) * time.Second
	}
	up, down := time.Duration(0), b.window
	if b.behavior != nil {
		up, down = rules(b.behavior.ScaleUp, 0), rules(b.behavior.ScaleDown, b.window)
	}
	lowest, highest := n, n
	for _, s := range m.wanted {
		if age := b.now.Sub(s.at); age < up {
			lowest = min(lowest, s.n)
		}
		if age := b.now.Sub(s.at); age < down || b.behavior == nil && age == down {
			highest = max(highest, s.n)
		}
	}
	m.wanted = append(m.wanted, stamped{n, b.now})
	switch {
	case b.behavior == nil:
		n = highest
		n = min(n, max(2*b.current, 4))
	case b.current < lowest:
		n = min(lowest, m.fastest(b.behavior.ScaleUp, b, 1))
	case b.current > highest:
		n = max(highest, m.fastest(b.behavior.ScaleDown, b, -1))
	default:
		n = b.current
	}
	return min(max(n, b.least), b.most)
}

// fastest is as far as the rules go from the current number.
func (m *model) fastest(r *autoscalingv2.HPAScalingRules, b *bounds, sign int32) int32 {
	if *r.SelectPolicy == autoscalingv2.DisabledPolicySelect {
		return b.current
	}
	var steps []int32 // how far each policy lets it go
	for _, p := range r.Policies {
		start := b.current
		for _, c := range m.changes {
			if b.now.Sub(c.at) < time.Duration(p.PeriodSeconds)*time.Second {
				start -= c.n
			}
		}
		to := start + sign*p.Value
		if p.Type == autoscalingv2.PercentScalingPolicy {
			to = int32(float64(start) * (1 - float64(p.Value)/100))
			if sign > 0 {
				to = int32(math.Ceil(float64(start) * (1 + float64(p.Value)/100)))
			}
		}
		steps = append(steps, sign*(to-b.current))
	}
	best := steps[0]
	for _, s := range steps {
		if *r.SelectPolicy == autoscalingv2.MinChangePolicySelect {
			best = min(best, s)
		} else {
			best = max(best, s)
		}
	}
	return b.current + sign*max(best, 0)
}

func randomRules(r *rand.Rand) *autoscalingv2.HPAScalingRules {
	selects := []autoscalingv2.ScalingPolicySelect{autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect, autoscalingv2.DisabledPolicySelect}
	out := &autoscalingv2.HPAScalingRules{SelectPolicy: &selects[min(r.IntN(6), 2)%3]}
	if r.IntN(2) == 0 {
		out.StabilizationWindowSeconds = new(int32(r.IntN(20) * 15))
	}
	for range 1 + r.IntN(2) {
		p := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: int32(1 + r.IntN(5)), PeriodSeconds: int32(15 * (1 + r.IntN(8)))}
		if r.IntN(2) == 0 {
			p.Type, p.Value = autoscalingv2.PercentScalingPolicy, int32(5*(1+r.IntN(30)))
		}
		out.Policies = append(out.Policies, p)
	}
	return out
}

// In random histories the number of replicas is that of the model, which forgets nothing.
func TestLimitsAgreeWithModel(t *testing.T) {
	for _, seed := range seeds.Of(t, 300) {
		r := seeds.Rand(seed)
		b := &bounds{current: int32(1 + r.IntN(10)), least: 1, most: int32(10 + r.IntN(20)), window: 5 * time.Minute, now: noon}
		if r.IntN(3) > 0 {
			b.behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: randomRules(r), ScaleDown: randomRules(r)}
		}
		h, m := &history{}, &model{}
		h.begin(b.current, b.now)
		m.wanted = []stamped{{b.current, b.now}}
		for i := range 60 {
			wanted := int32(r.IntN(30))
			want := m.limit(wanted, b)
			got, _, limited, why := h.limit(wanted, b)
			require.Equal(t, want, got, "seed %d, step %d", seed, i)
			require.Equal(t, limited, why != withinRange, "seed %d, step %d", seed, i)
			if got != b.current {
				if b.behavior != nil {
					h.scaled(got-b.current, b.now, longest(b.behavior))
					m.changes = append(m.changes, stamped{got - b.current, b.now})
				}
				b.current = got
			}
			b.now = b.now.Add(time.Duration(1+r.IntN(4)) * 15 * time.Second)
		}
	}
}
