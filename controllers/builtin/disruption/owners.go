package disruption

import (
	"context"
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/informers"
)

// owners knows how many pods their controllers want: the built-in ones from informers, any other by its scale
// subresource.
type owners struct {
	conn        client.Conn
	find        *discovery.Client
	sets        informers.Lister[*appsv1.ReplicaSet]
	deployments informers.Lister[*appsv1.Deployment]
	stateful    informers.Lister[*appsv1.StatefulSet]
	controllers informers.Lister[*corev1.ReplicationController]
}

// uncountable is why it cannot be computed how many pods there should be, as far as the objects say it.
type uncountable string

func (u uncountable) Error() string { return string(u) }

// scale is how many pods one controller wants.
type scale struct {
	uid      types.UID
	replicas int32
}

// expected adds up the scales of the controllers of pods, each once. unmanaged is true if a pod has none.
func (o *owners) expected(ctx context.Context, namespace string, pods []*corev1.Pod) (total int32, unmanaged bool, err error) {
	seen := map[types.UID]bool{}    // controllers that pods name
	counted := map[types.UID]bool{} // what their scale is kept in, which for ReplicaSets is the Deployment
	for _, p := range pods {
		ref := metav1.ControllerOf(p)
		if ref == nil {
			unmanaged = true
			continue
		}
		if seen[ref.UID] {
			continue
		}
		seen[ref.UID] = true
		s, err := o.scaleOf(ctx, namespace, ref)
		if err != nil {
			return 0, unmanaged, err
		}
		if s == nil {
			return 0, unmanaged, uncountable(fmt.Sprintf("found no controllers for pod %q", p.Name))
		}
		if !counted[s.uid] {
			counted[s.uid] = true
			total += s.replicas
		}
	}
	return total, unmanaged, nil
}

// scaleOf returns the scale of a pod's controller, or nil if that is gone. One that the informers do not have
// is read from the server: a pod may come before its controller.
func (o *owners) scaleOf(ctx context.Context, namespace string, ref *metav1.OwnerReference) (*scale, error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, err
	}
	key, gk := types.NamespacedName{Namespace: namespace, Name: ref.Name}, schema.GroupKind{Group: gv.Group, Kind: ref.Kind}
	if s, err := o.listed(key, gk, ref.UID); s != nil || err != nil {
		return s, err
	}
	return o.ask(ctx, key, gk, gv.Version, ref.UID)
}

// listed returns the scale that the informers have of a pod's controller, nil if they do not have it. That of
// a ReplicaSet of a Deployment is the Deployment's.
func (o *owners) listed(key types.NamespacedName, gk schema.GroupKind, uid types.UID) (*scale, error) {
	switch gk {
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}:
		rs, err := o.sets.Get(key)
		if err != nil || rs.UID != uid {
			return nil, apierrors.IgnoreNotFound(err)
		}
		if by := metav1.ControllerOf(rs); by != nil && by.Kind == "Deployment" && strings.HasPrefix(by.APIVersion, "apps/") {
			d, err := o.deployments.Get(types.NamespacedName{Namespace: key.Namespace, Name: by.Name})
			if err != nil || d.UID != by.UID {
				return nil, apierrors.IgnoreNotFound(err)
			}
			return scaled(d.UID, d.Spec.Replicas), nil
		}
		return scaled(rs.UID, rs.Spec.Replicas), nil
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		s, err := o.stateful.Get(key)
		if err != nil || s.UID != uid {
			return nil, apierrors.IgnoreNotFound(err)
		}
		return scaled(s.UID, s.Spec.Replicas), nil
	case schema.GroupKind{Kind: "ReplicationController"}:
		rc, err := o.controllers.Get(key)
		if err != nil || rc.UID != uid {
			return nil, apierrors.IgnoreNotFound(err)
		}
		return scaled(rc.UID, rc.Spec.Replicas), nil
	}
	return nil, nil
}

// ask reads the scale subresource of a controller of any kind.
func (o *owners) ask(ctx context.Context, key types.NamespacedName, gk schema.GroupKind, version string, uid types.UID) (*scale, error) {
	r, err := o.find.ForKind(ctx, gk, version)
	if err != nil {
		return nil, err
	}
	s, err := client.Subresource[*autoscalingv1.Scale](client.ForResource[*metav1.Unstructured](o.conn, r.Client()), "scale").Get(ctx, key)
	if apierrors.IsNotFound(err) {
		if !served(r, "scale") {
			return nil, uncountable(fmt.Sprintf("%s does not implement the scale subresource", schema.GroupResource{Group: gk.Group, Resource: r.GVR.Resource}))
		}
		return nil, nil
	}
	if err != nil || s.UID != uid {
		return nil, err
	}
	return scaled(uid, &s.Spec.Replicas), nil
}

func served(r *discovery.Resource, subresource string) bool {
	for _, s := range r.Subresources {
		if s.Name == subresource {
			return true
		}
	}
	return false
}

// scaled is the scale of an object, whose default is one pod.
func scaled(uid types.UID, replicas *int32) *scale {
	if replicas == nil {
		return &scale{uid, 1}
	}
	return &scale{uid, *replicas}
}
