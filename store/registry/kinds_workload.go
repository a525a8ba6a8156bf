package registry

import (
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// workloadStrategy is the strategy of kinds that make pods.
func workloadStrategy(_ *Registry, obj metav1.Object) (Strategy, bool) {
	if _, ok := obj.(*batchv1.Job); ok {
		return Strategy{PrepareCreate: on(prepareJob)}, true
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

// The labels that tie a job's pods to it, each under its old and its new name.
const (
	labelControllerUID    = "batch.kubernetes.io/controller-uid"
	labelOldControllerUID = "controller-uid"
	labelJobName          = "batch.kubernetes.io/job-name"
	labelOldJobName       = "job-name"
)

// prepareJob gives a job a selector and labels that no other job shares, unless its author brings them.
func prepareJob(job *batchv1.Job) {
	if job.Spec.ManualSelector != nil && *job.Spec.ManualSelector {
		return
	}
	if job.Spec.Template.Labels == nil {
		job.Spec.Template.Labels = map[string]string{}
	}
	uid := string(job.UID)
	for k, v := range map[string]string{labelControllerUID: uid, labelOldControllerUID: uid, labelJobName: job.Name, labelOldJobName: job.Name} {
		if _, set := job.Spec.Template.Labels[k]; !set {
			job.Spec.Template.Labels[k] = v
		}
	}
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	if job.Spec.Selector.MatchLabels == nil {
		job.Spec.Selector.MatchLabels = map[string]string{}
	}
	if _, set := job.Spec.Selector.MatchLabels[labelControllerUID]; !set {
		job.Spec.Selector.MatchLabels[labelControllerUID] = uid
	}
}
