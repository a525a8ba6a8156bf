package apidiscoveryv2

import (
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "apidiscovery.k8s.io", Version: "v2"}
