package stream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// LogOptions select a part of a container's output.
type LogOptions struct {
	// Container in the pod; empty means its only or default one.
	Container string
	// Follow also reads future output, until the container ends.
	Follow bool
	// Previous reads the output of the container's previous run.
	Previous bool
	// Since limits the output to the given time before now, SinceTime to that after a time; at most one may
	// be set.
	Since     time.Duration
	SinceTime time.Time
	// Tail is the number of existing lines to read, from the end; nil means all.
	Tail *int64
	// LimitBytes is the maximum size of the output in bytes; 0 means no limit.
	LimitBytes int64
	// Timestamps prefixes each line with its time.
	Timestamps bool
	// Stream is All, Stdout or Stderr; empty means All.
	Stream string
}

func (o *LogOptions) query() (url.Values, error) {
	if o.Since != 0 && !o.SinceTime.IsZero() {
		return nil, errors.New("stream: Since and SinceTime exclude each other")
	}
	q := url.Values{}
	flag := func(name string, on bool) {
		if on {
			q.Set(name, "true")
		}
	}
	flag("follow", o.Follow)
	flag("previous", o.Previous)
	flag("timestamps", o.Timestamps)
	if o.Container != "" {
		q.Set("container", o.Container)
	}
	if o.Since > 0 {
		// Rounded up, so that no requested line is omitted.
		q.Set("sinceSeconds", strconv.FormatInt(int64((o.Since+time.Second-1)/time.Second), 10))
	}
	if !o.SinceTime.IsZero() {
		q.Set("sinceTime", o.SinceTime.UTC().Format(time.RFC3339))
	}
	if o.Tail != nil {
		q.Set("tailLines", strconv.FormatInt(*o.Tail, 10))
	}
	if o.LimitBytes > 0 {
		q.Set("limitBytes", strconv.FormatInt(o.LimitBytes, 10))
	}
	if o.Stream != "" {
		q.Set("stream", o.Stream)
	}
	return q, nil
}

// Logs returns the output of a container, with Follow including future output. The reader must be closed.
func Logs(ctx context.Context, c client.Conn, pod types.NamespacedName, opts LogOptions) (io.ReadCloser, error) {
	q, err := opts.query()
	if err != nil {
		return nil, err
	}
	s, err := c.Stream(ctx, &client.Request{Resource: pods, Namespace: pod.Namespace, Name: pod.Name, Subresource: "log", Query: q, Accept: "text/plain, */*"})
	if err != nil {
		return nil, fmt.Errorf("stream: logs of %s: %w", pod, err)
	}
	return s.Body, nil
}

// maxLine is the maximum length of a line in bytes; longer ones are yielded in parts.
const maxLine = 1 << 20

// LogLines iterates over the lines of Logs, without their line ends.
func LogLines(ctx context.Context, c client.Conn, pod types.NamespacedName, opts LogOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		body, err := Logs(ctx, c, pod, opts)
		if err != nil {
			yield("", err)
			return
		}
		defer body.Close()
		r := bufio.NewReaderSize(body, 64<<10)
		var line []byte
		for {
			part, err := r.ReadSlice('\n')
			line = append(line, part...)
			if errors.Is(err, bufio.ErrBufferFull) && len(line) < maxLine {
				continue
			}
			if n := len(line); n > 0 && line[n-1] == '\n' {
				line = line[:n-1]
				if !yield(string(line), nil) {
					return
				}
				line = line[:0]
			} else if n > 0 && (err != nil) {
				if !yield(string(line), nil) {
					return
				}
				line = line[:0]
			}
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				if !errors.Is(err, io.EOF) && ctx.Err() == nil {
					yield("", fmt.Errorf("stream: logs of %s: %w", pod, err))
				}
				return
			}
		}
	}
}
