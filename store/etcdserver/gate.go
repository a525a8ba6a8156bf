package etcdserver

import "context"

// sharers is how many may share a gate.
const sharers = 64

// gate is a read-write lock whose waits end with a context.
type gate struct {
	places chan struct{} // one element for each place taken
	turn   chan struct{} // held while one takes all places, so that two never wait for each other
}

func newGate() gate {
	return gate{places: make(chan struct{}, sharers), turn: make(chan struct{}, 1)}
}

// share takes one place; leave must be called once.
func (g gate) share(ctx context.Context) (leave func(), err error) {
	// A waiting caller of alone goes first.
	for _, queue := range []chan struct{}{g.turn, g.places} {
		select {
		case queue <- struct{}{}:
		case <-ctx.Done():
			if queue == g.places {
				<-g.turn
			}
			return nil, ctx.Err()
		}
	}
	<-g.turn
	return func() { <-g.places }, nil
}

// alone takes all places; leave must be called once.
func (g gate) alone(ctx context.Context) (leave func(), err error) {
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	taken := 0
	leave = func() {
		for range taken {
			<-g.places
		}
		<-g.turn
	}
	for ; taken < sharers; taken++ {
		select {
		case g.places <- struct{}{}:
		case <-ctx.Done():
			leave()
			return nil, ctx.Err()
		}
	}
	return leave, nil
}
