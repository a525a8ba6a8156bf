package component

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// Logging is how much is logged to standard error, and in which format.
type Logging struct {
	Verbosity int
	// Format is text or json; empty means text.
	Format string
}

// Flags registers the flags; the defaults are the values of l.
func (l *Logging) Flags(f *pflag.FlagSet) {
	if l.Format == "" {
		l.Format = "text"
	}
	f.IntVarP(&l.Verbosity, "v", "v", l.Verbosity, "log verbosity: 0 warnings, 2 information, 4 debugging")
	f.StringVar(&l.Format, "logging-format", l.Format, "format of the log: text, or json: an object a line with ts (milliseconds since 1970), level, v (verbosity), msg and more keys")
	NoEffect(f, map[string]string{"log-flush-frequency": "the log is not buffered"})
	Refuse(f, map[string]string{
		"vmodule":                   "verbosity is the same for all files: use -v",
		"log-text-split-stream":     "the log is one stream, standard error",
		"log-text-info-buffer-size": "the log is not buffered",
		"log-json-split-stream":     "the log is one stream, standard error",
		"log-json-info-buffer-size": "the log is not buffered",
	})
}

// Validate checks the format.
func (l *Logging) Validate() error {
	if l.Format != "" && l.Format != "text" && l.Format != "json" {
		return fmt.Errorf("--logging-format=%s: want text or json", l.Format)
	}
	return nil
}

// Logger logs to standard error.
func (l *Logging) Logger() *slog.Logger { return l.logger(os.Stderr, levelOf(l.Verbosity)) }

// Adjustable logs to standard error as well. set changes the verbosity, and may be called at any time.
func (l *Logging) Adjustable() (log *slog.Logger, set func(verbosity int)) {
	level := &slog.LevelVar{}
	level.Set(levelOf(l.Verbosity))
	return l.logger(os.Stderr, level), func(verbosity int) { level.Set(levelOf(verbosity)) }
}

func levelOf(verbosity int) slog.Level {
	switch {
	case verbosity >= 4:
		return slog.LevelDebug
	case verbosity >= 2:
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

func (l *Logging) logger(w io.Writer, level slog.Leveler) *slog.Logger {
	if l.Format != "json" {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: jsonKeys}))
}

// jsonKeys writes the keys of Kubernetes' JSON logs, which those who collect them know: ts in milliseconds,
// and v, which errors and warnings do not have.
func jsonKeys(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		return slog.Float64("ts", float64(a.Value.Time().UnixMicro())/1000)
	case slog.LevelKey:
		switch level, _ := a.Value.Any().(slog.Level); {
		case level >= slog.LevelWarn:
			return slog.String("level", strings.ToLower(level.String()))
		case level >= slog.LevelInfo:
			return slog.Int("v", 2)
		}
		return slog.Int("v", 4)
	}
	return a
}

// Logger logs text to standard error at the level of -v.
func Logger(verbosity int) *slog.Logger { return (&Logging{Verbosity: verbosity}).Logger() }
