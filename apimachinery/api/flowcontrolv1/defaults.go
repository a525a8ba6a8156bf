package flowcontrolv1

import "github.com/keelson-dev/keelson/apimachinery/api/internal/defaults"

// DefaultFlowSchema sets the precedence.
func DefaultFlowSchema(f *FlowSchema) { defaults.IfZero(&f.Spec.MatchingPrecedence, 1000) }

// DefaultPriorityLevelConfiguration sets shares and queues.
func DefaultPriorityLevelConfiguration(p *PriorityLevelConfiguration) {
	if e := p.Spec.Exempt; e != nil {
		defaults.IfNil(&e.NominalConcurrencyShares, 0)
		defaults.IfNil(&e.LendablePercent, 0)
	}
	l := p.Spec.Limited
	if l == nil {
		return
	}
	defaults.IfNil(&l.NominalConcurrencyShares, 30)
	defaults.IfNil(&l.LendablePercent, 0)
	if q := l.LimitResponse.Queuing; q != nil {
		defaults.IfZero(&q.Queues, 64)
		defaults.IfZero(&q.HandSize, 8)
		defaults.IfZero(&q.QueueLengthLimit, 50)
	}
}
