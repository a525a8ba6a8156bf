package columns

import (
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func bindingColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		name(), text("Role", "Role that is granted."), age(), wide(text("Users", "Users who get it.")),
		wide(text("Groups", "Groups that get it.")), wide(text("ServiceAccounts", "Service accounts that get it.")),
	}
}

var roleBindingTable = Of(func(b *rbacv1.RoleBinding, now time.Time) []any {
	return bindingRow(b, b.RoleRef, b.Subjects, now)
}, bindingColumns()...)

var clusterRoleBindingTable = Of(func(b *rbacv1.ClusterRoleBinding, now time.Time) []any {
	return bindingRow(b, b.RoleRef, b.Subjects, now)
}, bindingColumns()...)

func bindingRow(obj metav1.Object, role rbacv1.RoleRef, subjects []rbacv1.Subject, now time.Time) []any {
	var users, groups, accounts []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	return []any{
		obj.GetName(), role.Kind + "/" + role.Name, ageOf(obj, now),
		strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", "),
	}
}

var signingRequestTable = Of(func(r *certificatesv1.CertificateSigningRequest, now time.Time) []any {
	duration := none
	if s := r.Spec.ExpirationSeconds; s != nil {
		duration = HumanDuration(time.Duration(*s) * time.Second)
	}
	return []any{r.Name, ageOf(r, now), orElse(r.Spec.SignerName, none), r.Spec.Username, duration, signingStatus(r)}
}, name(), age(), text("SignerName", "Who is asked to sign."), text("Requestor", "Who asked."),
	text("RequestedDuration", "How long the certificate should be valid."), text("Condition", "What has been decided."))

func signingStatus(r *certificatesv1.CertificateSigningRequest) string {
	var approved, denied, failed bool
	for _, c := range r.Status.Conditions {
		switch c.Type {
		case certificatesv1.CertificateApproved:
			approved = true
		case certificatesv1.CertificateDenied:
			denied = true
		case certificatesv1.CertificateFailed:
			failed = true
		}
	}
	status := "Pending"
	if denied {
		status = "Denied"
	} else if approved {
		status = "Approved"
	}
	if failed {
		status += ",Failed"
	}
	if len(r.Status.Certificate) > 0 {
		status += ",Issued"
	}
	return status
}
