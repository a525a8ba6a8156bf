package admission

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// ownerPermissions protects objects from users who may write but not delete them. A change of the owners of
// an object, because of which the garbage collector may delete it, needs the right to delete the object; one
// that lets it block the deletion of an owner needs the right to write the finalizers of that owner.
type ownerPermissions struct {
	named
	access Access
	o      Options
}

func newOwnerPermissions(access Access, o Options) Plugin {
	return &ownerPermissions{named{"OwnerReferencesPermissionEnforcement", []Operation{Create, Update}}, access, o}
}

func (p *ownerPermissions) Validate(ctx context.Context, a *Attributes) error {
	if a.Object == nil || a.Resource == core("pods") && a.Subresource == "status" {
		return nil // the status of a pod is written by its node, which may not delete every pod
	}
	var had []metav1.OwnerReference
	if a.Old != nil {
		had = metav1.MetaOf(a.Old).OwnerReferences
	}
	has := metav1.MetaOf(a.Object).OwnerReferences
	if len(has)+len(had) == 0 || codec.Equal(&has, &had) {
		return nil
	}
	// Who creates an object could have left it out, which is as good as deleting it.
	if a.Operation != Create {
		check := cel.Check{Verb: "delete", Group: a.Resource.Group, Resource: a.Resource.Resource, Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name}
		if d := p.allowed(ctx, a, check); !d.Allowed {
			return forbid(a, "cannot set an ownerRef on a resource you can't delete: %s, %v", d.Reason, d.Err)
		}
	}
	blocking := newlyBlocking(has, had)
	if len(blocking) == 0 {
		return nil
	}
	// Who may change the finalizers of everything may block any owner, also one of a kind that is not served.
	if p.allowed(ctx, a, cel.Check{Verb: "update", Group: "*", Resource: "*", Subresource: "finalizers", Name: "*"}).Allowed {
		return nil
	}
	for _, ref := range blocking {
		gvr, namespaced, ok := p.access.ResourceOf(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
		if !ok {
			return forbid(a, "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion %s Kind %s: no matches for kind %q in version %q",
				ref.APIVersion, ref.Kind, ref.Kind, ref.APIVersion)
		}
		check := cel.Check{Verb: "update", Group: gvr.Group, Resource: gvr.Resource, Subresource: "finalizers", Name: ref.Name}
		if namespaced {
			check.Namespace = a.Namespace
		}
		if d := p.allowed(ctx, a, check); !d.Allowed {
			return forbid(a, "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: %s, %v", d.Reason, d.Err)
		}
	}
	return nil
}

func (p *ownerPermissions) allowed(ctx context.Context, a *Attributes, check cel.Check) cel.Decision {
	if p.o.Authorize == nil {
		return cel.Decision{Reason: "no authorizer"}
	}
	return p.o.Authorize(ctx, a.User, check)
}

// newlyBlocking returns the references that block the deletion of their owner and did not before.
func newlyBlocking(has, had []metav1.OwnerReference) []metav1.OwnerReference {
	blocks := func(ref metav1.OwnerReference) bool { return ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion }
	blocked := map[types.UID]bool{}
	for _, ref := range had {
		blocked[ref.UID] = blocks(ref)
	}
	var found []metav1.OwnerReference
	for _, ref := range has {
		if blocks(ref) && !blocked[ref.UID] {
			found = append(found, ref)
		}
	}
	return found
}
