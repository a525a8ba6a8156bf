package apimetrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/store/authn"
)

// tokens holds the metrics of bearer tokens: those of service accounts that are to be replaced, and those
// that a server of its own authenticates.
type tokens struct {
	uses     [authn.TokenLegacyInvalidated + 1]prometheus.Counter
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	fetches  *prometheus.CounterVec
	active   *prometheus.GaugeVec
}

func newTokens(r *prometheus.Registry) *tokens {
	const cache = "authentication_token_cache_"
	t := &tokens{
		total:    counter(r, cache+"request_total", "Tokens authenticated by the webhook, by whether the result was in the cache.", "status"),
		duration: histogram(r, cache+"request_duration_seconds", "Time to authenticate a token by the webhook, by whether the result was in the cache.", prometheus.DefBuckets, "status"),
		fetches:  counter(r, cache+"fetch_total", "Calls of the webhook by outcome.", "status"),
		active:   gauge(r, cache+"active_fetch_count", "Calls of the webhook (in_flight), and requests that wait for one (blocked).", "status"),
	}
	for use, of := range [...]struct{ name, help string }{
		authn.TokenFresh:             {"valid_tokens_total", "Uses of extended tokens before they should have been replaced."},
		authn.TokenStale:             {"stale_tokens_total", "Uses of extended tokens after they should have been replaced."},
		authn.TokenLegacy:            {"legacy_tokens_total", "Uses of tokens of secrets."},
		authn.TokenLegacyManual:      {"legacy_manual_token_uses_total", "Uses of tokens of secrets that users have made."},
		authn.TokenLegacyAuto:        {"legacy_auto_token_uses_total", "Uses of tokens of secrets that the cluster has made."},
		authn.TokenLegacyInvalidated: {"invalid_legacy_auto_token_uses_total", "Uses of tokens of secrets that have been marked as invalid."},
	} {
		t.uses[use] = counter(r, "serviceaccount_"+of.name, of.help).WithLabelValues()
	}
	return t
}

// TokenUsed counts a use of a service account token; it is for the options of a control plane.
func (m *Metrics) TokenUsed(u authn.TokenUse) { m.tokens.uses[u].Inc() }

// TokenWebhook returns the hooks for a webhook that authenticates tokens.
func (m *Metrics) TokenWebhook() authn.WebhookMetrics {
	t := m.tokens
	waiting, calling := t.active.WithLabelValues("blocked"), t.active.WithLabelValues("in_flight")
	return authn.WebhookMetrics{
		Looked: func(hit bool, elapsed time.Duration) {
			status := "miss"
			if hit {
				status = "hit"
			}
			t.total.WithLabelValues(status).Inc()
			t.duration.WithLabelValues(status).Observe(elapsed.Seconds())
		},
		Waiting: func(delta int) { waiting.Add(float64(delta)) },
		Calling: func(delta int) { calling.Add(float64(delta)) },
		Called: func(err error) {
			status := "ok"
			if err != nil {
				status = "error"
			}
			t.fetches.WithLabelValues(status).Inc()
		},
	}
}
