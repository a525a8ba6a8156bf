package horizontalpodautoscaler

import (
	"math"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
)

// stamped is a number of replicas and when it was computed, or by how many their number changed.
type stamped struct {
	n  int32
	at time.Time
}

// history is what an autoscaler did recently. It is not in the API: a process that begins takes the current
// number of replicas as recommended, so that it does not scale down before a window has passed.
type history struct {
	recommended []stamped
	changes     []stamped // up is positive
}

// begin is called before any other method.
func (h *history) begin(current int32, now time.Time) {
	if h.recommended == nil {
		h.recommended = []stamped{{current, now}}
	}
}

// recommend adds a recommendation and forgets those older than keep.
func (h *history) recommend(n int32, now time.Time, keep time.Duration) {
	h.recommended = append(slices.DeleteFunc(h.recommended, func(s stamped) bool { return s.at.Before(now.Add(-keep)) }), stamped{n, now})
}

// scaled adds a change and forgets those older than keep.
func (h *history) scaled(by int32, now time.Time, keep time.Duration) {
	h.changes = append(slices.DeleteFunc(h.changes, func(s stamped) bool { return s.at.Before(now.Add(-keep)) }), stamped{by, now})
}

// changed returns by how much the number of replicas changed within a period.
func (h *history) changed(period time.Duration, now time.Time) (n int32) {
	for _, s := range h.changes {
		if s.at.After(now.Add(-period)) {
			n += s.n
		}
	}
	return n
}

// reason explains a decision in a condition.
type reason struct{ reason, message string }

var (
	readyToScale   = reason{"ReadyForNewScale", "recommended size matches current size"}
	upStabilized   = reason{"ScaleUpStabilized", "recent recommendations were lower than current one, applying the lowest recent recommendation"}
	downStabilized = reason{"ScaleDownStabilized", "recent recommendations were higher than current one, applying the highest recent recommendation"}
	withinRange    = reason{"DesiredWithinRange", "the desired count is within the acceptable range"}
	upLimit        = reason{"ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"}
	downLimit      = reason{"ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"}
	tooMany        = reason{"TooManyReplicas", "the desired replica count is more than the maximum replica count"}
	tooFew         = reason{"TooFewReplicas", "the desired replica count is less than the minimum replica count"}
)

// bounds are the limits of a decision.
type bounds struct {
	current, least, most int32
	// behavior is nil for the rules that there were before it.
	behavior *autoscalingv2.HorizontalPodAutoscalerBehavior
	// window is that of scaling down, unless behavior has one.
	window time.Duration
	now    time.Time
}

// limit changes a wanted number of replicas to one that history and bounds permit, and remembers the wanted
// one. stable is true if recent recommendations did not change it; limited is true if the bounds did.
func (h *history) limit(wanted int32, b *bounds) (n int32, stable reason, limited bool, why reason) {
	n, stable = wanted, readyToScale
	if recent, r := h.stabilize(wanted, b); recent != wanted {
		n, stable = recent, r
	}
	if b.behavior == nil {
		h.recommend(wanted, b.now, b.window)
	} else {
		h.recommend(wanted, b.now, max(seconds(b.behavior.ScaleUp.StabilizationWindowSeconds, 0), seconds(b.behavior.ScaleDown.StabilizationWindowSeconds, b.window)))
	}
	allowed, why := h.bound(n, b)
	return allowed, stable, allowed != n, why
}

// stabilize returns the recommendation closest to the current number of replicas within the windows.
func (h *history) stabilize(wanted int32, b *bounds) (int32, reason) {
	if b.behavior == nil {
		for _, s := range h.recommended {
			if !s.at.Before(b.now.Add(-b.window)) {
				wanted = max(wanted, s.n)
			}
		}
		return wanted, downStabilized
	}
	up, down := wanted, wanted
	upWindow, downWindow := seconds(b.behavior.ScaleUp.StabilizationWindowSeconds, 0), seconds(b.behavior.ScaleDown.StabilizationWindowSeconds, b.window)
	for _, s := range h.recommended {
		if s.at.After(b.now.Add(-upWindow)) {
			up = min(up, s.n)
		}
		if s.at.After(b.now.Add(-downWindow)) {
			down = max(down, s.n)
		}
	}
	r := downStabilized
	if wanted >= b.current {
		r = upStabilized
	}
	return min(max(b.current, up), down), r
}

// bound applies least, most and the rates.
func (h *history) bound(n int32, b *bounds) (int32, reason) {
	if b.behavior == nil {
		most, why := b.most, tooMany
		if limit := max(2*b.current, 4); most > limit {
			most, why = limit, upLimit
		}
		switch {
		case n < b.least:
			return b.least, tooFew
		case n > most:
			return most, why
		}
		return n, withinRange
	}
	switch {
	case n > b.current:
		most, why := b.most, tooMany
		if limit := max(h.rate(b.behavior.ScaleUp, 1, b), b.current); most > limit {
			most, why = limit, upLimit
		}
		if n > most {
			return most, why
		}
	case n < b.current:
		least, why := b.least, tooFew
		if limit := min(h.rate(b.behavior.ScaleDown, -1, b), b.current); least < limit {
			least, why = limit, downLimit
		}
		if n < least {
			return least, why
		}
	}
	return n, withinRange
}

// rate returns how far the policies let the number of replicas go; sign is 1 for up and -1 for down.
func (h *history) rate(rules *autoscalingv2.HPAScalingRules, sign int32, b *bounds) int32 {
	choose := autoscalingv2.MaxChangePolicySelect
	if rules.SelectPolicy != nil {
		choose = *rules.SelectPolicy
	}
	if choose == autoscalingv2.DisabledPolicySelect {
		return b.current
	}
	// The greatest change is the greatest number when scaling up, and the least one when scaling down.
	greatest := (choose == autoscalingv2.MinChangePolicySelect) == (sign < 0)
	out := int32(math.MaxInt32)
	if greatest {
		out = math.MinInt32
	}
	for _, p := range rules.Policies {
		start := b.current - h.changed(time.Duration(p.PeriodSeconds)*time.Second, b.now)
		n := start + sign*p.Value
		if p.Type == autoscalingv2.PercentScalingPolicy {
			f := float64(start) * (1 + float64(sign)*float64(p.Value)/100)
			if sign > 0 {
				f = math.Ceil(f)
			}
			n = int32(min(f, math.MaxInt32))
		}
		if greatest {
			out = max(out, n)
		} else {
			out = min(out, n)
		}
	}
	return out
}

// longest is the longest period of the policies.
func longest(b *autoscalingv2.HorizontalPodAutoscalerBehavior) time.Duration {
	n := int32(0)
	for _, rules := range []*autoscalingv2.HPAScalingRules{b.ScaleUp, b.ScaleDown} {
		for _, p := range rules.Policies {
			n = max(n, p.PeriodSeconds)
		}
	}
	return time.Duration(n) * time.Second
}

func seconds(n *int32, unset time.Duration) time.Duration {
	if n == nil {
		return unset
	}
	return time.Duration(*n) * time.Second
}
