package apimetrics

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/flowcontrol"
)

// flows holds the metrics of priority and fairness.
type flows struct {
	running, seats      *prometheus.GaugeVec
	queued, queuedSeats *prometheus.GaugeVec
	dispatched, refused *prometheus.CounterVec
	full                *prometheus.CounterVec
	waits, runs, widths *prometheus.HistogramVec
	lengths, watches    *prometheus.HistogramVec
	series              *memo[flow, flowSeries]
	watchers            sync.Map // numbers of watches, *atomic.Int64 by schema.GroupResource

	// kinds are those that change nothing, and the others.
	kinds [2]kindOfRequests
}

// flow identifies a flow schema and its level.
type flow struct{ schema, level string }

// flowSeries are the metrics of a flow schema.
type flowSeries struct {
	running, seats, queued prometheus.Gauge
	dispatched, full       prometheus.Counter
	queuedSeats            prometheus.Gauge
	waited, estimated      prometheus.Observer
	ran, watched           prometheus.Observer
	length, watches        prometheus.Observer
}

// kindOfRequests measures the requests of a kind over time.
type kindOfRequests struct {
	mu               sync.Mutex
	waiting, running int
	waits, runs      *flowcontrol.Tally
	// most is the largest number that waited in the second that began at second, and before in the one
	// before.
	second       time.Time
	most, before int
}

var flowBuckets = []float64{0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30}

func newFlows(r *prometheus.Registry) *flows {
	const prefix = "apiserver_flowcontrol_"
	f := &flows{
		running:    gauge(r, prefix+"current_executing_requests", "Requests that run.", "flow_schema", "priority_level"),
		seats:      gauge(r, prefix+"current_executing_seats", "Seats in use.", "flow_schema", "priority_level"),
		queued:     gauge(r, prefix+"current_inqueue_requests", "Requests that wait.", "flow_schema", "priority_level"),
		dispatched: counter(r, prefix+"dispatched_requests_total", "Requests that were let run.", "flow_schema", "priority_level"),
		refused:    counter(r, prefix+"rejected_requests_total", "Requests that were turned away.", "flow_schema", "priority_level", "reason"),
		full:       counter(r, prefix+"request_dispatch_no_accommodation_total", "Requests for which there was no seat when they arrived.", "flow_schema", "priority_level"),
		waits: histogram(r, prefix+"request_wait_duration_seconds", "Time that requests waited to run.",
			flowBuckets, "flow_schema", "priority_level", "execute"),
		queuedSeats: gauge(r, prefix+"current_inqueue_seats", "Seats that requests wait for.", "flow_schema", "priority_level"),
		runs:        histogram(r, prefix+"request_execution_seconds", "Time that requests had their seats.", flowBuckets, "flow_schema", "priority_level", "type"),
		widths:      histogram(r, prefix+"work_estimated_seats", "Seats that requests took.", []float64{1, 2, 4, 8, 16, 32, 64, 100}, "flow_schema", "priority_level"),
		lengths: histogram(r, prefix+"request_queue_length_after_enqueue", "Requests that wait in the queue of an arriving request, itself included.",
			[]float64{0, 10, 25, 50, 100, 250, 500, 1000}, "flow_schema", "priority_level"),
		watches: histogram(r, prefix+"watch_count_samples", "Watches of the resource that a request changes.", []float64{0, 1, 10, 100, 1000, 10000}, "flow_schema", "priority_level"),
	}
	f.series = newMemo(f.seriesOf)
	for i := range f.kinds {
		bounds := []float64{0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}
		f.kinds[i].waits, f.kinds[i].runs = flowcontrol.NewTally(bounds...), flowcontrol.NewTally(bounds...)
	}
	r.MustRegister(f)
	return f
}

func (f *flows) seriesOf(k flow) flowSeries {
	return flowSeries{
		running: f.running.WithLabelValues(k.schema, k.level), seats: f.seats.WithLabelValues(k.schema, k.level), queued: f.queued.WithLabelValues(k.schema, k.level),
		dispatched: f.dispatched.WithLabelValues(k.schema, k.level), waited: f.waits.WithLabelValues(k.schema, k.level, "true"),
		queuedSeats: f.queuedSeats.WithLabelValues(k.schema, k.level), estimated: f.widths.WithLabelValues(k.schema, k.level),
		ran: f.runs.WithLabelValues(k.schema, k.level, "regular"), watched: f.runs.WithLabelValues(k.schema, k.level, "watch"),
		length: f.lengths.WithLabelValues(k.schema, k.level), full: f.full.WithLabelValues(k.schema, k.level), watches: f.watches.WithLabelValues(k.schema, k.level),
	}
}

func (f *flows) hooks() flowcontrol.Metrics {
	return flowcontrol.Metrics{
		Executing: func(schema, level string, requests, seats int) {
			s := f.series.of(flow{schema, level})
			s.running.Add(float64(requests))
			s.seats.Add(float64(seats))
		},
		Waiting: func(schema, level string, requests, seats int) {
			s := f.series.of(flow{schema, level})
			s.queued.Add(float64(requests))
			s.queuedSeats.Add(float64(seats))
			if requests > 0 {
				s.full.Inc()
			}
		},
		WaitingKind: func(mutating bool, delta int) { f.kind(mutating).add(delta, 0) },
		Queued: func(schema, level string, length int) {
			f.series.of(flow{schema, level}).length.Observe(float64(length))
		},
		Started: func(schema, level string, seats int, waited time.Duration) {
			s := f.series.of(flow{schema, level})
			s.dispatched.Inc()
			s.estimated.Observe(float64(seats))
			if waited >= 0 {
				s.waited.Observe(waited.Seconds())
			}
		},
		Finished: func(schema, level string, watch bool, ran time.Duration) {
			s := f.series.of(flow{schema, level})
			if watch {
				s.watched.Observe(ran.Seconds())
			} else {
				s.ran.Observe(ran.Seconds())
			}
		},
		Rejected: func(schema, level string, reason flowcontrol.Reason) {
			f.refused.WithLabelValues(schema, level, string(reason)).Inc()
			if reason == flowcontrol.ConcurrencyLimit {
				f.series.of(flow{schema, level}).full.Inc()
			}
		},
	}
}

func (f *flows) kind(mutating bool) *kindOfRequests {
	if mutating {
		return &f.kinds[1]
	}
	return &f.kinds[0]
}

// executing counts a request that begins or ends.
func (f *flows) executing(mutating bool, delta int) { f.kind(mutating).add(0, delta) }

func (k *kindOfRequests) add(waiting, running int) {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if waiting != 0 {
		k.turn(now)
		k.waiting += waiting
		k.most = max(k.most, k.waiting)
		k.waits.Set(float64(k.waiting), now)
	}
	if running != 0 {
		k.running += running
		k.runs.Set(float64(k.running), now)
	}
}

// turn begins a second of its own for now. k.mu is held.
func (k *kindOfRequests) turn(now time.Time) {
	switch d := now.Sub(k.second); {
	case d < time.Second:
	case d < 2*time.Second:
		k.second, k.before, k.most = k.second.Add(time.Second), k.most, k.waiting
	default:
		k.second, k.before, k.most = now, k.waiting, k.waiting
	}
}

// watching counts the watches of a resource.
func (f *flows) watching(resource schema.GroupResource, delta int) {
	n, _ := f.watchers.LoadOrStore(resource, new(atomic.Int64))
	n.(*atomic.Int64).Add(int64(delta))
}

// changing observes how many watches a write concerns.
func (f *flows) changing(schema, level string, resource schema.GroupResource) {
	count := 0.0
	if n, ok := f.watchers.Load(resource); ok {
		count = float64(n.(*atomic.Int64).Load())
	}
	f.series.of(flow{schema, level}).watches.Observe(count)
}

var (
	waitingMost = prometheus.NewDesc("apiserver_current_inqueue_requests", "Largest number of requests that waited at once in the last second.", []string{"request_kind"}, nil)
	kindsNow    = prometheus.NewDesc("apiserver_flowcontrol_read_vs_write_current_requests", "Nanoseconds for which so many requests waited or ran.", []string{"phase", "request_kind"}, nil)
)

// Describe implements prometheus.Collector.
func (f *flows) Describe(out chan<- *prometheus.Desc) {
	out <- waitingMost
	out <- kindsNow
}

// Collect implements prometheus.Collector.
func (f *flows) Collect(out chan<- prometheus.Metric) {
	for i := range f.kinds {
		k, name := &f.kinds[i], kindOf(i == 1)
		now := time.Now()
		k.mu.Lock()
		k.turn(now)
		most, waits, runs := max(k.most, k.before), k.waits.At(now), k.runs.At(now)
		k.mu.Unlock()
		out <- prometheus.MustNewConstMetric(waitingMost, prometheus.GaugeValue, float64(most), name)
		out <- overTime(kindsNow, waits, "waiting", name)
		out <- overTime(kindsNow, runs, "executing", name)
	}
}

// overTime returns a histogram in which each nanosecond is an observation.
func overTime(d *prometheus.Desc, h flowcontrol.Histogram, labels ...string) prometheus.Metric {
	buckets, total := make(map[float64]uint64, len(h.Bounds)), uint64(0)
	for i, t := range h.Times {
		total += uint64(t)
		if i < len(h.Bounds) {
			buckets[h.Bounds[i]] = total
		}
	}
	return prometheus.MustNewConstHistogram(d, total, h.Sum, buckets, labels...)
}

func levelDesc(name, help string, more ...string) *prometheus.Desc {
	d := prometheus.NewDesc("apiserver_flowcontrol_"+name, help, append([]string{"priority_level"}, more...), nil)
	levelDescs = append(levelDescs, d)
	return d
}

var (
	levelDescs []*prometheus.Desc // of what follows

	nominal     = levelDesc("nominal_limit_seats", "Seats a priority level is meant to have.")
	lowest      = levelDesc("lower_limit_seats", "Seats of a priority level that no other borrows.")
	highest     = levelDesc("upper_limit_seats", "Seats a priority level may have at most.")
	seatsNow    = levelDesc("current_limit_seats", "Seats a priority level may have now.")
	demandHigh  = levelDesc("demand_seats_high_watermark", "Highest demand for seats in the last ten seconds.")
	demandMean  = levelDesc("demand_seats_average", "Average demand for seats in the last ten seconds.")
	demandDev   = levelDesc("demand_seats_stdev", "Standard deviation of the demand for seats in the last ten seconds.")
	demandPast  = levelDesc("demand_seats_smoothed", "Demand for seats, which rises at once and falls slowly.")
	clock       = levelDesc("current_r", "Virtual time of a priority level.")
	dispatchAt  = levelDesc("dispatch_r", "Virtual time of the last dispatch.")
	latestStart = levelDesc("latest_s", "Virtual time at which the request that was dispatched last has started.")
	nextStarts  = levelDesc("next_s_bounds", "Lowest and highest virtual time at which requests start that are first in their queues.", "bound")
	discounted  = levelDesc("next_discounted_s_bounds", "Like next_s_bounds, without the work in progress.", "bound")
	demands     = levelDesc("demand_seats", "Nanoseconds for which so many seats were in use or waited for, relative to the nominal ones.")
	useOfSeats  = levelDesc("priority_level_seat_utilization", "Nanoseconds for which so many seats were in use, relative to the nominal ones.", "phase")
	useByPhase  = levelDesc("priority_level_request_utilization", "Nanoseconds for which so many requests waited, relative to the places in queues, or ran, relative to the nominal seats.", "phase")
)

// collectLevels sends what is measured of priority levels. Of exempt ones only the limits are.
func collectLevels(out chan<- prometheus.Metric, levels []flowcontrol.LevelState) {
	for _, l := range levels {
		send := func(d *prometheus.Desc, v float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{l.Name}, labels...)...)
		}
		send(nominal, float64(l.Nominal))
		send(lowest, float64(l.Guaranteed))
		send(highest, float64(l.Limit))
		if l.Exempt {
			continue
		}
		send(seatsNow, float64(l.Available))
		send(demandHigh, l.Demand.High)
		send(demandMean, l.Demand.Average)
		send(demandDev, l.Demand.Deviation)
		send(demandPast, l.Demand.Smoothed)
		send(clock, l.Clock)
		send(dispatchAt, l.Clock) // it does not pass in between
		send(latestStart, l.Latest)
		send(nextStarts, l.Next.Low, "min")
		send(nextStarts, l.Next.High, "max")
		send(discounted, l.Discounted.Low, "min")
		send(discounted, l.Discounted.High, "max")
		out <- overTime(demands, l.DemandedSeats, l.Name)
		out <- overTime(useOfSeats, l.UsedSeats, l.Name, "executing")
		out <- overTime(useByPhase, l.WaitingRequests, l.Name, "waiting")
		out <- overTime(useByPhase, l.ExecutingRequests, l.Name, "executing")
	}
}
