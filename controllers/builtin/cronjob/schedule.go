package cronjob

import (
	"strings"
	"sync"
	"time"

	// The parser that kube-controller-manager uses: schedules mean the same.
	"github.com/robfig/cron/v3"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
)

// manyMissed is how many times may be missed without a warning.
const manyMissed = 100

// zones has the time zones that were loaded, by name: loading one decodes it.
var zones sync.Map // string -> *time.Location

// zoneOf returns the time zone of a CronJob, nil if it names none.
func zoneOf(cj *batchv1.CronJob) (*time.Location, error) {
	if cj.Spec.TimeZone == nil {
		return nil, nil
	}
	if z, ok := zones.Load(*cj.Spec.TimeZone); ok {
		return z.(*time.Location), nil
	}
	z, err := time.LoadLocation(*cj.Spec.TimeZone)
	if err == nil {
		zones.Store(*cj.Spec.TimeZone, z)
	}
	return z, err
}

// parse returns the schedule of a CronJob in a time zone; nil is that of the process. A zone in the schedule
// itself has precedence.
func parse(cj *batchv1.CronJob, zone *time.Location) (cron.Schedule, error) {
	s, err := cron.ParseStandard(cj.Spec.Schedule)
	if fields, ok := s.(*cron.SpecSchedule); ok && err == nil && zone != nil && !strings.Contains(cj.Spec.Schedule, "TZ") {
		fields.Location = zone
	}
	return s, err
}

// latest returns the last time of a schedule after from and not after now, zero if there is none, and about
// how many there are. It looks back from now in steps that double, since there may be millions.
func latest(s cron.Schedule, from, now time.Time) (last time.Time, missed int) {
	first := s.Next(from)
	if first.IsZero() || first.After(now) {
		return time.Time{}, 0
	}
	missed = 1
	if second := s.Next(first); !second.IsZero() && !second.After(now) {
		missed = 1 + int(now.Sub(first)/second.Sub(first))
	}
	if every, ok := s.(cron.ConstantDelaySchedule); ok {
		return first.Add(now.Sub(first).Truncate(every.Delay)), missed
	}
	// The first time is one, so that the loop ends with a step that reaches back to from.
	last = first
	for back := time.Minute; ; back *= 2 {
		start := now.Add(-back)
		if !start.After(from) {
			start = from
		}
		if t := s.Next(start); !t.IsZero() && !t.After(now) {
			for ; !t.IsZero() && !t.After(now); t = s.Next(t) {
				last = t
			}
			return last, missed
		}
		if start.Equal(from) {
			return last, missed
		}
	}
}
