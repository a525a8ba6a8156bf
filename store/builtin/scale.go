package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/registry"
)

// scale returns the scale subresource of a kind that keeps the desired number of replicas in spec.replicas.
// desired returns that field; current returns the number there are, and the selector of the pods, which may
// be nil.
func scale[T metav1.Object](desired func(obj T) **int32, current func(obj T) (int32, *metav1.LabelSelector)) *registry.Scale {
	return &registry.Scale{
		Replicas: []string{"spec", "replicas"},
		Get: func(obj metav1.Object) (registry.Replicas, error) {
			n, pods := current(obj.(T))
			out := registry.Replicas{Current: n}
			if p := *desired(obj.(T)); p != nil {
				out.Desired = *p
			}
			if pods != nil {
				selector, err := pods.Selector()
				if err != nil {
					return out, err
				}
				out.Selector = selector.String()
			}
			return out, nil
		},
		Set: func(obj metav1.Object, n int32) error {
			*desired(obj.(T)) = &n
			return nil
		},
	}
}
