package flowcontrol

import (
	"math"
	"slices"
	"time"
)

// Histogram says for how long a value has been how high.
type Histogram struct {
	// Bounds are upper bounds of the value, ascending. Times has one element more than Bounds: the time for
	// which the value was above the bound before and not above this one.
	Bounds []float64
	Times  []time.Duration
	// Sum is the integral of the value over the time, in nanoseconds.
	Sum float64
}

// Tally measures for how long a value is how high. It is not safe for concurrent use.
type Tally struct {
	sum   Histogram
	value float64
	at    int       // the element of Times that value belongs to
	since time.Time // of value, as far as it is not in sum
}

// NewTally returns a Tally of the value zero, from now on. The bounds must be ascending.
func NewTally(bounds ...float64) *Tally {
	return &Tally{sum: Histogram{Bounds: bounds, Times: make([]time.Duration, len(bounds)+1)}, since: time.Now()}
}

// Set sets the value from now on. A time before that of the last call stands for that one.
func (t *Tally) Set(value float64, now time.Time) {
	if d := now.Sub(t.since); d > 0 {
		t.sum.Times[t.at] += d
		t.sum.Sum += t.value * float64(d)
		t.since = now
	}
	if value != t.value {
		t.value = value
		t.at, _ = slices.BinarySearch(t.sum.Bounds, value)
	}
}

// At returns what has been measured until now.
func (t *Tally) At(now time.Time) Histogram {
	t.Set(t.value, now)
	out := t.sum
	out.Times = slices.Clone(out.Times)
	return out
}

const (
	// period is the time over which the demand for seats is summed up.
	period = 10 * time.Second
	// smoothing is how much of the smoothed demand remains after a period with a lower one.
	smoothing = 0.977
)

// Demand is the demand for seats of a level, those in use and those that requests wait for, over the last
// whole period of ten seconds.
type Demand struct {
	High, Average, Deviation float64
	// Smoothed rises with the average and deviation at once, and falls slowly.
	Smoothed float64
}

// demand sums up the demand of the current period.
type demand struct {
	Demand
	since               time.Time // of seats
	began               time.Time
	seats               float64
	high, area, squares float64 // area and squares are integrals over seconds
}

// set sets the demand from now on. A time before that of the last call stands for that one.
func (d *demand) set(seats float64, now time.Time) {
	if now.Before(d.since) {
		now = d.since
	}
	for now.Sub(d.began) >= period {
		end := d.began.Add(period)
		d.add(end.Sub(d.since))
		d.finish(1)
		d.began, d.since = end, end
		if rest := now.Sub(end) / period; rest > 0 { // nothing changes during them
			d.add(period)
			d.finish(int(rest))
			d.began = end.Add(rest * period)
			d.since = d.began
		}
	}
	d.add(now.Sub(d.since))
	d.since, d.seats, d.high = now, seats, max(d.high, seats)
}

func (d *demand) add(t time.Duration) {
	d.area += d.seats * t.Seconds()
	d.squares += d.seats * d.seats * t.Seconds()
}

// finish ends n equal periods.
func (d *demand) finish(n int) {
	d.High, d.Average = d.high, d.area/period.Seconds()
	d.Deviation = math.Sqrt(max(0, d.squares/period.Seconds()-d.Average*d.Average))
	envelope := d.Average + d.Deviation
	d.Smoothed = max(envelope, envelope+(d.Smoothed-envelope)*math.Pow(smoothing, float64(n)))
	d.high, d.area, d.squares = d.seats, 0, 0
}

// usage measures a level over time. It is guarded by Controller.mu.
type usage struct {
	demanded, seats    *Tally // relative to the nominal seats
	waiting, executing *Tally // requests, relative to the places in queues and to the nominal seats
	demand             demand
}

func newUsage() *usage {
	requests := []float64{0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1}
	u := &usage{
		demanded: NewTally(0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6),
		seats:    NewTally(0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1),
		waiting:  NewTally(requests...), executing: NewTally(requests...),
	}
	u.demand.began = u.demanded.since
	u.demand.since = u.demand.began
	return u
}

// changed measures the level, which is from now on as it is.
func (l *level) changed(now time.Time) {
	seats, nominal := float64(l.used+l.waitingSeats), float64(max(1, l.nominal))
	l.usage.demand.set(seats, now)
	l.usage.demanded.Set(seats/nominal, now)
	l.usage.seats.Set(float64(l.used)/nominal, now)
	l.usage.waiting.Set(float64(l.waiting)/float64(max(1, l.size*l.maxQueueLength)), now)
	l.usage.executing.Set(float64(l.executing)/nominal, now)
}
