package job

import (
	"slices"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// newPods returns up to n new pods.
func (p *planner) newPods(n int) (out []*corev1.Pod) {
	if !p.indexed() {
		for range n {
			out = append(out, p.newPod())
		}
		return out
	}
	taken := map[int32]bool{}
	for _, pod := range p.active {
		taken[indexOf(pod)] = true
	}
	if p.replaceFailedOnly() {
		for _, pod := range p.terminating {
			taken[indexOf(pod)] = true
		}
	}
	for i := int32(0); i < p.completions() && len(out) < n; i++ {
		if taken[i] || p.completed.has(i) || p.failedIdx.has(i) {
			continue
		}
		if pod := p.indexPod(i); pod != nil {
			out = append(out, pod)
		}
	}
	return out
}

func (f *facts) newPod() *corev1.Pod {
	p := podcontrol.FromTemplate(&f.job.Spec.Template, f.job, kind, f.job.Name)
	p.Finalizers = append(p.Finalizers, batchv1.JobTrackingFinalizer)
	return p
}

// indexPod makes the pod of an index, or nil while the index must pause after a failure.
func (p *planner) indexPod(i int32) *corev1.Pod {
	text := strconv.Itoa(int(i))
	pod := p.newPod()
	pod.GenerateName = prefixOf(p.job.Name, text)
	pod.Annotations = podcontrol.WithLabel(pod.Annotations, batchv1.JobCompletionIndexAnnotation, text)
	pod.Labels = podcontrol.WithLabel(pod.Labels, batchv1.JobCompletionIndexAnnotation, text)
	pod.Spec.Hostname = p.job.Name + "-" + text
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for k := range list {
			c := &list[k]
			if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "JOB_COMPLETION_INDEX" }) {
				c.Env = append(c.Env, corev1.EnvVar{Name: "JOB_COMPLETION_INDEX", ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']"}}})
			}
		}
	}
	if !p.perIndex() {
		return pod
	}
	counted, ignored := int32(0), int32(0)
	if last := p.lastFailure(i); last != nil {
		counted, ignored = failuresOf(last)
		if slices.ContainsFunc(p.ignored, func(o *corev1.Pod) bool { return o.UID == last.UID }) {
			ignored++
		} else {
			counted++
		}
		if left := endedAt(last).Add(backoff(counted + ignored)).Sub(p.now); left > 0 {
			p.lookAgain(left)
			return nil
		}
	}
	pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(int(counted))
	if p.job.Spec.PodFailurePolicy != nil && ignored > 0 {
		pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = strconv.Itoa(int(ignored))
	}
	return pod
}

// maxPrefix is the length of the longest prefix of which the server keeps all in a generated name.
const maxPrefix = 58

// prefixOf is what the names of the pods of an index begin with. If it is too long, it keeps the index.
func prefixOf(job, index string) string {
	index = "-" + index + "-"
	return job[:min(len(job), maxPrefix-len(index))] + index
}

// lastFailure is the failed pod of an index that remembers the most failures.
func (f *facts) lastFailure(i int32) (last *corev1.Pod) {
	most := int32(-1)
	for _, list := range [][]*corev1.Pod{f.failed, f.ignored, f.pods} {
		for _, p := range list {
			if indexOf(p) != i || !f.hasFailed(p) {
				continue
			}
			if a, b := failuresOf(p); a+b > most {
				most, last = a+b, p
			}
		}
	}
	return last
}
