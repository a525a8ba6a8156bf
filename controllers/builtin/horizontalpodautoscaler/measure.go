package horizontalpodautoscaler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// note is an event to write.
type note struct{ typ, reason, message string }

// step is one reconcile of an autoscaler: what it is made from, and the status and events it leads to.
type step struct {
	hpa    *autoscalingv2.HorizontalPodAutoscaler
	status autoscalingv2.HorizontalPodAutoscalerStatus
	notes  []note
	now    time.Time
	// current are the values that were read, one for each metric.
	current []autoscalingv2.MetricStatus

	pods     []*corev1.Pod // those of the target, shared and read-only
	selector labels.Selector
	replicas int32 // that there are, according to the target
}

func (s *step) note(typ, reason, message string) {
	s.notes = append(s.notes, note{typ, reason, message})
}

// set sets a condition.
func (s *step) set(t autoscalingv2.HorizontalPodAutoscalerConditionType, yes bool, r reason) {
	status := corev1.ConditionFalse
	if yes {
		status = corev1.ConditionTrue
	}
	i := slices.IndexFunc(s.status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool { return c.Type == t })
	if i < 0 {
		i = len(s.status.Conditions)
		s.status.Conditions = append(s.status.Conditions, autoscalingv2.HorizontalPodAutoscalerCondition{Type: t})
	}
	c := &s.status.Conditions[i]
	if c.Status != status {
		c.LastTransitionTime = metav1.NewTime(s.now).Truncated()
	}
	c.Status, c.Reason, c.Message = status, r.reason, r.message
}

// finish completes the status.
func (s *step) finish(current, desired int32) {
	s.status.CurrentReplicas, s.status.DesiredReplicas, s.status.CurrentMetrics = current, desired, s.current
}

// proposal is what one metric leads to.
type proposal struct {
	replicas int32
	name     string // of the metric, for events
	current  autoscalingv2.MetricStatus
}

// measure reads all metrics and returns the greatest proposal. ok is false if there is none, or if it would
// scale down though not all metrics could be read.
func (a *autoscalers) measure(ctx context.Context, s *step, scale *autoscalingv1.Scale) (best proposal, ok bool) {
	specs := s.hpa.Spec.Metrics
	s.replicas = scale.Status.Replicas
	if err := a.selectPods(s, scale.Status.Selector); err != nil {
		s.note(corev1.EventTypeWarning, "FailedComputeMetricsReplicas", err.Error())
		return best, false
	}
	s.current = make([]autoscalingv2.MetricStatus, len(specs))
	var failed *metricError
	failures := 0
	for i := range specs {
		p, err := a.propose(ctx, s, &specs[i], scale.Spec.Replicas)
		if err != nil {
			s.note(corev1.EventTypeWarning, err.reason, err.err.Error())
			if failures++; failed == nil {
				failed = err
			}
			continue
		}
		s.current[i] = p.current
		if best.replicas == 0 || p.replicas > best.replicas {
			best = p
		}
	}
	if failures == len(specs) || failures > 0 && best.replicas < scale.Spec.Replicas {
		s.set(autoscalingv2.ScalingActive, false, reason{failed.reason, fmt.Sprintf("the HPA was unable to compute the replica count: %v", failed.err)})
		s.note(corev1.EventTypeWarning, "FailedComputeMetricsReplicas",
			fmt.Sprintf("invalid metrics (%d invalid out of %d), first error is: %s: %v", failures, len(specs), failed.what, failed.err))
		return best, false
	}
	s.set(autoscalingv2.ScalingActive, true, reason{"ValidMetricFound", "the HPA was able to successfully calculate a replica count from " + best.name})
	return best, true
}

// selectPods finds the pods of the target, which no other autoscaler may scale.
func (a *autoscalers) selectPods(s *step, text string) error {
	invalid := func(event, reasonText, message string, err error) error {
		s.note(corev1.EventTypeWarning, event, err.Error())
		s.set(autoscalingv2.ScalingActive, false, reason{reasonText, message})
		return err
	}
	if text == "" {
		return invalid("SelectorRequired", "InvalidSelector", "the HPA target's scale is missing a selector", errors.New("selector is required"))
	}
	selector, err := labels.Parse(text)
	if err != nil {
		err = fmt.Errorf("couldn't convert selector into a corresponding internal selector object: %w", err)
		return invalid("InvalidSelector", "InvalidSelector", err.Error(), err)
	}
	s.selector = selector
	if s.pods, err = a.pods.Select(s.hpa.Namespace, selector); err != nil {
		return err
	}
	if others := a.others(s.hpa, selector, s.pods); len(others) > 0 {
		others = append(others, s.hpa.Key().String())
		slices.Sort(others)
		err := fmt.Errorf("pods by selector %s are controlled by multiple HPAs: [%s]", text, strings.Join(others, " "))
		return invalid("AmbiguousSelector", "AmbiguousSelector", err.Error(), err)
	}
	return nil
}

// metricError says which metric could not be used.
type metricError struct {
	reason, what string
	err          error
}

// propose reads one metric.
func (a *autoscalers) propose(ctx context.Context, s *step, spec *autoscalingv2.MetricSpec, current int32) (proposal, *metricError) {
	var p proposal
	var err error
	reason, what := "InvalidMetricSourceType", "unknown metric"
	p.current.Type = spec.Type
	switch m := spec; {
	case m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil:
		reason, what = "FailedGetResourceMetric", fmt.Sprintf("failed to get %s resource metric value", m.Resource.Name)
		p.current.Resource = &autoscalingv2.ResourceMetricStatus{Name: m.Resource.Name}
		p.replicas, p.name, err = a.ofResource(ctx, s, m.Resource.Name, "", &m.Resource.Target, current, &p.current.Resource.Current)
	case m.Type == autoscalingv2.ContainerResourceMetricSourceType && m.ContainerResource != nil:
		c := m.ContainerResource
		reason, what = "FailedGetContainerResourceMetric", fmt.Sprintf("failed to get %s container metric value", c.Container)
		p.current.ContainerResource = &autoscalingv2.ContainerResourceMetricStatus{Name: c.Name, Container: c.Container}
		p.replicas, p.name, err = a.ofResource(ctx, s, c.Name, c.Container, &c.Target, current, &p.current.ContainerResource.Current)
	case m.Type == autoscalingv2.PodsMetricSourceType && m.Pods != nil:
		reason, what = "FailedGetPodsMetric", "failed to get pods metric value"
		p.current.Pods = &autoscalingv2.PodsMetricStatus{Metric: m.Pods.Metric}
		p.name = "pods metric " + m.Pods.Metric.Name
		p.replicas, err = a.ofPods(ctx, s, m.Pods, current, &p.current.Pods.Current)
	case m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil:
		reason, what = "FailedGetObjectMetric", "failed to get object metric value"
		p.current.Object = &autoscalingv2.ObjectMetricStatus{Metric: m.Object.Metric, DescribedObject: m.Object.DescribedObject}
		p.name = m.Object.DescribedObject.Kind + " metric " + m.Object.Metric.Name
		p.replicas, err = a.ofObject(ctx, s, m.Object, current, &p.current.Object.Current)
	case m.Type == autoscalingv2.ExternalMetricSourceType && m.External != nil:
		reason, what = "FailedGetExternalMetric", fmt.Sprintf("failed to get %s external metric value", m.External.Metric.Name)
		p.current.External = &autoscalingv2.ExternalMetricStatus{Metric: m.External.Metric}
		p.name = "external metric " + m.External.Metric.Name
		p.replicas, err = a.ofExternal(ctx, s, m.External, current, &p.current.External.Current)
	default:
		err = fmt.Errorf("unknown metric source type %q", spec.Type)
	}
	if err != nil {
		return p, &metricError{reason, what, err}
	}
	return p, nil
}

func (a *autoscalers) ofResource(ctx context.Context, s *step, name corev1.ResourceName, container string, target *autoscalingv2.MetricTarget, current int32, status *autoscalingv2.MetricValueStatus) (int32, string, error) {
	q := a.question(s, current)
	q.cpu = name == corev1.ResourceCPU
	what, label := "usage", fmt.Sprintf("%s resource", name)
	switch {
	case target.AverageValue != nil:
		q.target = target.AverageValue.MilliValue()
	case target.AverageUtilization != nil:
		q.target, what = int64(*target.AverageUtilization), "utilization"
		label = fmt.Sprintf("%s resource utilization (percentage of request)", name)
		if container != "" {
			label = fmt.Sprintf("%s container resource utilization (percentage of request)", name)
		}
	default:
		return 0, "", errors.New("invalid resource metric source: neither an average utilization target nor an average value (usage) target was set")
	}
	fail := func(err error) (int32, string, error) {
		return 0, "", fmt.Errorf("failed to get %s %s: %w", name, what, err)
	}
	var err error
	if q.samples, err = a.opts.Metrics.Resource(ctx, s.hpa.Namespace, s.selector, name, container); err != nil {
		return fail(fmt.Errorf("unable to get metrics for resource %s: %w", name, err))
	}
	if what == "utilization" {
		if q.requests, err = requestsOf(q.pods, name, container); err != nil {
			return fail(err)
		}
	}
	got, err := q.replicas()
	if err != nil {
		return fail(err)
	}
	format := resource.DecimalSI
	if name == corev1.ResourceMemory {
		format = resource.BinarySI
	}
	status.AverageValue = new(resource.NewMilliQuantity(got.usage, format))
	if what == "utilization" {
		status.AverageUtilization = &got.utilization
	}
	return got.replicas, label, nil
}

func (a *autoscalers) ofPods(ctx context.Context, s *step, m *autoscalingv2.PodsMetricSource, current int32, status *autoscalingv2.MetricValueStatus) (int32, error) {
	selector, err := selectorOf(m.Metric.Selector)
	if err != nil {
		return 0, err
	}
	if m.Target.AverageValue == nil {
		return 0, errors.New("invalid pods metric source: no average value target was set")
	}
	q := a.question(s, current)
	q.target = m.Target.AverageValue.MilliValue()
	if q.samples, err = a.opts.Metrics.Pods(ctx, s.hpa.Namespace, s.selector, m.Metric.Name, selector); err != nil {
		return 0, fmt.Errorf("unable to get metric %s: %w", m.Metric.Name, err)
	}
	got, err := q.replicas()
	status.AverageValue = new(resource.NewMilliQuantity(got.usage, resource.DecimalSI))
	return got.replicas, err
}

func (a *autoscalers) ofObject(ctx context.Context, s *step, m *autoscalingv2.ObjectMetricSource, current int32, status *autoscalingv2.MetricValueStatus) (int32, error) {
	selector, err := selectorOf(m.Metric.Selector)
	if err != nil {
		return 0, err
	}
	value, err := a.opts.Metrics.Object(ctx, s.hpa.Namespace, m.DescribedObject, m.Metric.Name, selector)
	if err != nil {
		return 0, fmt.Errorf("unable to get metric %s: %s on %s %w", m.Metric.Name, m.DescribedObject.Kind, s.hpa.Namespace+"/"+m.DescribedObject.Name, err)
	}
	return a.ofValue(s, value, &m.Target, current, status, "object")
}

func (a *autoscalers) ofExternal(ctx context.Context, s *step, m *autoscalingv2.ExternalMetricSource, current int32, status *autoscalingv2.MetricValueStatus) (int32, error) {
	selector, err := selectorOf(m.Metric.Selector)
	if err != nil {
		return 0, err
	}
	values, err := a.opts.Metrics.External(ctx, s.hpa.Namespace, m.Metric.Name, selector)
	if err != nil {
		return 0, fmt.Errorf("unable to get external metric %s/%s: %w", s.hpa.Namespace, m.Metric.Name, err)
	}
	sum := int64(0)
	for _, v := range values {
		if v > 0 && sum > math.MaxInt64-v {
			sum = math.MaxInt64
			break
		}
		sum += v
	}
	return a.ofValue(s, sum, &m.Target, current, status, "external")
}

// ofValue proposes from one value for all pods.
func (a *autoscalers) ofValue(s *step, value int64, target *autoscalingv2.MetricTarget, current int32, status *autoscalingv2.MetricValueStatus, kind string) (int32, error) {
	t := a.toleranceOf(s.hpa)
	switch {
	case target.AverageValue != nil && target.Type != autoscalingv2.ValueMetricType:
		if s.replicas == 0 {
			return 0, errors.New("the target has no replicas yet")
		}
		n, average := perPod(s.replicas, value, target.AverageValue.MilliValue(), t)
		status.AverageValue = new(resource.NewMilliQuantity(average, resource.DecimalSI))
		return n, nil
	case target.Value != nil:
		status.Value = new(resource.NewMilliQuantity(value, resource.DecimalSI))
		if len(s.pods) == 0 && current != 0 {
			return 0, errors.New("unable to calculate ready pods: no pods returned by selector while calculating replica count")
		}
		ready := 0
		for _, p := range s.pods {
			if p.Status.Phase == corev1.PodRunning && podcontrol.Ready(p) {
				ready++
			}
		}
		return perTarget(current, value, target.Value.MilliValue(), ready, t), nil
	}
	return 0, fmt.Errorf("invalid %s metric source: neither a value target nor an average value target was set", kind)
}

// selectorOf compiles the selector of a metric, which selects everything if there is none.
func selectorOf(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return labels.Everything(), nil
	}
	return s.Selector()
}

func (a *autoscalers) question(s *step, current int32) *question {
	return &question{current: current, pods: s.pods, tolerance: a.toleranceOf(s.hpa), now: s.now, opts: &a.opts}
}

// toleranceOf returns the tolerances of an autoscaler.
func (a *autoscalers) toleranceOf(hpa *autoscalingv2.HorizontalPodAutoscaler) tolerance {
	t := tolerance{a.opts.Tolerance, a.opts.Tolerance}
	if b := hpa.Spec.Behavior; b != nil {
		if b.ScaleDown != nil && b.ScaleDown.Tolerance != nil {
			t.down = b.ScaleDown.Tolerance.AsApproximateFloat64()
		}
		if b.ScaleUp != nil && b.ScaleUp.Tolerance != nil {
			t.up = b.ScaleUp.Tolerance.AsApproximateFloat64()
		}
	}
	return t
}
