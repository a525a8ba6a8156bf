package builtin

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// batch returns the kinds of the group batch.
func batch(s *scheme.Scheme) []registry.Definition {
	gv := batchv1.GroupVersion
	return []registry.Definition{
		{
			Info: kind[*batchv1.CronJob](s, gv), Table: cronJobTable,
			Strategy: registry.Strategy{Generation: registry.OnSpec},
		},
		{
			Info: kind[*batchv1.Job](s, gv), Table: jobTable,
			Strategy: registry.Strategy{Generation: registry.OnSpec, Orphans: true, PrepareCreate: on(prepareJob)},
			Fields: registry.Fields{
				Names: []string{"status.successful"},
				Paths: []string{"status.succeeded"},
				Of: func(obj metav1.Object, add func(name, value string)) {
					add("status.successful", strconv.Itoa(int(obj.(*batchv1.Job).Status.Succeeded)))
				},
				Unknown: func(selector string) string {
					return fmt.Sprintf("field label %q not supported for batchv1.Job", selector)
				},
			},
		},
	}
}

// prepareJob generates the selector, and copies the labels of the pods to a job without labels.
func prepareJob(job *batchv1.Job) {
	batchv1.GenerateSelector(job)
	if len(job.Labels) == 0 {
		job.Labels = maps.Clone(job.Spec.Template.Labels)
	}
}
