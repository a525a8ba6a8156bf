package appsv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/defaults"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
)

// DefaultDeployment fills the unset fields of a deployment.
func DefaultDeployment(d *Deployment) {
	s := &d.Spec
	defaults.IfNil(&s.Replicas, 1)
	if s.Strategy.Type == "" {
		s.Strategy.Type = RollingUpdateDeploymentStrategyType
	}
	if s.Strategy.Type == RollingUpdateDeploymentStrategyType {
		defaults.IfNil(&s.Strategy.RollingUpdate, RollingUpdateDeployment{})
		defaults.IfNil(&s.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		defaults.IfNil(&s.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	defaults.IfNil(&s.RevisionHistoryLimit, 10)
	defaults.IfNil(&s.ProgressDeadlineSeconds, 600)
	corev1.DefaultPodTemplate(&s.Template)
}

// DefaultReplicaSet fills the unset fields of a replica set.
func DefaultReplicaSet(r *ReplicaSet) {
	defaults.IfNil(&r.Spec.Replicas, 1)
	corev1.DefaultPodTemplate(&r.Spec.Template)
}

// DefaultStatefulSet fills the unset fields of a stateful set and of its claim templates.
func DefaultStatefulSet(set *StatefulSet) {
	s := &set.Spec
	if s.PodManagementPolicy == "" {
		s.PodManagementPolicy = OrderedReadyPodManagement
	}
	u := &s.UpdateStrategy
	if u.Type == "" {
		u.Type = RollingUpdateStatefulSetStrategyType
		// Only a strategy chosen by default gets rollingUpdate itself; a chosen one keeps it unset.
		defaults.IfNil(&u.RollingUpdate, RollingUpdateStatefulSetStrategy{})
	}
	if u.Type == RollingUpdateStatefulSetStrategyType && u.RollingUpdate != nil {
		defaults.IfNil(&u.RollingUpdate.Partition, 0)
	}
	defaults.IfNil(&s.PersistentVolumeClaimRetentionPolicy, StatefulSetPersistentVolumeClaimRetentionPolicy{})
	p := s.PersistentVolumeClaimRetentionPolicy
	if p.WhenDeleted == "" {
		p.WhenDeleted = RetainPersistentVolumeClaimRetentionPolicyType
	}
	if p.WhenScaled == "" {
		p.WhenScaled = RetainPersistentVolumeClaimRetentionPolicyType
	}
	defaults.IfNil(&s.Replicas, 1)
	defaults.IfNil(&s.RevisionHistoryLimit, 10)
	corev1.DefaultPodTemplate(&s.Template)
	for i := range s.VolumeClaimTemplates {
		c := &s.VolumeClaimTemplates[i]
		c.APIVersion, c.Kind = "v1", "PersistentVolumeClaim"
		corev1.DefaultClaimTemplate(c)
	}
}

// DefaultDaemonSet fills the unset fields of a daemon set.
func DefaultDaemonSet(d *DaemonSet) {
	s := &d.Spec
	if s.UpdateStrategy.Type == "" {
		s.UpdateStrategy.Type = RollingUpdateDaemonSetStrategyType
	}
	if s.UpdateStrategy.Type == RollingUpdateDaemonSetStrategyType {
		defaults.IfNil(&s.UpdateStrategy.RollingUpdate, RollingUpdateDaemonSet{})
		defaults.IfNil(&s.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		defaults.IfNil(&s.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	} else if u := s.UpdateStrategy.RollingUpdate; u != nil { // of no effect, and so nothing
		defaults.IfNil(&u.MaxUnavailable, intstr.FromInt32(0))
		defaults.IfNil(&u.MaxSurge, intstr.FromInt32(0))
	}
	defaults.IfNil(&s.RevisionHistoryLimit, 10)
	corev1.DefaultPodTemplate(&s.Template)
}
