package admission

import (
	"context"
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/quota"
)

// limitRanger sets default requests and limits from the namespace's LimitRanges and refuses pods and claims
// outside of them.
type limitRanger struct {
	named
	access Access
}

func newLimitRanger(access Access) Plugin {
	return &limitRanger{named{"LimitRanger", []Operation{Create, Update}}, access}
}

func (p *limitRanger) ranges(ctx context.Context, a *Attributes) ([]*corev1.LimitRange, error) {
	all, err := p.access.List(ctx, core("limitranges"), a.Namespace, labels.Everything())
	if err != nil {
		return nil, err
	}
	var out []*corev1.LimitRange
	for _, obj := range all {
		out = append(out, obj.(*corev1.LimitRange))
	}
	return out, nil
}

func (p *limitRanger) Admit(ctx context.Context, a *Attributes) error {
	pod, ok := podOf(a)
	if !ok || a.Operation != Create {
		return nil
	}
	ranges, err := p.ranges(ctx, a)
	if err != nil {
		return err
	}
	for _, lr := range ranges {
		for i := range lr.Spec.Limits {
			item := &lr.Spec.Limits[i]
			if item.Type != corev1.LimitTypeContainer {
				continue
			}
			var notes []string
			for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
				for j := range list {
					notes = append(notes, fillResources(&list[j], item)...)
				}
			}
			if len(notes) > 0 {
				if pod.Annotations == nil {
					pod.Annotations = map[string]string{}
				}
				pod.Annotations["kubernetes.io/limit-ranger"] = "LimitRanger plugin set: " + strings.Join(notes, "; ")
			}
		}
	}
	return nil
}

// fillResources sets the unset resources of a container and returns a description of them.
func fillResources(c *corev1.Container, item *corev1.LimitRangeItem) (notes []string) {
	fill := func(what string, have *corev1.ResourceList, defaults corev1.ResourceList) {
		var set []string
		for _, name := range sortedNames(defaults) {
			if _, ok := (*have)[name]; ok {
				continue
			}
			if *have == nil {
				*have = corev1.ResourceList{}
			}
			(*have)[name] = defaults[name]
			set = append(set, string(name))
		}
		if len(set) > 0 {
			notes = append(notes, fmt.Sprintf("%s %s for container %s", strings.Join(set, ", "), what, c.Name))
		}
	}
	fill("request", &c.Resources.Requests, item.DefaultRequest)
	fill("limit", &c.Resources.Limits, item.Default)
	return notes
}

func (p *limitRanger) Validate(ctx context.Context, a *Attributes) error {
	if a.Subresource != "" && !(a.Resource == core("pods") && a.Subresource == "resize") {
		return nil
	}
	var measure func(item *corev1.LimitRangeItem) []string
	switch obj := a.Object.(type) {
	case *corev1.Pod:
		if a.Operation != Create && a.Subresource != "resize" {
			return nil // a pod's resources change by resize only
		}
		measure = func(item *corev1.LimitRangeItem) []string { return podViolations(obj, item) }
	case *corev1.PersistentVolumeClaim:
		measure = func(item *corev1.LimitRangeItem) []string {
			if item.Type != corev1.LimitTypePersistentVolumeClaim {
				return nil
			}
			return violations(item, obj.Spec.Resources.Requests, nil)
		}
	default:
		return nil
	}
	ranges, err := p.ranges(ctx, a)
	if err != nil {
		return err
	}
	var wrong []string
	for _, lr := range ranges {
		for i := range lr.Spec.Limits {
			wrong = append(wrong, measure(&lr.Spec.Limits[i])...)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	if len(wrong) == 1 {
		return forbid(a, "%s", wrong[0])
	}
	return forbid(a, "[%s]", strings.Join(wrong, ", "))
}

func podViolations(pod *corev1.Pod, item *corev1.LimitRangeItem) (wrong []string) {
	switch item.Type {
	case corev1.LimitTypeContainer:
		for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range list {
				wrong = append(wrong, violations(item, list[i].Resources.Requests, list[i].Resources.Limits)...)
			}
		}
	case corev1.LimitTypePod:
		wrong = violations(item, quota.PodTotal(pod, quota.Requests), quota.PodTotal(pod, quota.Limits))
	}
	return wrong
}

// violations compares requests and limits with min, max and ratio. Each bound is reported at most once per
// resource: a request defaults to its limit. Claims have requests only.
func violations(item *corev1.LimitRangeItem, requests, limits corev1.ResourceList) (wrong []string) {
	report := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	claim := item.Type == corev1.LimitTypePersistentVolumeClaim
	for _, name := range sortedNames(item.Min) {
		floor := item.Min[name]
		req, okReq := requests[name]
		limit, okLimit := limits[name]
		bound := fmt.Sprintf("minimum %s usage per %s is %s", name, item.Type, floor.String())
		switch {
		case !okReq:
			report("%s.  No request is specified", bound)
		case req.Cmp(floor) < 0:
			report("%s, but request is %s", bound, req.String())
		case okLimit && limit.Cmp(floor) < 0:
			report("%s, but limit is %s", bound, limit.String())
		}
	}
	for _, name := range sortedNames(item.Max) {
		ceiling := item.Max[name]
		req, okReq := requests[name]
		limit, okLimit := limits[name]
		bound := fmt.Sprintf("maximum %s usage per %s is %s", name, item.Type, ceiling.String())
		switch {
		case claim && !okReq:
			report("%s.  No request is specified", bound)
		case !claim && !okLimit:
			report("%s.  No limit is specified", bound)
		case okLimit && limit.Cmp(ceiling) > 0:
			report("%s, but limit is %s", bound, limit.String())
		case okReq && req.Cmp(ceiling) > 0:
			report("%s, but request is %s", bound, req.String())
		}
	}
	for _, name := range sortedNames(item.MaxLimitRequestRatio) {
		ratio := item.MaxLimitRequestRatio[name]
		req, limit := requests[name], limits[name]
		bound := fmt.Sprintf("%s max limit to request ratio per %s is %s", name, item.Type, ratio.String())
		switch {
		case req.IsZero():
			report("%s, but no request is specified or request is 0", bound)
		case limit.IsZero():
			report("%s, but no limit is specified or limit is 0", bound)
		default:
			if got := limit.AsApproximateFloat64() / req.AsApproximateFloat64(); got > ratio.AsApproximateFloat64() {
				report("%s, but provided ratio is %f", bound, got)
			}
		}
	}
	return wrong
}
