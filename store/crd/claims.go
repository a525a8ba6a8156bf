package crd

import (
	"context"
	"maps"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/cache"
)

// claims are the accepted names of every definition, by group. They follow snapshots of the definitions: an
// update decodes only the definitions that have changed since the previous one. Not safe for concurrent use.
type claims struct {
	snapshot *cache.Snapshot // the snapshot of the last update; nil before the first
	groups   map[string]*group
	byName   map[string]claim // by the definition's name
	// written holds what the controller wrote last to each definition, until a snapshot shows a change of it,
	// so that the controller's own writes are not decoded.
	written map[string]*definition
}

func newClaims() claims {
	return claims{groups: map[string]*group{}, byName: map[string]claim{}, written: map[string]*definition{}}
}

// claim is the accepted names of one definition.
type claim struct {
	group            string
	resources, kinds map[string]bool
	waiting          bool // for a name that belongs to another definition of the group
}

// group counts, for each name, the definitions of one group that have it.
type group struct {
	resources, kinds map[string]int
	waiting          map[string]bool // names of definitions
}

// taken are the accepted names of the other definitions of a group.
type taken struct {
	group *group // nil if the group has no definitions
	own   claim
}

func (t taken) resource(name string) bool {
	return t.group != nil && used(t.group.resources, t.own.resources, name)
}

func (t taken) kind(name string) bool {
	return t.group != nil && used(t.group.kinds, t.own.kinds, name)
}

func used(all map[string]int, own map[string]bool, name string) bool {
	n := all[name]
	if own[name] {
		n--
	}
	return n > 0
}

// taken returns the names of the definitions other than d.
func (c *claims) taken(d *definition) taken {
	return taken{group: c.groups[d.Spec.Group], own: c.byName[d.Name]}
}

// recordWrite notes a definition that the controller has written. The claims own d from then on.
func (c *claims) recordWrite(d *definition) { c.written[d.Name] = d }

// definitionOf returns the definition of o: the one that recordWrite was given if o is that write, or else
// the decoded one.
func (c *claims) definitionOf(ctx context.Context, o *cache.Object, decode func(context.Context, *cache.Object) (metav1.Object, error)) (*definition, error) {
	own := c.written[o.Name]
	delete(c.written, o.Name)
	if own != nil && own.ResourceVersion == strconv.FormatInt(o.Revision, 10) {
		return own, nil
	}
	obj, err := decode(ctx, o)
	if err != nil {
		return nil, err
	}
	return obj.(*definition), nil
}

// update brings the claims to the state of a snapshot, calls changed with every definition that has changed,
// and returns the definitions to reconcile again: those that wait for a name in a group that released one.
func (c *claims) update(ctx context.Context, snap *cache.Snapshot, decode func(context.Context, *cache.Object) (metav1.Object, error), changed func(*definition)) (again []string) {
	freed := map[string]bool{}
	for before, after := range snap.Changes(c.snapshot) {
		var now claim
		name := ""
		if after != nil {
			name = after.Name
			// An undecodable definition has no names.
			if d, err := c.definitionOf(ctx, after, decode); err == nil {
				changed(d)
				now = claimOf(d)
			}
		} else {
			name = before.Name
			delete(c.written, name)
		}
		if old := c.byName[name]; c.replace(name, old, now) {
			freed[old.group] = true
		}
	}
	c.snapshot = snap
	for name := range freed {
		if g := c.groups[name]; g != nil {
			for waiting := range maps.Keys(g.waiting) {
				again = append(again, waiting)
			}
		}
	}
	return again
}

// replace replaces a claim and reports whether a name was released.
func (c *claims) replace(name string, old, now claim) (freed bool) {
	if g := c.groups[old.group]; g != nil {
		freed = release(g.resources, old.resources, now.resources) || freed
		freed = release(g.kinds, old.kinds, now.kinds) || freed
		delete(g.waiting, name)
		if len(g.resources) == 0 && len(g.waiting) == 0 {
			delete(c.groups, old.group)
		}
	}
	delete(c.byName, name)
	if now.group == "" {
		return freed
	}
	g := c.groups[now.group]
	if g == nil {
		g = &group{resources: map[string]int{}, kinds: map[string]int{}, waiting: map[string]bool{}}
		c.groups[now.group] = g
	}
	for r := range now.resources {
		g.resources[r]++
	}
	for k := range now.kinds {
		g.kinds[k]++
	}
	if now.waiting {
		g.waiting[name] = true
	}
	c.byName[name] = now
	return freed
}

// release removes names from a count and reports whether one of them is not kept.
func release(count map[string]int, old, now map[string]bool) (freed bool) {
	for name := range old {
		if count[name]--; count[name] == 0 {
			delete(count, name)
		}
		freed = freed || !now[name]
	}
	return freed
}

func claimOf(d *definition) claim {
	n := &d.Status.AcceptedNames
	c := claim{group: d.Spec.Group, resources: map[string]bool{}, kinds: map[string]bool{}, waiting: !isTrue(d, apiextensionsv1.NamesAccepted)}
	for _, name := range append([]string{n.Plural, n.Singular}, n.ShortNames...) {
		c.resources[name] = true
	}
	c.kinds[n.Kind], c.kinds[n.ListKind] = true, true
	delete(c.resources, "")
	delete(c.kinds, "")
	return c
}
