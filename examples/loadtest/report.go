package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// printTable prints one line a phase. Latencies are those of successful operations; CPU is the server's, per operation.
func printTable(out io.Writer, results []result) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "PHASE\tOPS\tERRORS\tSECONDS\tOPS/S\tP50\tP90\tP99\tMAX\tCPU/OP\tRSS\t")
	for _, r := range results {
		cpu, rss := "-", "-"
		if len(r.usage) > 0 && len(r.times) > 0 {
			var total usage
			for _, u := range r.usage {
				total.cpu += u.cpu
				total.resident += u.resident
			}
			cpu = (total.cpu / time.Duration(len(r.times))).Round(time.Microsecond).String()
			rss = fmt.Sprintf("%d MiB", total.resident>>20)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f\t%.0f\t%v\t%v\t%v\t%v\t%s\t%s\t\n", r.phase, len(r.times), r.errors, r.took.Seconds(),
			float64(len(r.times))/r.took.Seconds(), r.percentile(50), r.percentile(90), r.percentile(99), r.percentile(100), cpu, rss)
	}
	_ = w.Flush()
	for _, r := range results {
		if r.first != nil {
			message, _, _ := strings.Cut(r.first.Error(), "\n")
			fmt.Fprintf(out, "%s: %d failed, one of them: %s\n", r.phase, r.errors, message)
		}
	}
}

// percentile returns the time within which p percent of the operations ended (nearest rank).
func (r *result) percentile(p int) time.Duration {
	if len(r.times) == 0 {
		return 0
	}
	rank := max((len(r.times)*p+99)/100, 1)
	return r.times[rank-1].Round(10 * time.Microsecond)
}

// progress shows how far a phase is: a bar on a terminal, a line every 5 s elsewhere. It may be called concurrently.
type progress struct {
	out      *os.File
	terminal bool

	mu    sync.Mutex
	begun time.Time
	last  time.Time
}

func newProgress(out *os.File) *progress {
	info, err := out.Stat()
	return &progress{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// show is called after each operation and prints seldom.
func (p *progress) show(phase string, n, total int) {
	now := time.Now()
	every := 5 * time.Second
	if p.terminal {
		every = 100 * time.Millisecond
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun.IsZero() {
		p.begun, p.last = now, now
	}
	if now.Sub(p.last) < every {
		return
	}
	p.last = now
	rate := float64(n) / now.Sub(p.begun).Seconds()
	if !p.terminal {
		fmt.Fprintf(p.out, "%s: %d of %d, %.0f/s\n", phase, n, total, rate)
		return
	}
	const width = 30
	filled := width * n / max(total, 1)
	fmt.Fprintf(p.out, "\r%-14s [%s%s] %d/%d  %.0f/s \x1b[K", phase, strings.Repeat("=", filled), strings.Repeat(" ", width-filled), n, total, rate)
}

// done ends a phase.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal && !p.begun.IsZero() {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.begun = time.Time{}
}
