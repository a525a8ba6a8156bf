package apiextensionsv1

import "strings"

// IsProtectedGroup reports whether a group belongs to the Kubernetes project itself. A definition in one
// names the review that approved it in the annotation [KubeAPIApprovedAnnotation].
func IsProtectedGroup(group string) bool {
	return group == "k8s.io" || group == "kubernetes.io" || strings.HasSuffix(group, ".k8s.io") || strings.HasSuffix(group, ".kubernetes.io")
}
