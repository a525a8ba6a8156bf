package nodev1

import "github.com/keelson-dev/keelson/apimachinery/api/corev1"

// DefaultRuntimeClass rounds the overhead's quantities.
func DefaultRuntimeClass(c *RuntimeClass) {
	if c.Overhead != nil {
		corev1.DefaultResourceList(c.Overhead.PodFixed)
	}
}
