package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// WithFieldValidation returns a connection whose creates, updates and patches are checked for unknown and
// duplicate fields by the given level, unless their options name another: "Strict" refuses the request,
// "Warn" returns warnings, "Ignore" drops the fields.
func WithFieldValidation(c Conn, level string) Conn {
	return Edit(c, func(r *Request) {
		switch r.Verb() {
		case "create", "update", "patch":
			if r.Path == "" && !r.Query.Has("fieldValidation") {
				setQuery(r, "fieldValidation", level)
			}
		}
	})
}

// setQuery sets a parameter of a request whose Query may be shared.
func setQuery(r *Request, key, value string) {
	q := maps.Clone(r.Query)
	if q == nil {
		q = url.Values{}
	}
	q.Set(key, value)
	r.Query = q
}

// ErrNotDry reports a request that a connection of [DryRun] has not sent, because the server could not answer
// it without an effect.
var ErrNotDry = errors.New("client: not possible in a dry run")

// DryRun returns a connection whose writes are checked and answered by the server, admission included, but
// not stored. What the server has no dry run for fails with [ErrNotDry]: writes by Path, and the subresources
// proxy, exec, attach and portforward.
func DryRun(c Conn) Conn { return dryConn{wrappedConn{c}} }

type dryConn struct{ wrappedConn }

// Do implements Conn.
func (d dryConn) Do(ctx context.Context, r *Request) (*Response, error) {
	dry, err := dryRequest(r)
	if err != nil {
		return nil, err
	}
	return d.Conn.Do(ctx, dry)
}

// Stream implements Conn.
func (d dryConn) Stream(ctx context.Context, r *Request) (*Stream, error) {
	dry, err := dryRequest(r)
	if err != nil {
		return nil, err
	}
	return d.Conn.Stream(ctx, dry)
}

// Upgrade implements Upgrader.
func (d dryConn) Upgrade(_ context.Context, r *Request) (*Upgraded, error) {
	return nil, fmt.Errorf("%w: upgrade of %s", ErrNotDry, r.URLPath())
}

// dryRequest returns r, or a copy that is a dry run.
func dryRequest(r *Request) (*Request, error) {
	verb := r.Verb()
	if slices.Contains([]string{"get", "list", "watch"}, verb) && !connects(r) {
		return r, nil
	}
	if r.Path != "" || connects(r) {
		return nil, fmt.Errorf("%w: %s of %s", ErrNotDry, verb, r.URLPath())
	}
	dry := *r
	setQuery(&dry, "dryRun", metav1.DryRunAll)
	if len(r.Body) == 0 || verb != "delete" && verb != "deletecollection" {
		return &dry, nil
	}
	// The server reads the options of a delete from its body only, if there is one.
	var options map[string]any
	if err := json.Unmarshal(r.Body, &options); err != nil {
		return nil, fmt.Errorf("%w: options of %s of %s: %w", ErrNotDry, verb, r.URLPath(), err)
	}
	options["dryRun"] = []string{metav1.DryRunAll}
	var err error
	dry.Body, err = json.Marshal(options)
	return &dry, err
}

// connects reports whether a request is passed on to a pod, a service or a node.
func connects(r *Request) bool {
	name, _, _ := strings.Cut(r.Subresource, "/")
	return slices.Contains([]string{"proxy", "exec", "attach", "portforward"}, name)
}
