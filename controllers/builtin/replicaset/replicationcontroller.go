package replicaset

import (
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// AddReplicationControllers adds the controller of ReplicationControllers to m.
func AddReplicationControllers(m *manager.Manager, opts Options) error {
	r := &sets[*corev1.ReplicationController]{
		Owners: podcontrol.NewOwners(m, "replicationcontroller", selectorOf),
		kind:   corev1.GroupVersion.WithKind("ReplicationController"), siblings: controllers.ControlledIn[*corev1.ReplicationController](m.Informers()),
		view: asReplicaSet, setStatus: setStatus,
	}
	r.Recorder = m.Recorder("replication-controller") // upstream's name
	return r.Register(m, opts.Concurrency, r.reconcile)
}

// selectorOf returns the selector of a ReplicationController. The API server refuses an empty one; if there
// is one nevertheless, it selects nothing.
func selectorOf(rc *corev1.ReplicationController) *metav1.LabelSelector {
	if len(rc.Spec.Selector) == 0 {
		return nil
	}
	return &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}
}

// asReplicaSet returns a ReplicaSet with the metadata, spec and conditions of a ReplicationController, with
// which it shares them.
func asReplicaSet(rc *corev1.ReplicationController) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: rc.ObjectMeta}
	rs.Spec.Replicas, rs.Spec.MinReadySeconds, rs.Spec.Selector = rc.Spec.Replicas, rc.Spec.MinReadySeconds, selectorOf(rc)
	if rc.Spec.Template != nil {
		rs.Spec.Template = *rc.Spec.Template
	}
	for _, c := range rc.Status.Conditions {
		rs.Status.Conditions = append(rs.Status.Conditions, appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetConditionType(c.Type),
			Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message})
	}
	return rs
}

// setStatus writes the status of a ReplicaSet into a ReplicationController, in memory, and reports whether it
// was another one.
func setStatus(rc *corev1.ReplicationController, s *appsv1.ReplicaSetStatus) bool {
	next := corev1.ReplicationControllerStatus{Replicas: s.Replicas, FullyLabeledReplicas: s.FullyLabeledReplicas,
		ReadyReplicas: s.ReadyReplicas, AvailableReplicas: s.AvailableReplicas, ObservedGeneration: s.ObservedGeneration}
	for _, c := range s.Conditions {
		next.Conditions = append(next.Conditions, corev1.ReplicationControllerCondition{Type: corev1.ReplicationControllerConditionType(c.Type),
			Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message})
	}
	if codec.Equal(&next, &rc.Status) {
		return false
	}
	rc.Status = next
	return true
}
