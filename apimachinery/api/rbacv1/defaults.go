package rbacv1

// DefaultRoleBinding sets the API groups of the role and of the subjects.
func DefaultRoleBinding(b *RoleBinding) { defaultBinding(&b.RoleRef, b.Subjects) }

// DefaultClusterRoleBinding sets the API groups of the role and of the subjects.
func DefaultClusterRoleBinding(b *ClusterRoleBinding) { defaultBinding(&b.RoleRef, b.Subjects) }

func defaultBinding(ref *RoleRef, subjects []Subject) {
	if ref.APIGroup == "" {
		ref.APIGroup = GroupVersion.Group
	}
	for i := range subjects {
		s := &subjects[i]
		if s.APIGroup == "" && (s.Kind == UserKind || s.Kind == GroupKind) {
			s.APIGroup = GroupVersion.Group
		}
	}
}
