package columns

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

var configMapTable = Of(func(o *corev1.ConfigMap, now time.Time) []any {
	return []any{o.Name, int64(len(o.Data) + len(o.BinaryData)), ageOf(o, now)}
}, name(), text("Data", "Number of keys."), age())

var secretTable = Of(func(o *corev1.Secret, now time.Time) []any {
	return []any{o.Name, string(o.Type), int64(len(o.Data)), ageOf(o, now)}
}, name(), text("Type", "What the secret is used for."), text("Data", "Number of keys."), age())

var serviceAccountTable = Of(func(o *corev1.ServiceAccount, now time.Time) []any {
	return []any{o.Name, ageOf(o, now)}
}, name(), age())

var namespaceTable = Of(func(o *corev1.Namespace, now time.Time) []any {
	return []any{o.Name, string(o.Status.Phase), ageOf(o, now)}
}, name(), text("Status", "Active, or Terminating while its content is removed."), age())

var podTemplateTable = Of(func(o *corev1.PodTemplate, _ time.Time) []any {
	names, images := containersText(o.Template.Spec.Containers)
	return []any{o.Name, names, images, labelsText(o.Template.Labels)}
}, name(), text("Containers", "Names of the containers."), text("Images", "Images of the containers."),
	text("Pod Labels", "Labels pods get from the template."))

var componentStatusTable = Of(func(o *corev1.ComponentStatus, _ time.Time) []any {
	status, message, problem := "Unknown", "", ""
	for _, c := range o.Conditions {
		if c.Type != "Healthy" {
			continue
		}
		if status = "Unhealthy"; c.Status == corev1.ConditionTrue {
			status = "Healthy"
		}
		message, problem = c.Message, c.Error
		break
	}
	return []any{o.Name, status, message, problem}
}, name(), text("Status", "Healthy, Unhealthy or Unknown."), text("Message", "What the component said."),
	text("Error", "Why the component could not be asked."))

var resourceQuotaTable = Of(func(o *corev1.ResourceQuota, now time.Time) []any {
	var requests, limits []string
	for _, r := range slices.Sorted(maps.Keys(o.Status.Hard)) {
		used, hard := o.Status.Used[r], o.Status.Hard[r]
		entry := string(r) + ": " + used.String() + "/" + hard.String()
		if strings.HasPrefix(string(r), "limits") {
			limits = append(limits, entry)
		} else {
			requests = append(requests, entry)
		}
	}
	return []any{o.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), ageOf(o, now)}
}, name(), text("Request", "Requests and counts, used of allowed."), text("Limit", "Limits, used of allowed."), age())
