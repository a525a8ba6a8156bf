package columns

import (
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

func containerColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		wide(text("Containers", "Names of the containers.")),
		wide(text("Images", "Images of the containers.")),
		wide(text("Selector", "Labels of the pods.")),
	}
}

var deploymentTable = Of(func(d *appsv1.Deployment, now time.Time) []any {
	names, images := containersText(d.Spec.Template.Spec.Containers)
	selector := "<invalid>"
	if sel, err := d.Spec.Selector.Selector(); err == nil {
		selector = sel.String()
	}
	return []any{
		d.Name, ratio(int64(d.Status.ReadyReplicas), int64(value(d.Spec.Replicas))), int64(d.Status.UpdatedReplicas),
		int64(d.Status.AvailableReplicas), ageOf(d, now), names, images, selector,
	}
}, append([]metav1.TableColumnDefinition{
	name(), text("Ready", "Ready pods of wanted pods."), text("Up-to-date", "Pods of the newest template."),
	text("Available", "Pods ready long enough to count."), age(),
}, containerColumns()...)...)

func replicaColumns() []metav1.TableColumnDefinition {
	return append([]metav1.TableColumnDefinition{
		name(), number("Desired", "Pods wanted."), number("Current", "Pods there are."), number("Ready", "Pods that are ready."), age(),
	}, containerColumns()...)
}

var replicaSetTable = Of(func(r *appsv1.ReplicaSet, now time.Time) []any {
	names, images := containersText(r.Spec.Template.Spec.Containers)
	return []any{
		r.Name, int64(value(r.Spec.Replicas)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas), ageOf(r, now),
		names, images, selectorText(r.Spec.Selector),
	}
}, replicaColumns()...)

var replicationControllerTable = Of(func(r *corev1.ReplicationController, now time.Time) []any {
	names, images := "", ""
	if r.Spec.Template != nil {
		names, images = containersText(r.Spec.Template.Spec.Containers)
	}
	return []any{
		r.Name, int64(value(r.Spec.Replicas)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas), ageOf(r, now),
		names, images, labelsText(r.Spec.Selector),
	}
}, replicaColumns()...)

var daemonSetTable = Of(func(d *appsv1.DaemonSet, now time.Time) []any {
	names, images := containersText(d.Spec.Template.Spec.Containers)
	s := &d.Status
	return []any{
		d.Name, int64(s.DesiredNumberScheduled), int64(s.CurrentNumberScheduled), int64(s.NumberReady),
		int64(s.UpdatedNumberScheduled), int64(s.NumberAvailable), labelsText(d.Spec.Template.Spec.NodeSelector), ageOf(d, now),
		names, images, selectorText(d.Spec.Selector),
	}
}, append([]metav1.TableColumnDefinition{
	name(), number("Desired", "Nodes that should run the pod."), number("Current", "Nodes that run it."), number("Ready", "Nodes on which it is ready."),
	number("Up-to-date", "Nodes that run the newest template."), number("Available", "Nodes on which it has been ready long enough."),
	text("Node Selector", "Labels of the nodes to run on."), age(),
}, containerColumns()...)...)

var statefulSetTable = Of(func(s *appsv1.StatefulSet, now time.Time) []any {
	names, images := containersText(s.Spec.Template.Spec.Containers)
	return []any{s.Name, ratio(int64(s.Status.ReadyReplicas), int64(value(s.Spec.Replicas))), ageOf(s, now), names, images}
}, name(), text("Ready", "Ready pods of wanted pods."), age(),
	wide(text("Containers", "Names of the containers.")), wide(text("Images", "Images of the containers.")))

var controllerRevisionTable = Of(func(r *appsv1.ControllerRevision, now time.Time) []any {
	controller := none
	if ref := metav1.ControllerOf(r); ref != nil {
		gk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		controller = strings.ToLower(gk.Kind)
		if gk.Group != "" {
			controller += "." + gk.Group
		}
		controller += "/" + ref.Name
	}
	return []any{r.Name, controller, r.Revision, ageOf(r, now)}
}, name(), text("Controller", "Owner of the revision."), text("Revision", "Number of the revision."), age())

var jobTable = Of(func(j *batchv1.Job, now time.Time) []any {
	names, images := containersText(j.Spec.Template.Spec.Containers)
	return []any{j.Name, jobStatus(j), jobCompletions(j), jobDuration(j, now), ageOf(j, now), names, images, selectorText(j.Spec.Selector)}
}, append([]metav1.TableColumnDefinition{
	name(), text("Status", "What the job is doing."), text("Completions", "Pods that succeeded of those that must."),
	text("Duration", "Time the job took, or has been running."), age(),
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
		return HumanDuration(now.Sub(start.Time))
	}
	return HumanDuration(end.Sub(start.Time))
}

var cronJobTable = Of(func(c *batchv1.CronJob, now time.Time) []any {
	last := none
	if c.Status.LastScheduleTime != nil {
		last = since(c.Status.LastScheduleTime.Time, now)
	}
	suspend := unset
	if c.Spec.Suspend != nil {
		suspend = boolText(*c.Spec.Suspend)
	}
	job := &c.Spec.JobTemplate.Spec
	names, images := containersText(job.Template.Spec.Containers)
	return []any{
		c.Name, c.Spec.Schedule, orElse(value(c.Spec.TimeZone), none), suspend, int64(len(c.Status.Active)), last, ageOf(c, now),
		names, images, selectorText(job.Selector),
	}
}, append([]metav1.TableColumnDefinition{
	name(), text("Schedule", "When jobs are made, as a cron line."), text("Timezone", "Zone the schedule is in."),
	flag("Suspend", "Whether no jobs are made for now."), number("Active", "Jobs that run now."),
	text("Last Schedule", "Time since a job was made last."), age(),
}, containerColumns()...)...)
