package appsv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
)

func setIfNil[T any](p **T, v T) {
	if *p == nil {
		*p = &v
	}
}

// DefaultDeployment fills the unset fields of a deployment.
func DefaultDeployment(d *Deployment) {
	s := &d.Spec
	setIfNil(&s.Replicas, 1)
	if s.Strategy.Type == "" {
		s.Strategy.Type = RollingUpdateDeploymentStrategyType
	}
	if s.Strategy.Type == RollingUpdateDeploymentStrategyType {
		setIfNil(&s.Strategy.RollingUpdate, RollingUpdateDeployment{})
		setIfNil(&s.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		setIfNil(&s.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	setIfNil(&s.RevisionHistoryLimit, 10)
	setIfNil(&s.ProgressDeadlineSeconds, 600)
	corev1.DefaultPodTemplate(&s.Template)
}

// DefaultReplicaSet fills the unset fields of a replica set.
func DefaultReplicaSet(r *ReplicaSet) {
	setIfNil(&r.Spec.Replicas, 1)
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
		setIfNil(&u.RollingUpdate, RollingUpdateStatefulSetStrategy{})
	}
	if u.Type == RollingUpdateStatefulSetStrategyType && u.RollingUpdate != nil {
		setIfNil(&u.RollingUpdate.Partition, 0)
	}
	setIfNil(&s.PersistentVolumeClaimRetentionPolicy, StatefulSetPersistentVolumeClaimRetentionPolicy{})
	p := s.PersistentVolumeClaimRetentionPolicy
	if p.WhenDeleted == "" {
		p.WhenDeleted = RetainPersistentVolumeClaimRetentionPolicyType
	}
	if p.WhenScaled == "" {
		p.WhenScaled = RetainPersistentVolumeClaimRetentionPolicyType
	}
	setIfNil(&s.Replicas, 1)
	setIfNil(&s.RevisionHistoryLimit, 10)
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
		setIfNil(&s.UpdateStrategy.RollingUpdate, RollingUpdateDaemonSet{})
		setIfNil(&s.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		setIfNil(&s.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	} else if u := s.UpdateStrategy.RollingUpdate; u != nil { // of no effect, and so nothing
		setIfNil(&u.MaxUnavailable, intstr.FromInt32(0))
		setIfNil(&u.MaxSurge, intstr.FromInt32(0))
	}
	setIfNil(&s.RevisionHistoryLimit, 10)
	corev1.DefaultPodTemplate(&s.Template)
}
