//go:build upstream

// Decisions of kube-apiserver's own RBAC, ABAC and Node authorizers, as lines of JSON: what
// TestAuthorizersBeside compares with. A line on the standard input is a world: roles, bindings, lines of an
// ABAC policy, the objects of the Node authorizer's graph, and requests. The line on the standard output says
// for each request what each authorizer decides. .ci/peers builds it; the build tag keeps it out of this
// module.
package main

import (
	"context"
	"os"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/auth/authorizer/abac"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/node"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"upstream/lines"
)

type world struct {
	Roles               []*rbacv1.Role
	RoleBindings        []*rbacv1.RoleBinding
	ClusterRoles        []*rbacv1.ClusterRole
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding
	ABAC                string
	Pods                []*v1.Pod
	Volumes             []*v1.PersistentVolume
	Attachments         []*storagev1.VolumeAttachment
	Slices              []*resourcev1.ResourceSlice
	Requests            []request
}

type request struct {
	User, Verb, Namespace, APIGroup, APIVersion, Resource, Subresource, Name, Path, FieldSelector string

	Groups          []string
	ResourceRequest bool
}

// decision has for each authorizer whether it allows the request.
type decision struct{ RBAC, ABAC, Node bool }

func main() {
	lines.Answer((*world).decide)
}

func (w *world) decide() ([]decision, error) {
	_, static := validation.NewTestRuleResolver(w.Roles, w.RoleBindings, w.ClusterRoles, w.ClusterRoleBindings)
	byRole := rbac.New(static, static, static, static)
	file, err := os.CreateTemp("", "abac")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	if _, err := file.WriteString(w.ABAC); err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	byFile, err := abac.NewFromFile(file.Name())
	if err != nil {
		return nil, err
	}
	byNode := node.NewAuthorizer(w.graph(), nodeidentifier.NewDefaultNodeIdentifier(), bootstrappolicy.NodeRules())
	out := make([]decision, len(w.Requests))
	for i := range w.Requests {
		a, err := w.Requests[i].attributes()
		if err != nil {
			return nil, err
		}
		allows := func(z authorizer.Authorizer) bool {
			d, _, _ := z.Authorize(context.Background(), a)
			return d == authorizer.DecisionAllow
		}
		out[i] = decision{allows(byRole), allows(byFile), allows(byNode)}
	}
	return out, nil
}

// graph holds what the populator, which is not exported, adds of each object.
func (w *world) graph() *node.Graph {
	g := node.NewGraph()
	for _, p := range w.Pods {
		if p.Spec.NodeName != "" {
			g.AddPod(p)
		}
	}
	for _, v := range w.Volumes {
		g.AddPV(v)
	}
	for _, a := range w.Attachments {
		g.AddVolumeAttachment(a.Name, a.Spec.NodeName)
	}
	for _, s := range w.Slices {
		if s.Spec.NodeName != nil {
			g.AddResourceSlice(s.Name, *s.Spec.NodeName)
		}
	}
	return g
}

func (r *request) attributes() (authorizer.Attributes, error) {
	selector, err := fields.ParseSelector(r.FieldSelector)
	if err != nil {
		return nil, err
	}
	return authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: r.User, Groups: r.Groups}, Verb: r.Verb, Namespace: r.Namespace, APIGroup: r.APIGroup, APIVersion: r.APIVersion,
		Resource: r.Resource, Subresource: r.Subresource, Name: r.Name, ResourceRequest: r.ResourceRequest, Path: r.Path,
		FieldSelectorRequirements: selector.Requirements(),
	}, nil
}
