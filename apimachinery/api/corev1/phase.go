package corev1

// HasEnded reports whether the pod has run to its end: its phase is Succeeded or Failed, and stays so.
func (p *Pod) HasEnded() bool {
	return p.Status.Phase == PodSucceeded || p.Status.Phase == PodFailed
}

// Runs reports whether a container of the pod runs, as its status has it: neither waits nor has terminated.
func (p *Pod) Runs() bool {
	for _, list := range [][]ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses} {
		for i := range list {
			if list[i].State.Terminated == nil && list[i].State.Waiting == nil {
				return true
			}
		}
	}
	return false
}
