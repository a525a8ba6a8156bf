package reflector

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// Action is something to do next.
type Action uint8

// The actions.
const (
	// Wait for Command.After, then report Woke.
	Wait Action = iota + 1
	// List the collection, then report Listed or Failed.
	List
	// WatchList opens a watch that gives the collection first, then report Caught or Failed.
	WatchList
	// Watch for changes after Command.Version; report Failed when it ends.
	Watch
	// Follow goes on reading the watch that is open.
	Follow
	// CheckServed finds out whether the server serves the resource, then report Served, Absent or Failed.
	CheckServed
)

// Command is what the machine wants done.
type Command struct {
	// Do is the action.
	Do Action
	// After is how long to wait.
	After time.Duration
	// Version to watch from, or, for List and WatchList, the version the answer must not be older than; empty
	// for the latest.
	Version string
	// Reread, if positive, has the collection read again after so long, unless it is before that.
	Reread time.Duration
	// Gone is set when it is certain that the server does not serve the resource: what was known of it is
	// gone.
	NotServed bool
}

// Outcome is what happened.
type Outcome uint8

// The outcomes.
const (
	// Start begins the first cycle.
	Start Outcome = iota + 1
	// Woke ends a Wait.
	Woke
	// Listed says that a list was read whole, at Input.Version.
	Listed
	// Caught says that a watch has given everything there was, up to Input.Version.
	Caught
	// Moved says that a watch has reached Input.Version, by an event or a bookmark.
	Moved
	// Missed says that a watch has brought an event that cannot be read.
	Missed
	// Failed says that an action ended with Input.Err; for Watch also how it ends normally (io.EOF).
	Failed
	// Absent says that the server itself has said, to an CheckServed, that it does not serve the resource.
	Absent
	// Served says that the server, asked, does serve it.
	Served
	// Relist asks for the collection to be read again, not older than Input.Version if that is set.
	Relist
)

// Input is one thing that happened.
type Input struct {
	Outcome Outcome
	Version string
	Err     error
}

// Phase is where the machine is.
type Phase uint8

// The phases.
const (
	// Idle: nothing has been read yet, or it must be read again.
	Idle Phase = iota
	// Reading: a list or the first part of a watch-list is under way.
	Reading
	// Watching: the copy is in step up to Version.
	Watching
)

// Machine is the state of a reflector. The zero value is the beginning. It is a value: Step returns the next
// one and leaves the old as it was.
type Machine struct {
	// Phase and, in phase Watching, the Version reached.
	Phase   Phase
	Version string
	// Failures in a row.
	Failures int
	// Plain is true once the server has refused watch-list: lists are used from then on.
	NoWatchList bool
	// AtLeast is the version the next reading must not be older than; empty means the latest.
	AtLeast string
	// Missing is true while the server does not serve the resource.
	NotServed bool
	// held is true from a reading until what it gave is gone.
	held bool
	// checking is true while an CheckServed is under way; absences counts how often in a row the server has answered it
	// with Absent.
	checking bool
	absences int
	// streaming is true while a watch-list is being read.
	streaming bool
	// fruitless is true until the watch that is open has moved.
	fruitless bool
	// relapses counts the watches in a row that made another reading necessary before they had moved. A
	// reading that succeeds ends a row of Failures but not of these, so that a server that cannot be watched
	// is not asked for everything again and again.
	relapses int
	// missed is true when a change could not be read since the last reading, and misses counts such readings
	// in a row.
	missed bool
	misses int
	// listOnce reads a list next time, because watch-list has just failed in a way that may not last.
	listOnce bool
}

// NewMachine returns the beginning; plain leaves out watch-list from the start.
func NewMachine(noWatchList bool) Machine { return Machine{NoWatchList: noWatchList} }

// Step returns what to do after in, and the state after that. jitter in [0, 1) spreads waits. It has no other
// inputs.
func (m Machine) Step(in Input, jitter float64) (Machine, Command) {
	switch in.Outcome {
	case Start:
		return m.read()
	case Woke:
		if m.Phase == Watching {
			m.fruitless = true
			return m, Command{Do: Watch, Version: m.Version}
		}
		return m.read()
	case Listed:
		m = m.whole()
		m.Phase, m.Version, m.fruitless = Watching, in.Version, true
		m.listOnce = false
		return m, Command{Do: Watch, Version: m.Version}
	case Caught:
		m = m.whole()
		m.Phase, m.Version = Watching, in.Version
		m.streaming, m.fruitless = false, false
		return m, Command{Do: Follow}
	case Moved:
		// A server that is behind another one must not move the watch back.
		if in.Version != "" && m.Phase == Watching && !metav1.IsOlder(in.Version, m.Version) {
			m.Version = in.Version
		}
		m.Failures, m.relapses, m.absences, m.fruitless = 0, 0, 0, false
		return m, Command{Do: Follow}
	case Missed:
		m.fruitless = false
		if m.missed {
			return m, Command{Do: Follow}
		}
		m.missed = true
		m.misses++
		return m, Command{Do: Follow, Reread: max(delay(m.misses, jitter), time.Second)}
	case Relist:
		m.Phase, m.AtLeast, m.checking = Idle, in.Version, false
		return m.read()
	case Absent:
		return m.absent(jitter)
	case Served:
		// Whatever answered the request with 404, it was not a server without the resource.
		return m.unsure(jitter)
	case Failed:
		if m.checking {
			return m.unsure(jitter)
		}
		return m.failed(in.Err, jitter)
	}
	panic("reflector: unknown outcome")
}

// whole ends what went before the collection was read as a whole.
func (m Machine) whole() Machine {
	m.Failures, m.AtLeast, m.NotServed, m.held, m.absences = 0, "", false, true, 0
	if !m.missed {
		m.misses = 0
	}
	m.missed = false
	return m
}

// read begins a reading of the whole collection.
func (m Machine) read() (Machine, Command) {
	m.Phase, m.streaming = Reading, !m.NoWatchList && !m.listOnce
	if !m.streaming {
		return m, Command{Do: List, Version: m.AtLeast}
	}
	return m, Command{Do: WatchList, Version: m.AtLeast}
}

func (m Machine) failed(err error, jitter float64) (Machine, Command) {
	wasWatching := m.Phase == Watching
	switch kind := Classify(err); {
	case m.Phase == Reading && m.streaming && kind == Unsupported:
		m.listOnce = true
		return m.read()
	case m.Phase == Reading && m.streaming && kind == Invalid:
		m.NoWatchList = true
		return m.read()
	case kind == Expired && wasWatching:
		// Read again, at once the first time, from the latest version. Whatever failed before, the server is
		// well.
		m.Phase, m.AtLeast = Idle, ""
		m.Failures = m.relapses
		m.relapses++
	case kind == Expired:
		m.Phase, m.AtLeast = Idle, ""
		m.Failures++
	case kind == NotFound:
		// A proxy that has lost its server says 404 too: ask.
		m.checking = true
		return m, Command{Do: CheckServed}
	case kind == Ended && wasWatching:
		// A watch that was of use resumes at once; one that closes as soon as it is opened waits.
		if !m.fruitless {
			m.fruitless = true
			return m, Command{Do: Watch, Version: m.Version}
		}
		m.Failures++
	case wasWatching && (kind == Invalid || kind == Unreadable):
		// The version itself is refused, or what follows it cannot be read.
		m.Phase = Idle
		m.Failures = max(m.Failures, m.relapses) + 1
		m.relapses++
	case wasWatching:
		// The version is still good: resume.
		m.Failures++
	default:
		m.Phase = Idle
		if m.Failures++; m.Failures >= 3 {
			// The version asked for may never come.
			m.AtLeast = ""
		}
	}
	after := delay(m.Failures, jitter)
	if wait, ok := apierrors.RetryAfter(err); ok {
		after = max(after, wait)
	}
	if after == 0 {
		return m.Step(Input{Outcome: Woke}, jitter)
	}
	return m, Command{Do: Wait, After: after}
}

const (
	// sureAbsent is how often in a row a server must say that it does not serve a resource before what was
	// read of it is taken for gone: of several servers one may be behind.
	sureAbsent = 3
	// minAbsence is the least time between two of these.
	minAbsence = 2 * time.Second
	// minNotServed is the least wait for a resource that is not served.
	minNotServed = 500 * time.Millisecond
)

// absent goes on after the server has said that it does not serve the resource.
func (m Machine) absent(jitter float64) (Machine, Command) {
	if m.Phase == Watching {
		m.Failures = max(m.Failures, m.relapses)
		m.relapses++
	}
	m.checking, m.Phase, m.Version, m.AtLeast = false, Idle, "", ""
	m.Failures++
	m.absences++
	wait := Command{Do: Wait, After: max(delay(m.Failures, jitter), minNotServed)}
	switch {
	case !m.held || m.absences >= sureAbsent:
		wait.NotServed = !m.NotServed
		m.NotServed, m.held = true, false
	default:
		wait.After = max(wait.After, minAbsence)
	}
	return m, wait
}

// unsure goes on after a 404 that says nothing about the resource: what was read stays, and a version that
// was reached is still good.
func (m Machine) unsure(jitter float64) (Machine, Command) {
	m.checking, m.absences = false, 0
	if m.Phase != Watching {
		m.Phase = Idle
	}
	m.Failures++
	return m, Command{Do: Wait, After: delay(m.Failures, jitter)}
}

// delay is 0 for no failure, then 0.2 s doubling to 30 s, its upper half random.
func delay(failures int, jitter float64) time.Duration {
	if failures == 0 {
		return 0
	}
	d := min(200*time.Millisecond<<min(failures-1, 12), 30*time.Second)
	return d/2 + time.Duration(jitter*float64(d/2))
}

// Kind of a failure.
type Kind uint8

// The kinds of failures.
const (
	// Transient failures may go away by themselves.
	Transient Kind = iota
	// Ended is the normal end of a watch, or a silent one.
	Ended
	// Expired versions can no longer be watched from.
	Expired
	// Unsupported requests cannot be served, now or at all.
	Unsupported
	// Invalid requests are not understood or not accepted by this server.
	Invalid
	// Missing resources are not served (404), as before a CRD is installed and after it is removed.
	NotFound
	// Unreadable streams hold something at which reading cannot go on.
	Unreadable
)

// Classify says what an error of a list or a watch means.
func Classify(err error) Kind {
	if errors.Is(err, io.EOF) || errors.Is(err, client.ErrSilent) {
		return Ended
	}
	if apierrors.IsExpired(err) {
		return Expired
	}
	if errors.Is(err, codec.ErrTooLarge) {
		return Unreadable
	}
	s, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return Transient
	}
	switch s.ErrStatus.Code {
	case http.StatusNotFound:
		return NotFound
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return Invalid
	case http.StatusNotImplemented:
		return Unsupported
	case http.StatusInternalServerError:
		// What servers say on whose storage watch-list cannot work: an error event inside a 200 stream.
		if _, retry := apierrors.RetryAfter(err); !retry {
			return Unsupported
		}
	}
	return Transient
}
