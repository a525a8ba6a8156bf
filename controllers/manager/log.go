package manager

import (
	"context"
	"log/slog"
)

// warnings is a handler that passes records of level Warn and above to the slog.Default() of the time they
// are logged.
type warnings struct {
	with func(slog.Handler) slog.Handler // adds attributes and groups; may be nil
}

func (w warnings) handler() slog.Handler {
	h := slog.Default().Handler()
	if w.with != nil {
		h = w.with(h)
	}
	return h
}

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && slog.Default().Handler().Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (w warnings) Handle(ctx context.Context, r slog.Record) error { return w.handler().Handle(ctx, r) }

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return w.and(func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler {
	return w.and(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (w warnings) and(more func(slog.Handler) slog.Handler) warnings {
	previous := w.with
	return warnings{with: func(h slog.Handler) slog.Handler {
		if previous != nil {
			h = previous(h)
		}
		return more(h)
	}}
}
