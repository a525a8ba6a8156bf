package kubelet

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
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
// ends, also when the file is replaced.
func copyLog(ctx context.Context, path string, w logWindow, follow bool, running func() bool, out io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("failed to try resolving symlinks in path %q: %w", path, err)
	}
	in := &followed{path: path, file: f, r: bufio.NewReader(f)}
	defer in.close()
	if w.tail >= 0 {
		start, err := tailStart(f, w.tail)
		if err != nil {
			return err
		}
		if _, err := f.Seek(start, io.SeekStart); err != nil {
			return err
		}
	}
	c := &lineCopier{window: w, out: out, begin: true}
	ended, replaced := false, false
	for {
		b, err := in.r.ReadBytes('\n')
		c.pending = append(c.pending, b...)
		if err == nil {
			if err := c.copy(); err != nil {
				return err
			}
			continue
		}
		switch {
		case err != io.EOF:
			return err
		case !follow:
			return nil
		case replaced:
			// It was by the time of the last look, so this file is complete.
			if err := in.advance(); err != nil {
				return err
			}
			c.pending, replaced = c.pending[:0], false
			continue
		}
		if replaced = in.replaced(); !replaced {
			if ended {
				return nil
			}
			if !running() {
				ended = true // what it wrote last may have come after the end of file just seen
				continue
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(logPollInterval):
		}
	}
}

// lineCopier writes the lines of a log that are wanted.
type lineCopier struct {
	window  logWindow
	out     io.Writer
	pending []byte // of the line that is being read
	begin   bool   // of a line as the container wrote it
}

// copy writes the pending line, which is complete. A line in another format is left out.
func (c *lineCopier) copy() error {
	l, err := parseLogLine(c.pending)
	c.pending = c.pending[:0]
	if err != nil {
		return nil //nolint:nilerr // as documented
	}
	if (c.window.stream == "" || c.window.stream == l.stream) && !l.at.Before(c.window.since) {
		if c.window.timestamps && c.begin {
			if _, err := io.WriteString(c.out, l.stamp+" "); err != nil {
				return err
			}
		}
		if _, err := c.out.Write(l.text); err != nil {
			return err
		}
	}
	c.begin = !l.partial
	return nil
}

// followed is the log of a container, whose file is replaced from time to time.
type followed struct {
	path string // of the newest file
	file *os.File
	r    *bufio.Reader
	name string // of file once it has been replaced
}

func (f *followed) close() { _ = f.file.Close() }

// replaced reports whether another file has taken the place of the one that is read.
func (f *followed) replaced() bool {
	old, err := f.file.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(f.path)
	if err != nil {
		return false // the runtime is about to make it
	}
	return f.name != "" || !os.SameFile(old, now)
}

// advance goes on to the next file: the one that was begun after the one that has been read, which is the
// newest unless the reader is slow.
func (f *followed) advance() error {
	names := replacedLogs(f.path)
	at := slices.Index(names, f.name)
	if f.name == "" {
		at = slices.IndexFunc(names, func(name string) bool { return f.is(name) })
	} else if at < 0 {
		at = slices.Index(names, f.name+gzipSuffix)
	}
	name := f.path
	if at >= 0 && at+1 < len(names) {
		name = names[at+1]
	}
	next, err := os.Open(name)
	if err != nil {
		return err
	}
	_ = f.file.Close()
	f.file, f.r, f.name = next, bufio.NewReader(next), ""
	if name == f.path {
		return nil
	}
	f.name = name
	if strings.HasSuffix(name, gzipSuffix) {
		z, err := gzip.NewReader(next)
		if err != nil {
			return err
		}
		f.r = bufio.NewReader(z)
	}
	return nil
}

// is reports whether name is the file that is read.
func (f *followed) is(name string) bool {
	a, err := f.file.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(name)
	return err == nil && os.SameFile(a, b)
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
