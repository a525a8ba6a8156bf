package main

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
	"github.com/keelson-dev/keelson/client/rest"
)

// Manifests of permissions that the bootstrap policy and the authorizer Node do not grant.
var (
	// rightsOfFakeNodes are those of the program that simulates nodes, the user keelson:fake-nodes.
	//go:embed rights/fake-nodes.yaml
	rightsOfFakeNodes string
	// rightsOfMetrics are those of the part that serves the APIs of metrics, the user
	// keelson:resource-metrics.
	//go:embed rights/resource-metrics.yaml
	rightsOfMetrics string
	// rightsOnKubelets let the user kube-apiserver-kubelet-client, as whom API servers connect to kubelets,
	// use their API.
	//go:embed rights/kubelet-api.yaml
	rightsOnKubelets string
)

// rightsResources are the resources of the kinds in the manifests.
var rightsResources = map[string]string{"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "Role": "roles", "RoleBinding": "rolebindings"}

// grant applies manifests of permissions.
func (c *cluster) grant(ctx context.Context, manifests ...string) error {
	conn, err := rest.New(c.restConfig(c.pki.program, "cluster"), rest.Options{Logger: c.log})
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, m := range manifests {
		if err := applyRights(ctx, conn, m); err != nil {
			return err
		}
	}
	return nil
}

// applyRights applies a manifest of permissions. Those that an earlier version of it granted, and this one
// does not, are revoked.
func applyRights(ctx context.Context, conn client.Conn, manifest string) error {
	for doc := range strings.SplitSeq(manifest, "\n---\n") {
		if err := applyRight(ctx, conn, doc); err != nil {
			return fmt.Errorf("rights: %w", err)
		}
	}
	return nil
}

func applyRight(ctx context.Context, conn client.Conn, doc string) error {
	var obj metav1.PartialObjectMetadata
	if _, err := codec.UnmarshalYAML([]byte(doc), &obj, codec.DecodeOptions{}); err != nil {
		return err
	}
	_, err := conn.Do(ctx, &client.Request{Method: http.MethodPatch, Resource: rbacv1.GroupVersion.WithResource(rightsResources[obj.Kind]),
		Namespace: obj.Namespace, Name: obj.Name, Query: url.Values{"fieldManager": {"keelson"}, "force": {"true"}},
		ContentType: "application/apply-patch+yaml", Body: []byte(doc)})
	if err != nil {
		return fmt.Errorf("%s %s: %w", obj.Kind, obj.Name, err)
	}
	return nil
}
