package flowcontrolv1

func setIfNil[T any](p **T, v T) {
	if *p == nil {
		*p = &v
	}
}

func setIfZero(p *int32, v int32) {
	if *p == 0 {
		*p = v
	}
}

// DefaultFlowSchema sets the precedence.
func DefaultFlowSchema(f *FlowSchema) { setIfZero(&f.Spec.MatchingPrecedence, 1000) }

// DefaultPriorityLevelConfiguration sets shares and queues.
func DefaultPriorityLevelConfiguration(p *PriorityLevelConfiguration) {
	if e := p.Spec.Exempt; e != nil {
		setIfNil(&e.NominalConcurrencyShares, 0)
		setIfNil(&e.LendablePercent, 0)
	}
	l := p.Spec.Limited
	if l == nil {
		return
	}
	setIfNil(&l.NominalConcurrencyShares, 30)
	setIfNil(&l.LendablePercent, 0)
	if q := l.LimitResponse.Queuing; q != nil {
		setIfZero(&q.Queues, 64)
		setIfZero(&q.HandSize, 8)
		setIfZero(&q.QueueLengthLimit, 50)
	}
}
