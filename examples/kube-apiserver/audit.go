package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"gopkg.in/natefinch/lumberjack.v2" // rotates files, under the names that kube-apiserver gives them

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/store/audit"
)

// auditing is the flags that say which requests are recorded, and where.
type auditing struct {
	policyFile   string
	log, webhook auditBackend

	logPath                     string
	maxAge, maxBackups, maxSize int
	compress                    bool
	format                      string

	webhookFile    string
	initialBackoff time.Duration

	batches []*audit.Batch // to be run
	file    io.Closer      // nil without a file
	lost    *auditLosses
}

// auditBackend is the flags that both backends have.
type auditBackend struct {
	name, mode, version string
	bufferSize, maxSize int
	maxWait             time.Duration
	throttle            bool
	qps                 float32
	burst               int
	truncate            bool
	maxBatch, maxEvent  int64
}

// The values of --audit-log-mode and --audit-webhook-mode.
const (
	auditBatch          = "batch"
	auditBlocking       = "blocking"
	auditBlockingStrict = "blocking-strict"
)

// webhookDeliveries is how many batches are on their way to the audit webhook at a time.
const webhookDeliveries = 16

func (a *auditing) flags(f *pflag.FlagSet) {
	f.StringVar(&a.policyFile, "audit-policy-file", "", "file of kind Policy (audit.k8s.io/v1): which requests are recorded (empty: none)")
	f.StringVar(&a.logPath, "audit-log-path", "", "file to record requests in; - means standard output")
	f.IntVar(&a.maxAge, "audit-log-maxage", 366, "days after which old audit log files are deleted; 0 means never")
	f.IntVar(&a.maxBackups, "audit-log-maxbackup", 100, "number of old audit log files to keep; 0 means all")
	f.IntVar(&a.maxSize, "audit-log-maxsize", 100, "size in megabytes at which the audit log file is rotated; 0 means never")
	f.BoolVar(&a.compress, "audit-log-compress", false, "compress rotated audit log files with gzip")
	f.StringVar(&a.format, "audit-log-format", string(audit.FormatJSON), "format of the audit log: json or legacy, which is a line of text without objects")
	a.log = auditBackend{name: "log", mode: auditBlocking, maxSize: 1}
	a.log.flags(f)
	f.StringVar(&a.webhookFile, "audit-webhook-config-file", "", "kubeconfig of the server to which events are sent")
	f.DurationVar(&a.initialBackoff, "audit-webhook-initial-backoff", 10*time.Second, "time before the first retry of a failed request to the audit webhook")
	f.DurationVar(&a.initialBackoff, "audit-webhook-batch-initial-backoff", 10*time.Second, "previous name of --audit-webhook-initial-backoff")
	a.webhook = auditBackend{name: "webhook", mode: auditBatch, maxSize: 400, maxWait: 30 * time.Second, throttle: true, qps: 10, burst: 15}
	a.webhook.flags(f)
}

// flags adds the flags of a backend, whose defaults are its fields.
func (b *auditBackend) flags(f *pflag.FlagSet) {
	prefix := "audit-" + b.name + "-"
	f.StringVar(&b.mode, prefix+"mode", b.mode, "batch (requests do not wait for their events to be recorded), blocking, or blocking-strict (requests that cannot be recorded are refused)")
	f.StringVar(&b.version, prefix+"version", auditv1.GroupVersion.String(), "group and version of the events")
	f.IntVar(&b.bufferSize, prefix+"batch-buffer-size", 10000, "number of events that may wait in batch mode; further ones are dropped")
	f.IntVar(&b.maxSize, prefix+"batch-max-size", b.maxSize, "greatest number of events in a batch")
	f.DurationVar(&b.maxWait, prefix+"batch-max-wait", b.maxWait, "how long an event waits for its batch to be full")
	f.BoolVar(&b.throttle, prefix+"batch-throttle-enable", b.throttle, "limit the number of batches per second")
	f.Float32Var(&b.qps, prefix+"batch-throttle-qps", b.qps, "batches per second on average")
	f.IntVar(&b.burst, prefix+"batch-throttle-burst", b.burst, "batches at once if there were few before")
	f.BoolVar(&b.truncate, prefix+"truncate-enabled", false, "limit the sizes of events and batches")
	f.Int64Var(&b.maxBatch, prefix+"truncate-max-batch-size", 10<<20, "size in bytes above which a batch is split")
	f.Int64Var(&b.maxEvent, prefix+"truncate-max-event-size", 100<<10, "size in bytes above which an event loses the objects of request and response, and is dropped if that is not enough")
}

func (a *auditing) validate() error {
	var errs []error
	if a.logPath != "" {
		errs = append(errs, a.log.validate())
		if a.format != string(audit.FormatJSON) && a.format != string(audit.FormatLegacy) {
			errs = append(errs, fmt.Errorf("--audit-log-format=%s: want json or legacy", a.format))
		}
		if min(a.maxAge, a.maxBackups, a.maxSize) < 0 {
			errs = append(errs, errors.New("--audit-log-maxage, --audit-log-maxbackup and --audit-log-maxsize must not be negative"))
		}
	}
	if a.webhookFile != "" {
		errs = append(errs, a.webhook.validate())
		if a.initialBackoff < 0 {
			errs = append(errs, fmt.Errorf("--audit-webhook-initial-backoff=%v: want no negative time", a.initialBackoff))
		}
	}
	return errors.Join(errs...)
}

func (b *auditBackend) validate() error {
	var errs []error
	bad := func(flag string, v any, want string) {
		errs = append(errs, fmt.Errorf("--audit-%s-%s=%v: want %s", b.name, flag, v, want))
	}
	modes := []string{auditBatch, auditBlocking, auditBlockingStrict}
	if !slices.Contains(modes, b.mode) {
		bad("mode", b.mode, strings.Join(modes, ", "))
	}
	if b.version != auditv1.GroupVersion.String() {
		bad("version", b.version, auditv1.GroupVersion.String())
	}
	if b.mode == auditBatch {
		if b.bufferSize <= 0 {
			bad("batch-buffer-size", b.bufferSize, "a positive number")
		}
		if b.maxSize <= 0 {
			bad("batch-max-size", b.maxSize, "a positive number")
		}
		if b.throttle && (b.qps <= 0 || math.IsInf(float64(b.qps), 0) || math.IsNaN(float64(b.qps))) {
			bad("batch-throttle-qps", b.qps, "a positive number")
		}
		if b.throttle && b.burst <= 0 {
			bad("batch-throttle-burst", b.burst, "a positive number")
		}
	}
	if b.maxEvent <= 0 {
		bad("truncate-max-event-size", b.maxEvent, "a positive number")
	}
	if b.maxBatch < b.maxEvent {
		bad("truncate-max-batch-size", b.maxBatch, "no less than the size of an event")
	}
	return errors.Join(errs...)
}

// open reads the policy and opens the backends. count is called with the numbers of lost events.
func (a *auditing) open(log *slog.Logger, m *apimetrics.Metrics) (audit.Options, error) {
	var o audit.Options
	a.lost = &auditLosses{log: log, count: m.AuditFailed}
	if a.policyFile == "" {
		if a.logPath != "" || a.webhookFile != "" {
			log.Warn("no --audit-policy-file: no requests are recorded")
		}
		return o, nil
	}
	text, err := os.ReadFile(a.policyFile)
	if err != nil {
		return o, fmt.Errorf("--audit-policy-file: %w", err)
	}
	if o.Policy, err = audit.ParsePolicy(text); err != nil {
		return o, fmt.Errorf("--audit-policy-file: %s: %w", a.policyFile, err)
	}
	var backends []audit.Backend
	if a.logPath != "" {
		out, err := a.openLog()
		if err != nil {
			return o, fmt.Errorf("--audit-log-path: %w", err)
		}
		l := audit.NewLog(out, audit.LogOptions{Format: audit.Format(a.format), Failed: a.lost.add})
		backends = append(backends, a.backend(&a.log, l, 1))
	}
	if a.webhookFile != "" {
		send, err := poster(kubeconfig.Options{Path: a.webhookFile}, m.Requests(), log)
		if err != nil {
			return o, fmt.Errorf("--audit-webhook-config-file: %w", err)
		}
		w := audit.NewWebhook(audit.WebhookOptions{InitialBackoff: a.initialBackoff, Failed: a.lost.add, Send: func(ctx context.Context, list []byte) error {
			_, err := send(ctx, list)
			return err
		}})
		backends = append(backends, a.backend(&a.webhook, w, webhookDeliveries))
	}
	if len(backends) == 0 {
		log.Warn("no requests are recorded: --audit-policy-file needs --audit-log-path or --audit-webhook-config-file")
		return audit.Options{}, nil
	}
	o.Backend = audit.Union(backends...)
	return o, nil
}

// backend returns the backend before another one that the flags describe.
func (a *auditing) backend(f *auditBackend, next audit.Backend, parallel int) audit.Backend {
	switch f.mode {
	case auditBatch:
		o := audit.BatchOptions{Buffer: f.bufferSize, Size: f.maxSize, Wait: f.maxWait, Parallel: parallel, Failed: a.lost.add}
		if f.throttle {
			o.QPS, o.Burst = float64(f.qps), f.burst
		}
		b := audit.NewBatch(next, o)
		a.batches = append(a.batches, b)
		next = b
	case auditBlocking:
		next = audit.Lenient(next)
	}
	if f.truncate {
		next = audit.Truncate(next, audit.TruncateOptions{MaxEvent: int(f.maxEvent), MaxBatch: int(f.maxBatch), Failed: a.lost.add})
	}
	return next
}

// openLog opens the file, so that one that cannot be written to is found at the start.
func (a *auditing) openLog() (io.Writer, error) {
	if a.logPath == "-" {
		return os.Stdout, nil
	}
	if err := os.MkdirAll(filepath.Dir(a.logPath), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(a.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if a.maxSize == 0 {
		a.file = f
		return f, nil
	}
	l := &lumberjack.Logger{Filename: a.logPath, MaxAge: a.maxAge, MaxBackups: a.maxBackups, MaxSize: a.maxSize, Compress: a.compress}
	a.file = l
	return l, f.Close()
}

// run passes on events until ctx ends, and then those that wait.
func (a *auditing) run(ctx context.Context) {
	var batches sync.WaitGroup
	for _, b := range a.batches {
		batches.Go(func() { _ = b.Run(ctx) }) // its error is always nil
	}
	batches.Wait()
	if a.file != nil {
		<-ctx.Done()
		if err := a.file.Close(); err != nil {
			a.lost.log.Error("closing the audit log failed", "err", err)
		}
	}
}

// auditLosses reports events that were not recorded: their number, and the reason once a second at most,
// because a full disk fails every request.
type auditLosses struct {
	log    *slog.Logger
	count  func(plugin string, events int)
	logged atomic.Int64 // Unix nanoseconds
}

func (l *auditLosses) add(plugin string, err error, events int) {
	l.count(plugin, events)
	now, last := time.Now().UnixNano(), l.logged.Load()
	if time.Duration(now-last) >= time.Second && l.logged.CompareAndSwap(last, now) {
		l.log.Error("recording audit events failed", "plugin", plugin, "events", events, "err", err)
	}
}
