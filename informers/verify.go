package informers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// InconsistentError reports that a copy differs from the server at the same version. It is a bug, here or in
// the server.
type InconsistentError struct {
	// Resource and the Version at which it was compared.
	Resource, Version string
	// Missing are on the server only, Extra in the copy only, Different have another version.
	Missing, Extra, Different []types.NamespacedName
}

// Error names the objects.
func (e *InconsistentError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "informers: the copy of %s at version %s differs from the server:", e.Resource, e.Version)
	for _, part := range []struct {
		what string
		keys []types.NamespacedName
	}{{"missing", e.Missing}, {"extra", e.Extra}, {"different", e.Different}} {
		if len(part.keys) > 0 {
			fmt.Fprintf(&b, " %s %v", part.what, part.keys)
		}
	}
	return b.String()
}

// Verify lists the collection at the version the copy has reached and compares, for tests and for monitoring.
// The error is an *InconsistentError if they differ. It costs a full list.
func (i *Informer[T]) Verify(ctx context.Context) error { return i.core.verify(ctx) }

// verifyEvery compares the copy with the server once each period until ctx ends, and reports differences and
// failures.
func (c *core[T]) verifyEvery(ctx context.Context, period time.Duration) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		if err := c.verify(ctx); err != nil && ctx.Err() == nil {
			c.fail(err)
		}
	}
}

func (c *core[T]) verify(ctx context.Context) error {
	if err := c.waitForSync(ctx); err != nil {
		return err
	}
	for _, s := range c.sources {
		if err := s.verify(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *source[T]) verify(ctx context.Context) error {
	c := s.core
	for {
		c.mu.RLock()
		version := s.version
		have := map[types.NamespacedName]string{}
		for ns, m := range c.byNamespace {
			if s.namespace != "" && s.namespace != ns {
				continue
			}
			for _, o := range m {
				have[o.key] = string(o.uid) + "@" + o.version
			}
		}
		c.mu.RUnlock()
		bad := &InconsistentError{Resource: c.name(), Version: version}
		o := client.ListOptions{
			Namespace: s.namespace, LabelSelector: c.opts.LabelSelector, FieldSelector: c.opts.FieldSelector,
			ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact, Limit: 500,
		}
		err := s.compare(ctx, o, have, bad)
		if apierrors.IsExpired(err) {
			// Either the copy has reached another version meanwhile, which is then compared, or there were no
			// changes for so long that the server has compacted the version.
			if c.hasPassed(s, version) {
				continue
			}
			return fmt.Errorf("informers: %s can no longer be compared at version %s: %w", c.name(), version, err)
		}
		if err != nil {
			return err
		}
		for k := range have {
			bad.Extra = append(bad.Extra, k)
		}
		if len(bad.Missing)+len(bad.Extra)+len(bad.Different) == 0 {
			return nil
		}
		slices.SortFunc(bad.Extra, types.NamespacedName.Compare)
		return bad
	}
}

// compare lists at a version and removes the keys the server has from have.
func (s *source[T]) compare(ctx context.Context, o client.ListOptions, have map[types.NamespacedName]string, bad *InconsistentError) error {
	for {
		page, err := s.core.client.ListEncoded(ctx, o, client.EncodedOptions{})
		if err != nil {
			return err
		}
		if len(page.Errors) > 0 {
			return &client.PartialError{Items: page.Errors}
		}
		for i := range page.Items {
			e := &page.Items[i]
			got, ok := have[e.Key]
			delete(have, e.Key)
			switch {
			case !ok:
				bad.Missing = append(bad.Missing, e.Key)
			case got != string(e.UID)+"@"+e.ResourceVersion:
				bad.Different = append(bad.Different, e.Key)
			}
		}
		if o.Continue = page.Continue; o.Continue == "" {
			return nil
		}
		o.ResourceVersion, o.ResourceVersionMatch = "", ""
	}
}

func (c *core[T]) hasPassed(s *source[T], version string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return s.version != version
}
