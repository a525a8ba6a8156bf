package admissionv1

import (
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "admission.k8s.io", Version: "v1"}
