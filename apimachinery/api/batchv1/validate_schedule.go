package batchv1

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// checkSchedule says what is wrong with a cron schedule: five fields, or a name such as @daily. It is the
// grammar of the usual cron library, checked here so that users of the types need not link one.
func checkSchedule(text string) error {
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		zone, rest, ok := strings.Cut(text, " ")
		if !ok {
			return errors.New("a schedule must follow the time zone")
		}
		_, name, _ := strings.Cut(zone, "=")
		if _, err := time.LoadLocation(name); err != nil {
			return fmt.Errorf("provided bad location %s: %w", name, err)
		}
		text = strings.TrimSpace(rest)
	}
	if strings.HasPrefix(text, "@") {
		return checkDescriptor(text)
	}
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return fmt.Errorf("expected exactly 5 fields, found %d: %q", len(fields), text)
	}
	months := []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	days := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	for i, unit := range []scheduleUnit{{0, 59, nil}, {0, 23, nil}, {1, 31, nil}, {1, 12, months}, {0, 6, days}} {
		for part := range strings.SplitSeq(fields[i], ",") {
			if part == "" {
				continue
			}
			if err := unit.check(part); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkDescriptor(text string) error {
	switch text {
	case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
		return nil
	}
	if d, ok := strings.CutPrefix(text, "@every "); ok {
		_, err := time.ParseDuration(d)
		return err
	}
	return fmt.Errorf("unrecognized descriptor: %s", text)
}

// scheduleUnit is one of the five fields: its range, and names for its values from the lowest on.
type scheduleUnit struct {
	low, high int
	names     []string
}

// check checks one of *, n, n-m, each with an optional /step.
func (u scheduleUnit) check(part string) error {
	span, stepText, stepped := strings.Cut(part, "/")
	if strings.Contains(stepText, "/") {
		return fmt.Errorf("too many slashes: %s", part)
	}
	from, to, ranged := strings.Cut(span, "-")
	low, high := u.low, u.high
	if from != "*" && from != "?" {
		if strings.Contains(to, "-") {
			return fmt.Errorf("too many hyphens: %s", part)
		}
		var err error
		if low, err = u.value(from); err != nil {
			return err
		}
		switch {
		case ranged:
			if high, err = u.value(to); err != nil {
				return err
			}
		case !stepped:
			high = low
		}
	}
	if stepped {
		if step, err := natural(stepText); err != nil {
			return err
		} else if step == 0 {
			return fmt.Errorf("step of range should be a positive number: %s", part)
		}
	}
	switch {
	case low < u.low:
		return fmt.Errorf("beginning of range (%d) below minimum (%d): %s", low, u.low, part)
	case high > u.high:
		return fmt.Errorf("end of range (%d) above maximum (%d): %s", high, u.high, part)
	case low > high:
		return fmt.Errorf("beginning of range (%d) beyond end of range (%d): %s", low, high, part)
	}
	return nil
}

func (u scheduleUnit) value(text string) (int, error) {
	for i, name := range u.names {
		if strings.EqualFold(name, text) {
			return u.low + i, nil
		}
	}
	return natural(text)
}

func natural(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("failed to parse int from %s: %w", text, err)
	}
	if n < 0 {
		return 0, fmt.Errorf("negative number (%d) not allowed: %s", n, text)
	}
	return n, nil
}
