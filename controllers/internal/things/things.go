// Package things is a custom resource for tests of what controllers do with resources that are not built in.
package things

import (
	"io/fs"
	"testing/fstest"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
)

// Resource is the resource things.a.test, in namespaces.
var Resource = client.Resource{GVR: schema.GroupVersionResource{Group: "a.test", Version: "v1", Resource: "things"}, Namespaced: true}

// CRDs has the definition of the resource, for controllertest.Options.
func CRDs() fs.FS {
	return fstest.MapFS{"things.yaml": {Data: []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.a.test}
spec:
  group: a.test
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)}}
}
