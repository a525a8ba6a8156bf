package workload

import (
	"errors"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Plan is what a workload does, with everything read that it needs.
type Plan struct {
	*Selected
	steps   []step
	limits  map[string]float64
	compare Selector
}

// step is an operation with its templates.
type step struct {
	Op
	object        *objectTemplate   // what is made or changed; nil for the usual node, pod or namespace
	volume, claim *objectTemplate   // of each pod
	churned       []*objectTemplate // of a churn
}

// Plan reads the templates of a workload, tries them, and fills in its parameters.
func (s *Selected) Plan() (*Plan, error) {
	ops, err := s.filled()
	if err != nil {
		return nil, err
	}
	p := &Plan{Selected: s, compare: Selector{Name: throughput, DataBucket: "Average"}}
	p.limits, _ = limits(s.Workload.Threshold)
	for _, given := range []*Selector{s.Case.DefaultThresholdMetricSelector, s.Workload.ThresholdMetricSelector} {
		if given != nil {
			p.compare = *given
		}
	}
	collecting := false
	var errs []error
	for _, o := range ops {
		errs = append(errs, s.order(o, &collecting))
		next := step{Op: o}
		errs = append(errs, s.templates(&next))
		p.steps = append(p.steps, next)
	}
	return p, errors.Join(errs...)
}

// order reports collections of metrics that overlap, or end without having begun.
func (s *Selected) order(o Op, collecting *bool) error {
	switch {
	case o.Opcode == "stopCollectingMetrics" && !*collecting:
		return s.File.refuse(o.at+".opcode", "nothing collects metrics at this point")
	case (o.Opcode == "startCollectingMetrics" || o.CollectMetrics) && *collecting:
		return s.File.refuse(o.at+".opcode", "metrics are being collected at this point")
	}
	switch o.Opcode {
	case "startCollectingMetrics":
		*collecting = true
	case "stopCollectingMetrics":
		*collecting = false
	}
	return nil
}

// templates reads the templates of a step. The first object of each is made, so that a mistake is found
// before anything has been created.
func (s *Selected) templates(next *step) error {
	var errs []error
	read := func(field, path string, example any) (t *objectTemplate) {
		if path == "" {
			return nil
		}
		t, err := readTemplate(s.File.beside(path))
		if err == nil {
			err = t.decode(example, 0, max(deref(next.Count, 1), 1))
		}
		if err != nil {
			errs = append(errs, s.File.refuse(next.at+"."+field, "%w", err))
		}
		return t
	}
	switch next.Opcode {
	case "createNodes":
		next.object = read("nodeTemplatePath", next.NodeTemplatePath, &corev1.Node{})
		if next.NodeAllocatable != nil {
			for name, q := range next.NodeAllocatable.NodeAllocatable {
				if _, err := resource.Parse(q); err != nil {
					errs = append(errs, s.File.refuse(next.at+".nodeAllocatableStrategy.nodeAllocatable."+name, "%w", err))
				}
			}
		}
	case "createNamespaces":
		next.object = read("namespaceTemplatePath", next.NamespaceTemplatePath, &corev1.Namespace{})
	case "createPods":
		if next.PodTemplatePath == "" {
			next.PodTemplatePath = s.Case.DefaultPodTemplatePath
		}
		next.object = read("podTemplatePath", next.PodTemplatePath, &corev1.Pod{})
		next.volume = read("persistentVolumeTemplatePath", next.VolumeTemplatePath, &corev1.PersistentVolume{})
		next.claim = read("persistentVolumeClaimTemplatePath", next.ClaimTemplatePath, &corev1.PersistentVolumeClaim{})
	case "createResourceClaims":
		next.object = read("templatePath", next.TemplatePath, &resourcev1.ResourceClaim{})
	case "createAny", "updateAny":
		next.object = read("templatePath", next.TemplatePath, &metav1.Unstructured{})
	case "churn":
		for i, path := range next.TemplatePaths {
			next.churned = append(next.churned, read(fmt.Sprintf("templatePaths[%d]", i), path, &metav1.Unstructured{}))
		}
	}
	return errors.Join(errs...)
}
