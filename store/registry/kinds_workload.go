package registry

import (
	"context"
	"maps"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// workloadStrategy is the strategy of kinds that make pods.
func workloadStrategy(_ *Registry, obj metav1.Object) (Strategy, bool) {
	switch obj.(type) {
	case *batchv1.Job:
		return Strategy{PrepareCreate: on(prepareJob)}, true
	case *appsv1.Deployment:
		return Strategy{PrepareStatus: func(_ context.Context, obj, old metav1.Object) { obj.SetLabels(old.GetLabels()) }}, true
	case *appsv1.DaemonSet:
		return Strategy{Complete: completeDaemonSet, PrepareCreate: on(func(ds *appsv1.DaemonSet) { setTemplateGeneration(ds, 1) }), PrepareUpdate: onBoth(prepareDaemonSet)}, true
	}
	return Strategy{}, false
}

// onRead returns what is done to a kind's objects decoded from the store, or nil.
func onRead(obj metav1.Object) func(metav1.Object) {
	if _, ok := obj.(*appsv1.StatefulSet); !ok {
		return nil
	}
	// The stored protobuf does not carry the kind of the claim templates, which clients see.
	return func(obj metav1.Object) {
		templates := obj.(*appsv1.StatefulSet).Spec.VolumeClaimTemplates
		for i := range templates {
			templates[i].APIVersion, templates[i].Kind = "v1", "PersistentVolumeClaim"
		}
	}
}

// prepareJob gives a job a selector of its own, and, where it has no labels, those of its pods.
func prepareJob(job *batchv1.Job) {
	batchv1.GenerateSelector(job)
	if len(job.Labels) == 0 {
		job.Labels = maps.Clone(job.Spec.Template.Labels)
	}
}

// prepareDaemonSet counts changes of the template in an annotation, which older clients read.
func prepareDaemonSet(ds, old *appsv1.DaemonSet) {
	n, err := strconv.ParseInt(old.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		n = 1
	}
	if !codec.Equal(&ds.Spec.Template, &old.Spec.Template) {
		n++
	}
	setTemplateGeneration(ds, n)
}

func setTemplateGeneration(ds *appsv1.DaemonSet, n int64) {
	text := strconv.FormatInt(n, 10)
	if ds.Annotations[appsv1.DeprecatedTemplateGeneration] == text {
		return
	}
	ds.Annotations = maps.Clone(ds.Annotations)
	if ds.Annotations == nil {
		ds.Annotations = map[string]string{}
	}
	ds.Annotations[appsv1.DeprecatedTemplateGeneration] = text
}

// completeDaemonSet makes the annotation part of what a client writes, and owns, as if it had sent it.
func completeDaemonSet(obj metav1.Object) {
	ds := obj.(*appsv1.DaemonSet)
	if _, ok := ds.Annotations[appsv1.DeprecatedTemplateGeneration]; !ok {
		setTemplateGeneration(ds, 0)
	}
}
