package builtin

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/store/columns"
)

var configMapTable = columns.Of(func(o *corev1.ConfigMap, now time.Time) []any {
	return []any{o.Name, int64(len(o.Data) + len(o.BinaryData)), columns.AgeOf(o, now)}
}, columns.Name(), columns.Text("Data", "Number of keys."), columns.Age())

var secretTable = columns.Of(func(o *corev1.Secret, now time.Time) []any {
	return []any{o.Name, string(o.Type), int64(len(o.Data)), columns.AgeOf(o, now)}
}, columns.Name(), columns.Text("Type", "What the secret is used for."), columns.Text("Data", "Number of keys."), columns.Age())

var serviceAccountTable = columns.Of(func(o *corev1.ServiceAccount, now time.Time) []any {
	return []any{o.Name, columns.AgeOf(o, now)}
}, columns.Name(), columns.Age())

var namespaceTable = columns.Of(func(o *corev1.Namespace, now time.Time) []any {
	return []any{o.Name, string(o.Status.Phase), columns.AgeOf(o, now)}
}, columns.Name(), columns.Text("Status", "Active, or Terminating while its content is removed."), columns.Age())

var podTemplateTable = columns.Of(func(o *corev1.PodTemplate, _ time.Time) []any {
	names, images := containersText(o.Template.Spec.Containers)
	return []any{o.Name, names, images, labelsText(o.Template.Labels)}
}, columns.Name(), columns.Text("Containers", "Names of the containers."), columns.Text("Images", "Images of the containers."),
	columns.Text("Pod Labels", "Labels pods get from the template."))

var ComponentStatusTable = columns.Of(func(o *corev1.ComponentStatus, _ time.Time) []any {
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
}, columns.Name(), columns.Text("Status", "Healthy, Unhealthy or Unknown."), columns.Text("Message", "What the component said."),
	columns.Text("Error", "Why the component could not be queried."))

var resourceQuotaTable = columns.Of(func(o *corev1.ResourceQuota, now time.Time) []any {
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
	return []any{o.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), columns.AgeOf(o, now)}
}, columns.Name(), columns.Text("Request", "Requests and counts, used of allowed."), columns.Text("Limit", "Limits, used of allowed."), columns.Age())
