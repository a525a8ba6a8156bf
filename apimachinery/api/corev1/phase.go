package corev1

// HasEnded reports whether the pod has run to its end: its phase is Succeeded or Failed, and stays so.
func (p *Pod) HasEnded() bool {
	return p.Status.Phase == PodSucceeded || p.Status.Phase == PodFailed
}
