// Package noderights gives nodes, and the API server towards them, the rights that they need in a cluster
// which RBAC alone authorizes. Each is a manifest, which a script can apply too.
package noderights

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// The manifests. In each NODE stands for a name.
var (
	// Node has the rights of one node, the user system:node:NODE.
	//go:embed node.yaml
	Node string
	// StaticPods has what a node with static pods needs besides.
	//go:embed static-pods.yaml
	StaticPods string
	// FakeNodes has the rights of a program that simulates nodes, the user keelson:NODE.
	//go:embed fake-nodes.yaml
	FakeNodes string
	// KubeletAPI lets the user kube-apiserver-kubelet-client, as whom API servers connect to kubelets, use
	// their API. It names no node.
	//go:embed kubelet-api.yaml
	KubeletAPI string
)

// resources are the resources of the kinds in the manifests.
var resources = map[string]string{"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "Role": "roles", "RoleBinding": "rolebindings"}

// Apply applies a manifest for a name. Rights that an earlier version of it gave, and this one does not, are
// taken away.
func Apply(ctx context.Context, conn client.Conn, manifest, name string) error {
	for doc := range strings.SplitSeq(strings.ReplaceAll(manifest, "NODE", name), "\n---\n") {
		var obj metav1.PartialObjectMetadata
		if _, err := codec.UnmarshalYAML([]byte(doc), &obj, codec.DecodeOptions{}); err != nil {
			return fmt.Errorf("rights of %s: %w", name, err)
		}
		_, err := conn.Do(ctx, &client.Request{Method: http.MethodPatch, Resource: rbacv1.GroupVersion.WithResource(resources[obj.Kind]),
			Namespace: obj.Namespace, Name: obj.Name, Query: url.Values{"fieldManager": {"keelson"}, "force": {"true"}},
			ContentType: "application/apply-patch+yaml", Body: []byte(doc)})
		if err != nil {
			return fmt.Errorf("rights of %s: %s %s: %w", name, obj.Kind, obj.Name, err)
		}
	}
	return nil
}
