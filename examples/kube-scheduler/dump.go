package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"

	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// dumper logs what the scheduler holds at each SIGUSR2, as upstream, where the system has that signal.
type dumper struct {
	scheduler *scheduler.Scheduler
	log       *slog.Logger
	signals   chan os.Signal
}

// newDumper returns a dumper. From now on the signal does not end the program.
func newDumper(s *scheduler.Scheduler, log *slog.Logger) dumper {
	d := dumper{s, log, make(chan os.Signal, 1)}
	if dumpSignal != nil {
		signal.Notify(d.signals, dumpSignal)
	}
	return d
}

// Run implements manager.Runnable.
func (d dumper) Run(ctx context.Context) error {
	defer signal.Stop(d.signals)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.signals:
			dump := d.scheduler.Dump()
			d.log.Info("dump of the scheduler", "differences", len(dump.Differences), "dump", dump.String())
		}
	}
}
