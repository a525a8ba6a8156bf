package cronjob

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// field returns a random field of a schedule.
func field(r *rand.Rand, first, n int) string {
	switch r.IntN(4) {
	case 0:
		return "*"
	case 1:
		return fmt.Sprint("*/", 1+r.IntN(n))
	case 2:
		return fmt.Sprint(first + r.IntN(n))
	}
	a, b := first+r.IntN(n), first+r.IntN(n)
	return fmt.Sprint(min(a, b), "-", max(a, b))
}

// latest returns what looking at every time of the schedule gives, in time zones that change their clocks.
func TestLatest(t *testing.T) {
	zones := []string{"", "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"}
	for _, seed := range seeds.Of(t, 300) {
		r := seeds.Rand(seed)
		cj := &batchv1.CronJob{}
		cj.Spec.Schedule = fmt.Sprint(field(r, 0, 60), " ", field(r, 0, 24), " ", field(r, 1, 31), " ", field(r, 1, 12), " ", field(r, 0, 7))
		if r.IntN(8) == 0 {
			cj.Spec.Schedule = fmt.Sprintf("@every %ds", 60+r.IntN(5000))
		}
		cj.Spec.TimeZone = &zones[r.IntN(len(zones))]
		if *cj.Spec.TimeZone == "" {
			cj.Spec.TimeZone = nil
		}
		zone, err := zoneOf(cj)
		require.NoError(t, err)
		s, err := parse(cj, zone)
		require.NoError(t, err, "seed %d", seed)
		from := time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), 0, time.UTC)
		span := []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour}[r.IntN(4)]
		now := from.Add(time.Duration(r.Int64N(int64(span))))
		var want time.Time
		n := 0
		for at := s.Next(from); !at.IsZero() && !at.After(now); at = s.Next(at) {
			want = at
			n++
		}
		got, missed := latest(s, from, now)
		require.True(t, want.Equal(got), "seed %d: %q from %s to %s: %s, want %s", seed, cj.Spec.Schedule, from, now, got, want)
		require.Equal(t, n == 0, missed == 0)
		require.Equal(t, n > 1, missed > 1)
	}
}

// Years without a start cost no more than a few steps.
func TestLatestAfterYears(t *testing.T) {
	cj := &batchv1.CronJob{}
	cj.Spec.Schedule = "* * * * *"
	s, err := parse(cj, nil)
	require.NoError(t, err)
	now := time.Date(2050, 1, 1, 12, 0, 30, 0, time.UTC)
	last, missed := latest(s, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), now)
	require.Equal(t, now.Truncate(time.Minute), last.UTC())
	require.Equal(t, int(now.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))/time.Minute), missed)
	cj.Spec.Schedule = "0 0 31 2 *" // never
	s, err = parse(cj, nil)
	require.NoError(t, err)
	last, missed = latest(s, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), now)
	require.Zero(t, last)
	require.Zero(t, missed)
}

// A year in zones that change their clocks, without a server: each time of the schedule is started once, at
// its instant, and of the times that pass while nothing runs the latest one.
func TestAYear(t *testing.T) {
	zones := []string{"Australia/Lord_Howe", "Europe/Berlin", "America/New_York"}
	if testing.Short() {
		zones = zones[:1]
	}
	for _, zone := range zones {
		for _, schedule := range []string{"30 12 * * *", "15 2 * * *", "0 */6 * * 1-5", "*/45 8 * * *"} {
			begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			s := &state{cj: &batchv1.CronJob{}, now: begin}
			s.cj.Name, s.cj.CreationTimestamp = "report", metav1.NewTime(begin)
			s.cj.Spec.Schedule, s.cj.Spec.TimeZone = schedule, &zone
			location, err := zoneOf(s.cj)
			require.NoError(t, err)
			times, err := parse(s.cj, location)
			require.NoError(t, err)
			next, starts := times.Next(begin), 0
			for s.now.Before(begin.AddDate(1, 0, 0)) {
				p := decide(s)
				require.Empty(t, p.notes)
				if !p.start.IsZero() {
					require.True(t, p.start.Equal(next), "%s in %s: %s, want %s", schedule, zone, p.start, next)
					require.True(t, s.now.Equal(next))
					s.cj.Status = statusOf(s, result{started: newJob(s.cj, p.start)})
					s.cj.Status.Active = nil // it has finished
					next, starts = times.Next(next), starts+1
					if starts%100 == 0 { // a pause, in which times are missed
						s.now = s.now.Add(50 * time.Hour)
						for at := times.Next(next); !at.After(s.now); at = times.Next(at) {
							next = at
						}
						if next.After(s.now) {
							continue
						}
						p := decide(s)
						require.True(t, p.start.Equal(next), "%s in %s after a pause: %s, want %s", schedule, zone, p.start, next)
						s.cj.Status = statusOf(s, result{started: newJob(s.cj, p.start)})
						s.cj.Status.Active = nil
						next = times.Next(next)
						p = decide(s)
						s.now = s.now.Add(p.again)
						continue
					}
				}
				require.Positive(t, p.again)
				s.now = s.now.Add(p.again)
			}
			require.Greater(t, starts, 200)
		}
	}
}
