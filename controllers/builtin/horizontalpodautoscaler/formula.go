package horizontalpodautoscaler

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// tolerance is how far usage may be from its target without a change: as fractions of the target.
type tolerance struct{ down, up float64 }

func (t tolerance) allows(ratio float64) bool { return 1-t.down <= ratio && ratio <= 1+t.up }

// question is what the number of replicas is computed from, if a metric is one of each pod.
type question struct {
	current int32
	pods    []*corev1.Pod
	samples map[string]Sample // by pod
	// requests are what the pods request of the resource, by pod, in thousandths, if target is in percent of
	// it. Without them it is an average in thousandths.
	requests map[string]int64
	target   int64
	// cpu is set for the CPU, of which a pod uses much when it starts.
	cpu       bool
	tolerance tolerance
	now       time.Time
	opts      *Options
}

// answer is what was computed: the average usage in thousandths and, if it has a target in percent of the
// requests, in percent.
type answer struct {
	replicas    int32
	usage       int64
	utilization int32
}

// replicas computes how many replicas bring the usage of the pods to the target. Pods without a sample count
// as ones that use the target (all of their requests, at least) if there is too little usage, and as ones
// that use nothing if there is too much, so that they never cause a change. Pods that are not ready use
// nothing, if there is too much usage, and do not count otherwise.
func (q *question) replicas() (answer, error) {
	if len(q.pods) == 0 {
		return answer{}, errors.New("no pods returned by selector while calculating replica count")
	}
	g := q.group()
	if len(g.samples) == 0 {
		return answer{}, errors.New("did not receive metrics for targeted pods (pods might be unready)")
	}
	ratio, a, err := q.ratio(g.samples)
	if err != nil {
		return answer{}, err
	}
	a.replicas = q.current
	withUnready := len(g.unready) > 0 && ratio > 1
	if !withUnready && len(g.missing) == 0 {
		if !q.tolerance.allows(ratio) {
			a.replicas = int32(math.Ceil(ratio * float64(g.ready)))
		}
		return a, nil
	}
	for _, pod := range g.missing {
		switch {
		case ratio < 1:
			g.samples[pod] = q.assumed(pod)
		case ratio > 1:
			g.samples[pod] = 0
		}
	}
	if withUnready {
		for _, pod := range g.unready {
			g.samples[pod] = 0
		}
	}
	again, _, err := q.ratio(g.samples)
	if err != nil {
		return answer{}, err
	}
	if q.tolerance.allows(again) || ratio < 1 && again > 1 || ratio > 1 && again < 1 {
		return a, nil
	}
	n := int32(math.Ceil(again * float64(len(g.samples))))
	if again < 1 && n <= q.current || again > 1 && n >= q.current {
		a.replicas = n
	}
	return a, nil
}

// assumed is the usage of a pod without a sample when there is too little usage.
func (q *question) assumed(pod string) int64 {
	if q.requests == nil {
		return q.target
	}
	return q.requests[pod] * max(100, q.target) / 100
}

// ratio compares usage with the target.
func (q *question) ratio(samples map[string]int64) (ratio float64, a answer, err error) {
	var total, requested, n int64
	for pod, v := range samples {
		request, known := q.requests[pod]
		if q.requests != nil && !known {
			continue
		}
		total, requested, n = total+v, requested+request, n+1
	}
	if q.requests == nil {
		a.usage = total / n
		return float64(a.usage) / float64(q.target), a, nil
	}
	if requested == 0 {
		return 0, a, errors.New("no metrics returned matched known pods")
	}
	a.usage, a.utilization = total/n, int32(total*100/requested)
	return float64(a.utilization) / float64(q.target), a, nil
}

// groups are the pods by how they count.
type groups struct {
	ready            int
	unready, missing []string
	samples          map[string]int64 // of pods that are ready
}

func (q *question) group() groups {
	g := groups{samples: map[string]int64{}}
	for _, s := range q.pods {
		sample, measured := q.samples[s.Name]
		switch {
		case s.DeletionTimestamp != nil || s.Status.Phase == corev1.PodFailed:
		case s.Status.Phase == corev1.PodPending:
			g.unready = append(g.unready, s.Name)
		case !measured:
			g.missing = append(g.missing, s.Name)
		case q.cpu && q.starts(s, sample):
			g.unready = append(g.unready, s.Name)
		default:
			g.ready++
			g.samples[s.Name] = sample.Value
		}
	}
	return g
}

// starts reports whether a pod's use of CPU is that of its start.
func (q *question) starts(p *corev1.Pod, s Sample) bool {
	ready := podcontrol.Condition(p, corev1.PodReady)
	if ready == nil || p.Status.StartTime == nil {
		return true
	}
	if p.Status.StartTime.Add(q.opts.CPUInitializationPeriod).After(q.now) {
		return ready.Status == corev1.ConditionFalse || s.Time.Before(ready.LastTransitionTime.Add(s.Window))
	}
	return ready.Status == corev1.ConditionFalse && p.Status.StartTime.Add(q.opts.InitialReadinessDelay).After(ready.LastTransitionTime.Time)
}

// requestsOf returns what pods request of a resource in thousandths, all together or by one container.
func requestsOf(pods []*corev1.Pod, resource corev1.ResourceName, container string) (map[string]int64, error) {
	out := make(map[string]int64, len(pods))
	for _, p := range pods {
		n, err := requestOf(p, resource, container)
		if err != nil {
			return nil, err
		}
		out[p.Name] = n
	}
	return out, nil
}

func requestOf(p *corev1.Pod, resource corev1.ResourceName, container string) (int64, error) {
	if r := p.Spec.Resources; container == "" && r != nil && len(r.Requests) > 0 {
		q, ok := r.Requests[resource]
		if !ok {
			return 0, fmt.Errorf("missing pod-level request for %s in Pod %s", resource, p.Name)
		}
		return q.MilliValue(), nil
	}
	total, found := int64(0), container == ""
	add := func(c *corev1.Container) error {
		if container != "" && c.Name != container {
			return nil
		}
		q, ok := c.Resources.Requests[resource]
		if !ok {
			return fmt.Errorf("missing request for %s in container %s of Pod %s", resource, c.Name, p.Name)
		}
		total, found = total+q.MilliValue(), true
		return nil
	}
	for i := range p.Spec.Containers {
		if err := add(&p.Spec.Containers[i]); err != nil {
			return 0, err
		}
	}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			if err := add(c); err != nil {
				return 0, err
			}
		}
	}
	if !found {
		return 0, fmt.Errorf("container %s not found in Pod %s", container, p.Name)
	}
	return total, nil
}

// perTarget computes the replicas for a value of all pods together, which grows with the number of ready
// pods.
func perTarget(current int32, value, target int64, ready int, t tolerance) int32 {
	ratio := float64(value) / float64(target)
	switch {
	case current == 0:
		return ceil(ratio)
	case t.allows(ratio):
		return current
	}
	return ceil(ratio * float64(ready))
}

// perPod computes the replicas for a value of all pods together that is divided by their number. average is
// the value for one pod.
func perPod(current int32, value, target int64, t tolerance) (replicas int32, average int64) {
	replicas = current
	if ratio := float64(value) / (float64(target) * float64(current)); !t.allows(ratio) {
		replicas = ceil(float64(value) / float64(target))
	}
	average = math.MaxInt64
	if f := math.Ceil(float64(value) / float64(current)); f < math.MaxInt64 {
		average = int64(f)
	}
	return replicas, average
}

func ceil(f float64) int32 { return int32(min(math.Ceil(f), math.MaxInt32)) }
