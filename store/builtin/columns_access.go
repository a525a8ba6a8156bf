package builtin

import (
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/columns"
)

func bindingColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		columns.Name(), columns.Text("Role", "Role that is granted."), columns.Age(), columns.Wide(columns.Text("Users", "Users who get it.")),
		columns.Wide(columns.Text("Groups", "Groups that get it.")), columns.Wide(columns.Text("ServiceAccounts", "Service accounts that get it.")),
	}
}

var roleBindingTable = columns.Of(func(b *rbacv1.RoleBinding, now time.Time) []any {
	return bindingRow(b, b.RoleRef, b.Subjects, now)
}, bindingColumns()...)

var clusterRoleBindingTable = columns.Of(func(b *rbacv1.ClusterRoleBinding, now time.Time) []any {
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
		obj.GetName(), role.Kind + "/" + role.Name, columns.AgeOf(obj, now),
		strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", "),
	}
}

var signingRequestTable = columns.Of(func(r *certificatesv1.CertificateSigningRequest, now time.Time) []any {
	duration := none
	if s := r.Spec.ExpirationSeconds; s != nil {
		duration = columns.HumanDuration(time.Duration(*s) * time.Second)
	}
	return []any{r.Name, columns.AgeOf(r, now), orElse(r.Spec.SignerName, none), r.Spec.Username, duration, signingStatus(r)}
}, columns.Name(), columns.Age(), columns.Text("SignerName", "Name of the signer."), columns.Text("Requestor", "User who made the request."),
	columns.Text("RequestedDuration", "How long the certificate should be valid."), columns.Text("Condition", "What has been decided."))

var trustBundleTable = columns.Of(func(b *certificatesv1beta1.ClusterTrustBundle, _ time.Time) []any {
	return []any{b.Name, orElse(b.Spec.SignerName, none)}
}, columns.Name(), columns.Text("SignerName", "Name of the signer, if any."))

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

var podCertificateTable = columns.Of(func(r *certificatesv1beta1.PodCertificateRequest, _ time.Time) []any {
	state := "Pending"
	if result := r.Result(); result != nil {
		state = result.Type
	}
	return []any{r.Name, r.Spec.PodName, r.Spec.ServiceAccountName, r.Spec.NodeName, r.Spec.SignerName, state, labelsText(r.Spec.UnverifiedUserAnnotations)}
}, columns.Name(), columns.Text("PodName", "Pod that the certificate is for."), columns.Text("ServiceAccountName", "Service account of the pod."), columns.Text("NodeName", "Node of the pod."),
	columns.Text("SignerName", "Signer that is to issue the certificate."), columns.Text("State", "Result of the request."), columns.Wide(columns.Text("UnverifiedUserAnnotations", "Additional information for the signer.")))
