package flowcontrol

// mayRun reports whether the level can take more seats: of its own, or of the pool. Called with mu held, as are the others here.
func (c *Controller) mayRun(l *level, seats int) bool {
	used := l.used + seats
	if used <= l.guaranteed {
		return true
	}
	return used <= l.limit && c.lent+l.above(used)-l.above(l.used) <= c.pool
}

func (c *Controller) take(l *level, seats int) {
	c.lent += l.above(l.used+seats) - l.above(l.used)
	l.used += seats
}

func (c *Controller) put(l *level, seats int) {
	if c.config.Load().levels[l.name] == l {
		c.lent -= l.above(l.used) - l.above(l.used-seats)
	}
	l.used -= seats
}

// needy reports whether a level has requests that wait though it is below its nominal seats.
func (c *Controller) needy() bool {
	for _, l := range c.levels {
		if l.waiting > 0 && l.used < l.nominal {
			return true
		}
	}
	return false
}

// dispatch lets requests run for which there are seats, levels below their nominal seats first.
func (c *Controller) dispatch() {
	for {
		var best *level
		var from *queue
		needy := false
		for _, l := range c.levels {
			q := l.head()
			if q == nil {
				continue
			}
			owed := l.used < l.nominal
			needy = needy || owed
			if c.mayRun(l, q.waiters[0].seat.seats) && (best == nil || l.load() < best.load()) {
				best, from = l, q
			}
		}
		if best == nil || needy && best.used >= best.nominal {
			return
		}
		c.take(best, from.waiters[0].seat.seats)
		best.let(from)
	}
}

// load is the part of its nominal seats that a level uses.
func (l *level) load() float64 { return float64(l.used) / float64(max(l.nominal, 1)) }

// LevelState is what a level looks like at a time.
type LevelState struct {
	Name   string
	Exempt bool
	// Nominal, Guaranteed and Limit are seats: those it is meant to have, those nobody borrows, the most it may have.
	Nominal, Guaranteed, Limit int
	// Used are the seats in use, Waiting the requests in its queues, Queues how many of those there are, ActiveQueues how many have requests.
	Used, Waiting, Queues, ActiveQueues int
}

// Levels returns the state of all levels, ordered by name.
func (c *Controller) Levels() []LevelState {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.config.Load().levels
	out := make([]LevelState, 0, len(all))
	for _, name := range sortedNames(all) {
		l := all[name]
		s := LevelState{Name: name, Exempt: l.exempt, Nominal: l.nominal, Guaranteed: l.guaranteed, Limit: l.limit, Used: l.used,
			Waiting: l.waiting, Queues: len(l.queues)}
		for _, q := range l.queues {
			if len(q.waiters) > 0 || q.running > 0 {
				s.ActiveQueues++
			}
		}
		out = append(out, s)
	}
	return out
}
