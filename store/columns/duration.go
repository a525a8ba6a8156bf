package columns

import (
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// HumanDuration shortens d to at most two units, as kubectl shows ages: 5s, 3m10s, 90m, 4h2m, 30h, 4d2h,
// 100d, 2y70d. Anything more than a second below zero is "<invalid>".
func HumanDuration(d time.Duration) string {
	seconds := int64(d / time.Second)
	switch {
	case seconds < -1:
		return "<invalid>"
	case seconds < 0:
		return "0s"
	case d < 2*time.Minute:
		return units(d, time.Second, "s", 0, "")
	case d < 10*time.Minute:
		return units(d, time.Minute, "m", time.Second, "s")
	case d < 3*time.Hour:
		return units(d, time.Minute, "m", 0, "")
	case d < 8*time.Hour:
		return units(d, time.Hour, "h", time.Minute, "m")
	case d < 2*day:
		return units(d, time.Hour, "h", 0, "")
	case d < 8*day:
		return units(d, day, "d", time.Hour, "h")
	case d < 2*year:
		return units(d, day, "d", 0, "")
	case d < 8*year:
		return units(d, year, "y", day, "d")
	}
	return units(d, year, "y", 0, "")
}

// units writes d in whole bigs and, if the remainder has any, whole smalls.
func units(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	b := strconv.AppendInt(make([]byte, 0, 8), int64(d/big), 10)
	b = append(b, bigName...)
	if small > 0 {
		if n := int64(d % big / small); n > 0 {
			b = strconv.AppendInt(b, n, 10)
			b = append(b, smallName...)
		}
	}
	return string(b)
}

// AgeOf returns the time since the object was created, as a cell; see [Since].
func AgeOf(obj metav1.Object, now time.Time) string {
	return Since(metav1.MetaOf(obj).CreationTimestamp.Time, now)
}

// Since returns the time from t to now as [HumanDuration] formats it; "<unknown>" for the zero time.
func Since(t, now time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return HumanDuration(now.Sub(t))
}
