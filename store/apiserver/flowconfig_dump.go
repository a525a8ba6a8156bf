package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"
)

// addFlowDumps registers the debug pages of priority and fairness in Kubernetes' format:
// comma separated, with a header, aligned.
func (s *Server) addFlowDumps() {
	for name, dump := range map[string]func(*dumper){
		"dump_priority_levels": s.dumpLevels, "dump_queues": s.dumpQueues, "dump_requests": s.dumpRequests,
	} {
		s.handlers["/debug/api_priority_and_fairness/"+name] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h.Set("Content-Type", "text/plain; charset=utf-8")
			h.Set("X-Content-Type-Options", "nosniff")
			d := &dumper{tabwriter.NewWriter(w, 8, 0, 1, ' ', 0)}
			dump(d)
			_ = d.Flush() // the client may have disconnected
		})
	}
}

// dumper writes rows.
type dumper struct{ *tabwriter.Writer }

func (d *dumper) row(cells ...any) {
	text := make([]string, len(cells))
	for i, c := range cells {
		text[i] = fmt.Sprint(c)
	}
	_, _ = fmt.Fprintln(d, strings.Join(text, ",\t"))
}

func (s *Server) dumpLevels(d *dumper) {
	d.row("PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests",
		"DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests")
	for _, l := range s.flows.Levels() {
		idle := l.Waiting == 0 && l.Executing == 0
		d.row(l.Name, l.ActiveQueues, idle, false, l.Waiting, l.Executing, l.Dispatched, l.Rejected, l.TimedOut, l.Cancelled)
	}
}

func (s *Server) dumpQueues(d *dumper) {
	d.row("PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum")
	for _, q := range s.flows.Queues() {
		d.row(q.Level, q.Index, q.Waiting, q.Executing, q.Seats, fmt.Sprintf("%.8fss", q.Start), q.WaitingSeats, q.WaitingSeats, fmt.Sprintf("%.8fss", q.Work))
	}
}

func (s *Server) dumpRequests(d *dumper) {
	d.row("PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime", "InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime")
	for _, r := range s.flows.Requests() {
		d.row(r.Level, r.Schema, r.Queue, r.Place, r.Distinguisher, r.Arrived.UTC().Format(time.RFC3339Nano), r.Seats, 0, time.Duration(0), r.Started.UTC().Format(time.RFC3339Nano))
	}
}
