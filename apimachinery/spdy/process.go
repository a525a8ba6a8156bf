package spdy

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// MaxStatus is the maximum size of the status at a process's end, in bytes; the rest is cut off.
const MaxStatus = 1 << 20

// Process are the streams of a process. Those that are nil are not opened.
type Process struct {
	// Stdin is read until io.EOF.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Resize writes sizes of the terminal, in JSON, until ctx ends.
	Resize func(ctx context.Context, w io.Writer)
}

// Sizes is a Process.Resize that writes what arrives on a channel, until that is closed.
func Sizes[S any](sizes <-chan S) func(context.Context, io.Writer) {
	return func(ctx context.Context, w io.Writer) {
		enc := json.NewEncoder(w)
		for {
			select {
			case s, ok := <-sizes:
				if !ok || enc.Encode(s) != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// Run carries the streams of a process until it has ended, and returns what the peer reports of the end. It
// ends the connection. A Read of Stdin that is under way continues until it returns by itself.
func (c *Conn) Run(ctx context.Context, p Process) ([]byte, error) {
	r := &run{Process: p, conn: c}
	stop := context.AfterFunc(ctx, c.Abort)
	defer stop()
	over, cancel := context.WithCancel(ctx)
	status, err := r.follow(over)
	cancel()
	c.End()
	r.outputs.Wait()
	r.resizes.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case r.failure != nil:
		return nil, r.failure
	}
	return status, err
}

// run is a process whose streams are being carried.
type run struct {
	Process
	conn             *Conn
	outputs, resizes sync.WaitGroup

	once    sync.Once
	failure error // of writing an output
}

// follow opens the streams, in the order servers expect them, and carries them until the process has ended.
// It returns the content of the error stream. Those that are only read are not closed: what a peer has not
// read when it closes the connection makes TCP drop the status that is still on its way.
func (r *run) follow(ctx context.Context) ([]byte, error) {
	errs, err := r.open("error")
	if err != nil {
		return nil, err
	}
	var stdin, resize *Stream
	if r.Stdin != nil {
		if stdin, err = r.open("stdin"); err != nil {
			return nil, err
		}
	}
	if err := r.output("stdout", r.Stdout); err != nil {
		return nil, err
	}
	if err := r.output("stderr", r.Stderr); err != nil {
		return nil, err
	}
	if r.Resize != nil {
		if resize, err = r.open("resize"); err != nil {
			return nil, err
		}
		r.resizes.Go(func() { r.Resize(ctx, resize) })
	}
	if stdin != nil {
		// Not waited for: its Read may never return.
		go func() {
			_, _ = io.Copy(stdin, r.Stdin)
			_ = stdin.Close()
		}()
	}
	status, err := io.ReadAll(io.LimitReader(errs, MaxStatus))
	r.outputs.Wait()
	return status, err
}

func (r *run) open(kind string) (*Stream, error) {
	return r.conn.Open(http.Header{"Streamtype": {kind}})
}

// output copies an output of the process to w, if that is not nil.
func (r *run) output(kind string, w io.Writer) error {
	if w == nil {
		return nil
	}
	st, err := r.open(kind)
	if err != nil {
		return err
	}
	r.outputs.Go(func() {
		if _, err := io.Copy(w, st); err != nil {
			r.once.Do(func() { r.failure = err })
			r.conn.Abort()
		}
	})
	return nil
}
