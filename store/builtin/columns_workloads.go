package builtin

import (
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/columns"
)

func containerColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		columns.Wide(columns.Text("Containers", "Names of the containers.")),
		columns.Wide(columns.Text("Images", "Images of the containers.")),
		columns.Wide(columns.Text("Selector", "Labels of the pods.")),
	}
}

var deploymentTable = columns.Of(func(d *appsv1.Deployment, now time.Time) []any {
	names, images := containersText(d.Spec.Template.Spec.Containers)
	selector := "<invalid>"
	if sel, err := d.Spec.Selector.Selector(); err == nil {
		selector = sel.String()
	}
	return []any{
		d.Name, ratio(int64(d.Status.ReadyReplicas), int64(value(d.Spec.Replicas))), int64(d.Status.UpdatedReplicas),
		int64(d.Status.AvailableReplicas), columns.AgeOf(d, now), names, images, selector,
	}
}, append([]metav1.TableColumnDefinition{
	columns.Name(), columns.Text("Ready", "Ready pods of wanted pods."), columns.Text("Up-to-date", "Pods of the newest template."),
	columns.Text("Available", "Pods ready long enough to count."), columns.Age(),
}, containerColumns()...)...)

func replicaColumns() []metav1.TableColumnDefinition {
	return append([]metav1.TableColumnDefinition{
		columns.Name(), columns.Number("Desired", "Pods wanted."), columns.Number("Current", "Pods there are."), columns.Number("Ready", "Pods that are ready."), columns.Age(),
	}, containerColumns()...)
}

var replicaSetTable = columns.Of(func(r *appsv1.ReplicaSet, now time.Time) []any {
	names, images := containersText(r.Spec.Template.Spec.Containers)
	return []any{
		r.Name, int64(value(r.Spec.Replicas)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas), columns.AgeOf(r, now),
		names, images, selectorText(r.Spec.Selector),
	}
}, replicaColumns()...)

var replicationControllerTable = columns.Of(func(r *corev1.ReplicationController, now time.Time) []any {
	names, images := "", ""
	if r.Spec.Template != nil {
		names, images = containersText(r.Spec.Template.Spec.Containers)
	}
	return []any{
		r.Name, int64(value(r.Spec.Replicas)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas), columns.AgeOf(r, now),
		names, images, labelsText(r.Spec.Selector),
	}
}, replicaColumns()...)

var daemonSetTable = columns.Of(func(d *appsv1.DaemonSet, now time.Time) []any {
	names, images := containersText(d.Spec.Template.Spec.Containers)
	s := &d.Status
	return []any{
		d.Name, int64(s.DesiredNumberScheduled), int64(s.CurrentNumberScheduled), int64(s.NumberReady),
		int64(s.UpdatedNumberScheduled), int64(s.NumberAvailable), labelsText(d.Spec.Template.Spec.NodeSelector), columns.AgeOf(d, now),
		names, images, selectorText(d.Spec.Selector),
	}
}, append([]metav1.TableColumnDefinition{
	columns.Name(), columns.Number("Desired", "Nodes that should run the pod."), columns.Number("Current", "Nodes that run it."), columns.Number("Ready", "Nodes on which it is ready."),
	columns.Number("Up-to-date", "Nodes that run the newest template."), columns.Number("Available", "Nodes on which it has been ready long enough."),
	columns.Text("Node Selector", "Labels of the nodes to run on."), columns.Age(),
}, containerColumns()...)...)

var statefulSetTable = columns.Of(func(s *appsv1.StatefulSet, now time.Time) []any {
	names, images := containersText(s.Spec.Template.Spec.Containers)
	return []any{s.Name, ratio(int64(s.Status.ReadyReplicas), int64(value(s.Spec.Replicas))), columns.AgeOf(s, now), names, images}
}, columns.Name(), columns.Text("Ready", "Ready pods of wanted pods."), columns.Age(),
	columns.Wide(columns.Text("Containers", "Names of the containers.")), columns.Wide(columns.Text("Images", "Images of the containers.")))

var controllerRevisionTable = columns.Of(func(r *appsv1.ControllerRevision, now time.Time) []any {
	controller := none
	if ref := metav1.ControllerOf(r); ref != nil {
		gk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		controller = strings.ToLower(gk.Kind)
		if gk.Group != "" {
			controller += "." + gk.Group
		}
		controller += "/" + ref.Name
	}
	return []any{r.Name, controller, r.Revision, columns.AgeOf(r, now)}
}, columns.Name(), columns.Text("Controller", "Owner of the revision."), columns.Text("Revision", "Number of the revision."), columns.Age())

var jobTable = columns.Of(func(j *batchv1.Job, now time.Time) []any {
	names, images := containersText(j.Spec.Template.Spec.Containers)
	return []any{j.Name, jobStatus(j), jobCompletions(j), jobDuration(j, now), columns.AgeOf(j, now), names, images, selectorText(j.Spec.Selector)}
}, append([]metav1.TableColumnDefinition{
	columns.Name(), columns.Text("Status", "What the job is doing."), columns.Text("Completions", "Pods that succeeded of those that must."),
	columns.Text("Duration", "Time the job took, or has been running."), columns.Age(),
}, containerColumns()...)...)

func jobStatus(j *batchv1.Job) string {
	is := func(t batchv1.JobConditionType) bool {
		for i := range j.Status.Conditions {
			if j.Status.Conditions[i].Type == t {
				return j.Status.Conditions[i].Status == corev1.ConditionTrue
			}
		}
		return false
	}
	switch {
	case is(batchv1.JobComplete):
		return "Complete"
	case is(batchv1.JobFailed):
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case is(batchv1.JobSuspended):
		return "Suspended"
	case is(batchv1.JobFailureTarget):
		return "FailureTarget"
	case is(batchv1.JobSuccessCriteriaMet):
		return "SuccessCriteriaMet"
	}
	return "Running"
}

func jobCompletions(j *batchv1.Job) string {
	succeeded := int64(j.Status.Succeeded)
	if j.Spec.Completions != nil {
		return ratio(succeeded, int64(*j.Spec.Completions))
	}
	if n := value(j.Spec.Parallelism); n > 1 {
		return ratio(succeeded, 1) + " of " + strconv.Itoa(int(n))
	}
	return ratio(succeeded, 1)
}

func jobDuration(j *batchv1.Job, now time.Time) string {
	start, end := j.Status.StartTime, j.Status.CompletionTime
	switch {
	case start == nil:
		return ""
	case end == nil:
		return columns.HumanDuration(now.Sub(start.Time))
	}
	return columns.HumanDuration(end.Sub(start.Time))
}

var cronJobTable = columns.Of(func(c *batchv1.CronJob, now time.Time) []any {
	last := none
	if c.Status.LastScheduleTime != nil {
		last = columns.Since(c.Status.LastScheduleTime.Time, now)
	}
	suspend := unset
	if c.Spec.Suspend != nil {
		suspend = boolText(*c.Spec.Suspend)
	}
	job := &c.Spec.JobTemplate.Spec
	names, images := containersText(job.Template.Spec.Containers)
	return []any{
		c.Name, c.Spec.Schedule, orElse(value(c.Spec.TimeZone), none), suspend, int64(len(c.Status.Active)), last, columns.AgeOf(c, now),
		names, images, selectorText(job.Selector),
	}
}, append([]metav1.TableColumnDefinition{
	columns.Name(), columns.Text("Schedule", "When jobs are made, as a cron line."), columns.Text("Timezone", "Zone the schedule is in."),
	columns.Bool("Suspend", "Whether no jobs are made for now."), columns.Number("Active", "Jobs that run now."),
	columns.Text("Last Schedule", "Time since a job was made last."), columns.Age(),
}, containerColumns()...)...)
