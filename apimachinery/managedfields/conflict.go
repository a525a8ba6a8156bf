package managedfields

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Conflict is a field that an apply would change although another manager owns it.
type Conflict struct {
	// Manager owns the field, through Operation in APIVersion and Subresource, since Time (nil if unknown).
	Manager     string
	Operation   metav1.ManagedFieldsOperationType
	APIVersion  string
	Subresource string
	Time        *metav1.Time
	// Path of the field.
	Path Path
}

// Owner describes the manager as in messages, which do not include the time.
func (c *Conflict) Owner() string {
	s := fmt.Sprintf("%q", c.Manager)
	if c.Subresource != "" {
		s += fmt.Sprintf(" with subresource %q", c.Subresource)
	}
	if c.Operation == metav1.ManagedFieldsOperationUpdate {
		s += " using " + c.APIVersion
	}
	return s
}

// ConflictError lists the fields that an apply without force must not change.
type ConflictError struct {
	// Conflicts in the order of managers, then paths.
	Conflicts []Conflict
}

func (e *ConflictError) Error() string {
	if len(e.Conflicts) == 1 {
		c := &e.Conflicts[0]
		return fmt.Sprintf("Apply failed with 1 conflict: conflict with %s: %s", c.Owner(), c.Path)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Apply failed with %d conflicts:", len(e.Conflicts))
	last := ""
	for i := range e.Conflicts {
		c := &e.Conflicts[i]
		if by := c.Owner(); by != last {
			if i > 0 {
				b.WriteByte('\n')
			} else {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "conflicts with %s:", by)
			last = by
		}
		fmt.Fprintf(&b, "\n- %s", c.Path)
	}
	return b.String()
}

// Causes returns the conflicts as the causes of a Status.
func (e *ConflictError) Causes() []metav1.StatusCause {
	out := make([]metav1.StatusCause, len(e.Conflicts))
	for i := range e.Conflicts {
		c := &e.Conflicts[i]
		out[i] = metav1.StatusCause{
			Type: metav1.CauseTypeFieldManagerConflict, Message: "conflict with " + c.Owner(), Field: c.Path.String(),
		}
	}
	return out
}

func (e *ConflictError) add(from *entry, s *Set) {
	s.Each(func(p Path) {
		e.Conflicts = append(e.Conflicts, Conflict{
			Manager: from.owner.manager, Operation: from.owner.operation, APIVersion: from.version,
			Subresource: from.owner.subresource, Time: from.time, Path: slices.Clone(p),
		})
	})
}

// sort brings the conflicts into the order of their managers. Of one manager's, those of applies come first,
// and those of subresources before the main resource's.
func (e *ConflictError) sort() {
	slices.SortStableFunc(e.Conflicts, func(a, b Conflict) int {
		versions := 0
		if a.Operation == metav1.ManagedFieldsOperationUpdate {
			versions = cmp.Compare(a.APIVersion, b.APIVersion)
		}
		main := 0
		if a.Subresource == "" || b.Subresource == "" {
			main = cmp.Compare(b.Subresource, a.Subresource)
		}
		return cmp.Or(cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.Operation, b.Operation), versions, main, cmp.Compare(a.Subresource, b.Subresource))
	})
}
