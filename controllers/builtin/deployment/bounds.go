package deployment

import (
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
)

// replicas is how many pods are wanted.
func (f *facts) replicas() int32 {
	if f.dep.Spec.Replicas == nil {
		return 1
	}
	return *f.dep.Spec.Replicas
}

// maxSurge is how many pods beyond the wanted number may exist.
func (f *facts) maxSurge() int32 {
	surge, _ := f.fenceposts()
	return surge
}

// maxUnavailable is how many of the wanted pods may be missing.
func (f *facts) maxUnavailable() int32 {
	_, unavailable := f.fenceposts()
	return min(unavailable, f.replicas())
}

// fenceposts resolves both bounds: surge rounds up, unavailable down, and when both come to zero one pod may
// be unavailable, or nothing could ever move.
func (f *facts) fenceposts() (surge, unavailable int32) {
	u := f.dep.Spec.Strategy.RollingUpdate
	if f.dep.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return 0, 0
	}
	quarter := intstr.FromString("25%")
	s, n := &quarter, &quarter
	if u != nil && u.MaxSurge != nil {
		s = u.MaxSurge
	}
	if u != nil && u.MaxUnavailable != nil {
		n = u.MaxUnavailable
	}
	surge = scaled(*s, f.replicas(), true)
	unavailable = scaled(*n, f.replicas(), false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable
}

// scaled resolves a number or percentage; validation has refused what does not parse.
func scaled(v intstr.IntOrString, total int32, up bool) int32 {
	n, err := intstr.ScaledValue(v, int(total), up)
	if err != nil {
		return 0
	}
	return int32(n)
}
