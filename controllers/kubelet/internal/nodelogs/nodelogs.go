// Package nodelogs serves the logs of a machine: the files of a directory and, if queries are on, what its
// services have logged.
package nodelogs

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// The limits of a query.
const (
	maxLines    = 100000
	maxServices = 4
	maxName     = 256
	// timeout bounds how long a query takes.
	timeout = 30 * time.Second
)

// Files serves the files below dir.
func Files(dir string) http.Handler { return http.FileServer(http.Dir(dir)) }

// Queries is Files for requests without parameters. With them a request is for the logs of services
// (query=kubelet), from the journal if it has the service, or else from files of that name in dir, or for one
// file (query=/name). Programs are found by PATH.
func Queries(dir string) http.Handler {
	files := Files(dir)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, errs := parse(r.URL.Query())
		switch {
		case len(errs) > 0:
			http.Error(w, errs.String(), http.StatusBadRequest)
			return
		case q == nil:
			files.ServeHTTP(w, r)
			return
		case r.URL.Path != "/" && r.URL.Path != "":
			http.Error(w, "path not allowed in query mode", http.StatusNotAcceptable)
			return
		}
		if errs := q.check(dir); len(errs) > 0 {
			http.Error(w, errs.String(), http.StatusNotAcceptable)
			return
		}
		if len(q.files) == 1 {
			r = r.Clone(r.Context())
			r.URL.Path = q.files[0]
			files.ServeHTTP(w, r)
			return
		}
		q.serve(w, r, dir)
	})
}

// query is what a request is for.
type query struct {
	services, files []string
	since, until    *time.Time
	lines, boot     *int
	pattern         string
}

// parse reads the parameters; nil without any.
func parse(values url.Values) (*query, validation.ErrorList) {
	q := &query{pattern: values.Get("pattern")}
	var errs validation.ErrorList
	names, ok := values["query"]
	for _, s := range names {
		if strings.ContainsAny(s, `/\`) {
			q.files = append(q.files, s)
		} else if strings.TrimSpace(s) != "" {
			q.services = append(q.services, s)
		}
	}
	if ok && len(q.files)+len(q.services) == 0 {
		errs = append(errs, validation.Invalid(validation.NewPath("query"), names, "may not be empty"))
	}
	moment := func(name string) *time.Time {
		v := values.Get(name)
		if v == "" {
			return nil
		}
		t, err := time.Parse(time.RFC3339, v)
		if err != nil {
			errs = append(errs, validation.Invalid(validation.NewPath(name), v, "invalid time format"))
		}
		return &t
	}
	number := func(name string) *int {
		v := values.Get(name)
		if v == "" {
			return nil
		}
		n, err := strconv.Atoi(v)
		if err != nil {
			errs = append(errs, validation.Invalid(validation.NewPath(name), v, err.Error()))
		}
		return &n
	}
	q.since, q.until, q.boot, q.lines = moment("sinceTime"), moment("untilTime"), number("boot"), number("tailLines")
	if !q.narrowed() && len(q.files)+len(q.services) == 0 {
		return nil, errs
	}
	return q, errs
}

// narrowed reports whether the request is for a part of the log.
func (q *query) narrowed() bool {
	return q.since != nil || q.until != nil || q.lines != nil || q.boot != nil || q.pattern != ""
}

// unsafe are characters of names that could mean something to programs.
var unsafe = regexp.MustCompile(`[^a-zA-Z\-_.:0-9@]+`)

// check refuses what cannot be answered.
func (q *query) check(dir string) (errs validation.ErrorList) {
	path := validation.NewPath("query")
	for _, s := range q.services {
		if len(s) > maxName {
			errs = append(errs, validation.Invalid(path, s, fmt.Sprintf("length must be less than %d", maxName)))
		} else if unsafe.MatchString(s) {
			errs = append(errs, validation.Invalid(path, s, "input contains unsupported characters"))
		}
	}
	if len(q.services) > maxServices {
		errs = append(errs, validation.TooMany(path, len(q.services), maxServices))
	}
	switch {
	case len(q.files)+len(q.services) == 0:
		errs = append(errs, validation.Required(path, "cannot be empty with options"))
	case len(q.files) > 0 && len(q.services) > 0:
		errs = append(errs, validation.Invalid(path, fmt.Sprintf("%v, %v", q.files, q.services), "cannot specify a file and service"))
	case len(q.files) > 1:
		errs = append(errs, validation.Invalid(path, q.files, "cannot specify more than one file"))
	case len(q.files) == 1 && q.narrowed():
		errs = append(errs, validation.Invalid(path, q.files, "cannot specify file with options"))
	case len(q.files) == 1:
		if err := within(dir, q.files[0]); err != nil {
			errs = append(errs, validation.Invalid(path, q.files, err.Error()))
		}
	}
	if q.since != nil && q.until != nil && q.since.After(*q.until) {
		errs = append(errs, validation.Invalid(validation.NewPath("untilTime"), q.until, "must be after `sinceTime`"))
	}
	if q.boot != nil && *q.boot > 0 {
		errs = append(errs, validation.Invalid(validation.NewPath("boot"), *q.boot, "must be less than 1"))
	}
	if q.lines != nil && (*q.lines < 0 || *q.lines > maxLines) {
		errs = append(errs, validation.Invalid(validation.NewPath("tailLines"), *q.lines, fmt.Sprintf("must be between 0 and %d, inclusive", maxLines)))
	}
	if _, err := syntax.Parse(q.pattern, syntax.Perl); err != nil {
		errs = append(errs, validation.Invalid(validation.NewPath("pattern"), q.pattern, err.Error()))
	}
	return errs
}

// within returns an error if dir has no such file, or a link to it leads out of dir.
func within(dir, file string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	_, err = root.Stat(file)
	return err
}

// serve writes the logs of the services.
func (q *query) serve(w http.ResponseWriter, r *http.Request, dir string) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	var out io.Writer = w
	w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
	if r.Header.Get("Accept-Encoding") == "gzip" {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		out = z
	}
	var journaled, others []string
	units, err := exec.CommandContext(ctx, "journalctl", "--field", "_SYSTEMD_UNIT").CombinedOutput()
	for _, s := range q.services {
		if err == nil && strings.Contains(string(units), s+".service") {
			journaled = append(journaled, s)
		} else {
			others = append(others, s)
		}
	}
	if len(journaled) > 0 {
		q.journal(ctx, out, journaled)
	}
	if len(others) > 0 && q.narrowed() {
		fmt.Fprintf(out, "\noptions present and query resolved to log files for %v\ntry without specifying options\n", others)
		return
	}
	for _, s := range others {
		if ctx.Err() != nil {
			fmt.Fprintf(out, "\ncontext error: %v\n", ctx.Err())
			return
		}
		copyService(ctx, out, dir, s)
	}
}

// journal writes what the journal has of services.
func (q *query) journal(ctx context.Context, out io.Writer, services []string) {
	const layout = "2006-1-2 15:4:5"
	args := []string{"--utc", "--no-pager", "--output=short-precise"}
	if q.since != nil {
		args = append(args, "--since="+q.since.Format(layout))
	}
	if q.until != nil {
		args = append(args, "--until="+q.until.Format(layout))
	}
	if q.lines != nil {
		args = append(args, "--pager-end", "--lines="+strconv.Itoa(*q.lines))
	}
	for _, s := range services {
		args = append(args, "--unit="+s)
	}
	if q.pattern != "" {
		args = append(args, "--grep="+q.pattern)
	}
	if q.boot != nil {
		args = append(args, "--boot", strconv.Itoa(*q.boot))
	}
	cmd := exec.CommandContext(ctx, "journalctl", args...)
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended && (q.boot == nil || *q.boot == 0) {
		fmt.Fprintf(out, "\nerror: journal output not available\n")
	}
}

// copyService writes the first of the files that a service may log to.
func copyService(ctx context.Context, out io.Writer, dir, service string) {
	var err error
	for _, name := range []string{service, service + ".log", service + "/" + service + ".log"} {
		if err = copyFile(ctx, out, dir, name); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		fmt.Fprintf(out, "\nlog not found for %s\n", service)
	case err != nil:
		fmt.Fprintf(out, "\nerror getting log for %s: %v\n", service, err)
	}
}

func copyFile(ctx context.Context, out io.Writer, dir, name string) error {
	f, err := os.OpenInRoot(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return err
	} else if info.IsDir() {
		return os.ErrNotExist
	}
	defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	_, err = io.Copy(out, f)
	return cmp.Or(ctx.Err(), err)
}
