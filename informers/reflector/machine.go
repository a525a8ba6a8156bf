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

// Action is what the machine wants done next. The driver reports the result of each as one Input.
type Action uint8

const (
	// Wait for Command.After, then report Woke.
	Wait Action = iota + 1
	// List the collection, then report Listed or Failed.
	List
	// WatchList opens a watch that sends the collection first, then report Caught or Failed.
	WatchList
	// Watch for changes after Command.Version; report Failed when it ends.
	Watch
	// Follow continues reading the open watch.
	Follow
	// CheckServed queries discovery for the resource, then report Served, Absent or Failed.
	CheckServed
)

// Command is an action with its parameters.
type Command struct {
	// Do is the action.
	Do Action
	// After is how long to wait.
	After time.Duration
	// Version to watch from, or, for List and WatchList, the version the response must not be older than;
	// empty for the latest.
	Version string
	// Reread, if positive, is after how long to report Relist, unless the collection is read again before.
	Reread time.Duration
	// NotServed is set when it is certain that the server does not serve the resource: the copy is to be
	// emptied.
	NotServed bool
}

// Outcome is the kind of an Input.
type Outcome uint8

const (
	// Start begins the first cycle.
	Start Outcome = iota + 1
	// Woke ends a Wait.
	Woke
	// Listed: a list was read completely, at Input.Version.
	Listed
	// Caught: a watch has sent the whole collection, up to Input.Version.
	Caught
	// Moved: a watch has reached Input.Version, by an event or a bookmark.
	Moved
	// Missed: a watch has sent an event that cannot be read.
	Missed
	// Failed: an action ended with Input.Err. A Watch also ends normally so, with io.EOF.
	Failed
	// Absent: the server's discovery does not list the resource.
	Absent
	// Served: the server's discovery lists the resource.
	Served
	// Relist requests that the collection is read again, not older than Input.Version if that is set.
	Relist
)

// Input is an outcome with its parameters.
type Input struct {
	Outcome Outcome
	Version string
	Err     error
}

// Phase is the main part of a Machine's state.
type Phase uint8

const (
	// Idle: nothing has been read yet, or it must be read again.
	Idle Phase = iota
	// Reading: a list or the first part of a watch-list is being read.
	Reading
	// Watching: the copy is in step up to Version.
	Watching
)

// Machine is the state of a reflector. The zero value is the initial state. It is a value: Step returns the
// next state and does not change the receiver.
type Machine struct {
	// Phase and, in phase Watching, the Version reached.
	Phase   Phase
	Version string
	// Failures in a row.
	Failures int
	// NoWatchList is true once the server has refused watch-list: lists are used from then on.
	NoWatchList bool
	// AtLeast is the version the next read must not be older than; empty means the latest.
	AtLeast string
	// NotServed is true while the server does not serve the resource.
	NotServed bool
	// held is true from a complete read until NotServed.
	held bool
	// checking is true while a CheckServed is in progress; absences counts its results Absent in a row.
	checking bool
	absences int
	// streaming is true while a watch-list is being read.
	streaming bool
	// fruitless is true until the open watch has moved.
	fruitless bool
	// relapses counts the watches in a row that made another read necessary before they had moved. A
	// successful read resets Failures but not relapses, so that a collection that cannot be watched is not
	// read all the time.
	relapses int
	// missed is true when a change could not be read since the last read of the collection, and misses counts
	// such reads in a row.
	missed bool
	misses int
	// listOnce uses a list for the next read, because watch-list has failed in a way that may be temporary.
	listOnce bool
}

// NewMachine returns the initial state; with noWatchList collections are read with lists from the start.
func NewMachine(noWatchList bool) Machine { return Machine{NoWatchList: noWatchList} }

// Step returns the state after in and the next command. jitter in [0, 1) spreads waits. It has no other
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
		m = m.committed()
		m.Phase, m.Version, m.fruitless = Watching, in.Version, true
		m.listOnce = false
		return m, Command{Do: Watch, Version: m.Version}
	case Caught:
		m = m.committed()
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
		// The 404 was not that of a server without the resource.
		return m.inconclusive(jitter)
	case Failed:
		if m.checking {
			return m.inconclusive(jitter)
		}
		return m.failed(in.Err, jitter)
	}
	panic("reflector: unknown outcome")
}

// committed resets the counters of failures after the whole collection has been read.
func (m Machine) committed() Machine {
	m.Failures, m.AtLeast, m.NotServed, m.held, m.absences = 0, "", false, true, 0
	if !m.missed {
		m.misses = 0
	}
	m.missed = false
	return m
}

// read begins a read of the whole collection.
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
		// Read again, at once the first time, from the latest version: the server works, whatever failed
		// before.
		m.Phase, m.AtLeast = Idle, ""
		m.Failures = m.relapses
		m.relapses++
	case kind == Expired:
		m.Phase, m.AtLeast = Idle, ""
		m.Failures++
	case kind == NotFound:
		// A proxy without its server responds with 404 too.
		m.checking = true
		return m, Command{Do: CheckServed}
	case kind == Ended && wasWatching:
		// A watch that has moved resumes at once; one that closes as soon as it is opened waits.
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
		// The version is still valid: resume.
		m.Failures++
	default:
		m.Phase = Idle
		if m.Failures++; m.Failures >= 3 {
			// The server may never reach the version.
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
	// sureAbsent is how often in a row discovery must not list a resource before a copy of it is emptied: of
	// several servers one may be behind.
	sureAbsent = 3
	// minAbsence is the minimum time between two of these.
	minAbsence = 2 * time.Second
	// minNotServed is the minimum wait for a resource that is not served.
	minNotServed = 500 * time.Millisecond
)

// absent continues after an Absent.
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

// inconclusive continues after a 404 that does not show that the resource is absent: the copy and the version
// it has reached stay valid.
func (m Machine) inconclusive(jitter float64) (Machine, Command) {
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

// Kind classifies a failure by what to do after it.
type Kind uint8

const (
	// Transient failures may not occur again.
	Transient Kind = iota
	// Ended is the normal end of a watch, or a silent one.
	Ended
	// Expired versions can no longer be watched from.
	Expired
	// Unsupported requests cannot be served, now or at all.
	Unsupported
	// Invalid requests are not understood or not accepted by this server.
	Invalid
	// NotFound is a 404: the resource may not be served, as before a CRD is installed and after it is
	// removed.
	NotFound
	// Unreadable streams contain data behind which reading cannot continue.
	Unreadable
)

// Classify returns the kind of an error of a list or a watch.
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
		// Servers whose storage cannot serve watch-list send this as an error event inside a 200 stream.
		if _, retry := apierrors.RetryAfter(err); !retry {
			return Unsupported
		}
	}
	return Transient
}
