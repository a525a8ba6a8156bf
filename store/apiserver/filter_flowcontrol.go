package apiserver

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/flowcontrol"
)

// Headers that hold the UIDs of the flow schema and the priority level of a request.
const (
	headerFlowSchema    = "X-Kubernetes-Pf-Flowschema-Uid"
	headerPriorityLevel = "X-Kubernetes-Pf-Prioritylevel-Uid"
)

// FlowControl returns the controller of priority and fairness; nil with Options.NoPriorityAndFairness.
func (s *Server) FlowControl() *flowcontrol.Controller { return s.flows }

// acquireSeat waits for the request's turn, or rejects the request.
func (s *Server) acquireSeat(r *request, a *authz.Attributes) bool {
	flow := s.flows.Classify(a)
	h := r.w.Header()
	h[headerFlowSchema], h[headerPriorityLevel] = []string{flow.SchemaUID}, []string{flow.LevelUID}
	seats := 1
	if !flow.Exempt() {
		seats = s.seatsOf(r)
	}
	var err error
	if r.seat, err = s.flows.Acquire(r.Context(), flow, seats); err == nil {
		if hook := s.opts.Metrics.Changing; hook != nil && a.ResourceRequest && r.flight() == flightWriting {
			if rt := s.table().route(r.info.GVR); rt != nil { // a client cannot name what is not served
				hook(flow.Schema, flow.Level, r.info.GVR.GroupResource())
			}
		}
		return true
	}
	s.reject(r)
	return false
}

// objectsPerSeat is how many objects of a list cost as much as one request for one object.
const objectsPerSeat = 100

// seatsOf estimates the cost of a request: that of a list grows with the objects it examines.
func (s *Server) seatsOf(r *request) int {
	if r.info.Verb != "list" || r.info.Name != "" {
		return 1
	}
	rt := s.table().route(r.info.GVR)
	if rt == nil || rt.res == nil {
		return 1
	}
	return 1 + rt.res.Cached()/objectsPerSeat
}

// admitFlow counts the request, and reports whether it may run: true at once for long-running ones other than
// watches, and for others when there is room.
func (s *Server) admitFlow(r *request, f flight) bool {
	if s.flows == nil {
		exempt := !r.info.Resource || slices.Contains(authn.UserFrom(r.Context()).Groups, authn.GroupMasters)
		if !s.limits.enter(f, exempt) {
			s.reject(r)
			return false
		}
	} else {
		if f != flightLong || r.info.Verb == "watch" {
			a := r.attributes()
			if !s.acquireSeat(r, &a) {
				return false
			}
		}
		s.limits.enter(f, true)
	}
	if hook := s.opts.Metrics.InFlight; f != flightLong && hook != nil {
		hook(f == flightWriting, 1)
	}
	return true
}

func (s *Server) reject(r *request) {
	if rt := s.table().route(r.info.GVR); rt != nil && rt.matchesPath(&r.info) {
		r.rt = rt // only measurements need it
	}
	if m := s.opts.Metrics.Rejected; m != nil {
		m(r.measurement())
	}
	r.fail(apierrors.NewTooManyRequests("the server is serving too many requests, please try again later", 1))
}

func (s *Server) releaseFlow(r *request, f flight) {
	r.seat.Release()
	s.limits.leave(f)
	if hook := s.opts.Metrics.InFlight; f != flightLong && hook != nil {
		hook(f == flightWriting, -1)
	}
	if r.long != nil {
		s.opts.Metrics.LongRunning(*r.long, -1)
	}
}

// countLongRunning reports a long-running request to the metrics, once its resource is known.
func (s *Server) countLongRunning(r *request) {
	if hook := s.opts.Metrics.LongRunning; hook != nil && r.info.longRunning() {
		m := r.measurement()
		r.long = &m
		hook(m, 1)
	}
}
