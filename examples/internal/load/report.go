package load

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// PrintTable prints one line a phase. Latencies are those of successful operations; CPU is the server's, per
// operation.
func PrintTable(out io.Writer, results []Result) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "PHASE\tOPS\tERRORS\tSECONDS\tOPS/S\tP50\tP90\tP99\tMAX\tCPU/OP\tRSS\t")
	for _, r := range results {
		cpu, rss := "-", "-"
		if each, resident := r.PerOperation(); resident > 0 {
			cpu = each.Round(time.Microsecond).String()
			rss = fmt.Sprintf("%d MiB", resident>>20)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f\t%.0f\t%v\t%v\t%v\t%v\t%s\t%s\t\n", r.Phase, len(r.Times), r.Errors, r.Took.Seconds(),
			float64(len(r.Times))/r.Took.Seconds(), r.Percentile(50), r.Percentile(90), r.Percentile(99), r.Percentile(100), cpu, rss)
	}
	_ = w.Flush()
	for _, r := range results {
		if r.First != nil {
			message, _, _ := strings.Cut(r.First.Error(), "\n")
			fmt.Fprintf(out, "%s: %d failed, one of them: %s\n", r.Phase, r.Errors, message)
		}
	}
}

// PerOperation returns the CPU time all processes spent on one operation, and their resident bytes; zeros if
// no process was watched.
func (r *Result) PerOperation() (cpu time.Duration, resident int64) {
	for _, u := range r.Usage {
		cpu += u.CPU
		resident += u.Resident
	}
	return cpu / time.Duration(max(len(r.Times), 1)), resident
}

// Percentile returns the time within which p percent of the operations ended (nearest rank).
func (r *Result) Percentile(p int) time.Duration {
	if len(r.Times) == 0 {
		return 0
	}
	rank := max((len(r.Times)*p+99)/100, 1)
	return r.Times[rank-1].Round(10 * time.Microsecond)
}

// progress shows how far a phase is: a bar on a terminal, a line every 5 s elsewhere. It may be called
// concurrently.
type progress struct {
	out      *os.File // nil discards
	terminal bool

	mu    sync.Mutex
	begun time.Time
	last  time.Time
}

func newProgress(out *os.File) *progress {
	if out == nil {
		return &progress{}
	}
	info, err := out.Stat()
	return &progress{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// show is called after each operation and prints seldom.
func (p *progress) show(phase string, n, total int) {
	if p.out == nil {
		return
	}
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
