package serviceaccount

import (
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// tokenState is what decides whether a token in a secret ends.
type tokenState struct {
	secret   *corev1.Secret
	account  *corev1.ServiceAccount // nil if there is none
	mounted  bool                   // by a pod
	recorded time.Time              // the day since when the use of tokens is recorded
	unused   time.Duration          // after which a token ends
	now      time.Time              // in UTC
}

// step is what becomes of a token.
type step int

const (
	keep step = iota
	refuse
	remove
)

// decide returns what becomes of a token. A token that is refused is removed as much later.
func decide(s *tokenState) step {
	if !s.isOld() || s.isKept() || s.now.Before(s.recorded.AddDate(0, 0, 1).Add(s.unused)) {
		return keep
	}
	since, err := time.Parse(time.DateOnly, s.secret.Labels[corev1.TokenInvalidSinceLabel])
	switch {
	case err != nil:
		return refuse
	case before(since, s.now.Add(-s.unused)):
		return remove
	}
	return keep
}

// isOld reports whether a token was made, and last used, long enough ago. A day of the last use that cannot
// be read may be any.
func (s *tokenState) isOld() bool {
	t := s.now.Add(-s.unused)
	if !s.secret.CreationTimestamp.Time.Before(t) {
		return false
	}
	last, used := s.secret.Labels[corev1.TokenLastUsedLabel]
	if !used {
		return true
	}
	day, err := time.Parse(time.DateOnly, last)
	return err == nil && before(day, t)
}

// isKept reports whether a token stays although it was not used: it was not made by Kubernetes, or a pod
// mounts it.
func (s *tokenState) isKept() bool {
	if s.account == nil || s.mounted {
		return true
	}
	if uid := s.secret.Annotations[corev1.ServiceAccountUIDKey]; uid != "" && uid != string(s.account.UID) {
		return true
	}
	return !slices.ContainsFunc(s.account.Secrets, func(r corev1.ObjectReference) bool { return r.Name == s.secret.Name })
}

// before reports whether a day is before that of a time.
func before(day, t time.Time) bool { return day.Before(t.UTC().Truncate(24 * time.Hour)) }
