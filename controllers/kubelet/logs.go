package kubelet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// A line of a log file is TIME STREAM TAG CONTENT; the tag P marks a part of a longer line.

// logPollInterval is how often a followed log is looked at for more.
const logPollInterval = 100 * time.Millisecond

// errMalformedLog reports a line that is not in the runtime's format.
var errMalformedLog = errors.New("log line is not in the CRI format")

type logLine struct {
	at      time.Time
	stamp   string
	stream  string
	partial bool
	text    []byte // with the line end, if the line is whole
}

func parseLogLine(b []byte) (logLine, error) {
	var l logLine
	whole := bytes.HasSuffix(b, []byte("\n"))
	b = bytes.TrimSuffix(b, []byte("\n"))
	stamp, rest, ok := bytes.Cut(b, []byte(" "))
	if !ok {
		return l, errMalformedLog
	}
	stream, rest, ok := bytes.Cut(rest, []byte(" "))
	if !ok || string(stream) != "stdout" && string(stream) != "stderr" {
		return l, errMalformedLog
	}
	tag, text, _ := bytes.Cut(rest, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return l, errMalformedLog
	}
	first, _, _ := bytes.Cut(tag, []byte(":"))
	l = logLine{at: at, stamp: string(stamp), stream: string(stream), partial: string(first) == "P"}
	l.text = bytes.Clone(text)
	if whole && !l.partial {
		l.text = append(l.text, '\n')
	}
	return l, nil
}

// logWindow says which lines are wanted.
type logWindow struct {
	since      time.Time
	tail       int64 // -1: all
	timestamps bool
	stream     string // stdout, stderr or both if empty
}

func windowOf(opts *corev1.PodLogOptions, now time.Time) logWindow {
	w := logWindow{tail: -1, timestamps: opts.Timestamps}
	if opts.TailLines != nil {
		w.tail = *opts.TailLines
	}
	switch {
	case opts.SinceSeconds != nil:
		w.since = now.Add(-time.Duration(*opts.SinceSeconds) * time.Second)
	case opts.SinceTime != nil:
		w.since = opts.SinceTime.Time
	}
	if opts.Stream != nil && *opts.Stream != "All" {
		w.stream = strings.ToLower(*opts.Stream)
	}
	return w
}

// copyLog writes a log file. With follow it goes on until the container has ended and all is written, or ctx
// ends.
func copyLog(ctx context.Context, path string, w logWindow, follow bool, running func() bool, out io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("failed to try resolving symlinks in path %q: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	if w.tail >= 0 {
		start, err := tailStart(f, w.tail)
		if err != nil {
			return err
		}
		if _, err := f.Seek(start, io.SeekStart); err != nil {
			return err
		}
	}
	r := bufio.NewReader(f)
	var pending []byte
	begin := true // of a line as the container wrote it
	ended := false
	for {
		b, err := r.ReadBytes('\n')
		pending = append(pending, b...)
		if err == nil {
			l, perr := parseLogLine(pending)
			pending = pending[:0]
			if perr != nil {
				continue
			}
			if (w.stream == "" || w.stream == l.stream) && !l.at.Before(w.since) {
				if w.timestamps && begin {
					if _, err := io.WriteString(out, l.stamp+" "); err != nil {
						return err
					}
				}
				if _, err := out.Write(l.text); err != nil {
					return err
				}
			}
			begin = !l.partial
			continue
		}
		if err != io.EOF {
			return err
		}
		if !follow || ended {
			return nil
		}
		if fresh, ok := rotated(f, path); ok {
			_ = f.Close()
			f, r, pending = fresh, bufio.NewReader(fresh), nil
			continue
		}
		if !running() {
			ended = true // what it wrote last may have come after the end of file just seen
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(logPollInterval):
		}
	}
}

// rotated opens the file that has taken the place of f.
func rotated(f *os.File, path string) (*os.File, bool) {
	old, err := f.Stat()
	if err != nil {
		return nil, false
	}
	now, err := os.Stat(path)
	if err != nil || os.SameFile(old, now) {
		return nil, false
	}
	fresh, err := os.Open(path)
	return fresh, err == nil
}

// tailStart finds where the last n lines begin.
func tailStart(f *os.File, n int64) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	end := info.Size()
	if n == 0 {
		return end, nil
	}
	buf := make([]byte, 32<<10)
	lines := int64(0)
	for at := end; at > 0; {
		size := min(int64(len(buf)), at)
		at -= size
		b := buf[:size]
		if _, err := f.ReadAt(b, at); err != nil && err != io.EOF {
			return 0, err
		}
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] != '\n' || at+int64(i) == end-1 {
				continue
			}
			if lines++; lines == n {
				return at + int64(i) + 1, nil
			}
		}
	}
	return 0, nil
}

// logTail is the end of a log, at most so many lines and bytes; empty if it cannot be read.
func logTail(path string, lines, size int) string {
	var b bytes.Buffer
	err := copyLog(context.Background(), path, logWindow{tail: int64(lines)}, false, nil, &b)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	out := b.Bytes()
	if len(out) > size {
		out = out[len(out)-size:]
	}
	return string(out)
}
