package nodev1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidateRuntimeClass checks a class to be created.
func ValidateRuntimeClass(c *RuntimeClass) validation.ErrorList {
	var r check.Report
	r.Name(validation.NewPath("handler"), c.Handler, validation.NameIsLabel)
	if o := c.Overhead; o != nil {
		r.Add(corev1.ValidateOverhead(o.PodFixed, validation.NewPath("overhead")))
	}
	if s := c.Scheduling; s != nil {
		r.Add(validation.Labels(validation.NewPath("scheduling", "nodeSelector"), s.NodeSelector))
		p := validation.NewPath("scheduling", "tolerations")
		r.Add(corev1.ValidateTolerations(s.Tolerations, p))
		for i := range s.Tolerations {
			for j := range i {
				if check.Same(s.Tolerations[i], s.Tolerations[j]) {
					r.Duplicate(p.Index(i), s.Tolerations[i])
					break
				}
			}
		}
	}
	return r.List()
}

// ValidateRuntimeClassUpdate checks a change of a class; its handler stays.
func ValidateRuntimeClassUpdate(c, old *RuntimeClass) validation.ErrorList {
	var r check.Report
	r.Add(ValidateRuntimeClass(c))
	check.Immutable(&r, validation.NewPath("handler"), c.Handler, old.Handler)
	return r.List()
}
