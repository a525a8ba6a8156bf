package admission_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/admission"
)

// Pinned refuses pods whose images have no fixed version.
type Pinned struct{}

func (Pinned) Name() string { return "Pinned" }
func (Pinned) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

func (Pinned) Validate(_ context.Context, a *admission.Attributes) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || a.Subresource != "" {
		return nil
	}
	for _, c := range pod.Spec.Containers {
		if strings.HasSuffix(c.Image, ":latest") {
			return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf("image %s may change by itself", c.Image))
		}
	}
	return nil
}

// A plugin of one's own. It is put into a server with controlplane.Options.Plugins.
func Example() {
	var plugin admission.Validator = Pinned{}
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:latest"}}
	fmt.Println(plugin.Validate(context.Background(), &admission.Attributes{
		Operation: admission.Create, Resource: corev1.GroupVersion.WithResource("pods"), Name: "web", Object: pod}))
	// Output: pods "web" is forbidden: image app:latest may change by itself
}
