package daemonset

import (
	"context"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// generationLabel has the number of the template, which clients before ControllerRevisions read.
const generationLabel = "pod-template-generation"

// apply does what a plan says, and returns after how long a node whose pod has failed may try again.
func (d *daemonSets) apply(ctx context.Context, s *state, p plan) (again time.Duration, err error) {
	for _, pod := range p.ended {
		if pod.Status.Phase == corev1.PodSucceeded {
			d.Recorder.Eventf(s.set, corev1.EventTypeNormal, "SucceededDaemonPod", "Found succeeded daemon pod %s/%s on node %s, will try to delete it", pod.Namespace, pod.Name, target(pod))
		} else if wait := d.failed.wait(failure{s.set.UID, s.set.Status.ObservedGeneration, target(pod)}, s.now); wait > 0 {
			if again == 0 || wait < again {
				again = wait
			}
			continue
		} else {
			d.Recorder.Eventf(s.set, corev1.EventTypeWarning, "FailedDaemonPod", "Found failed daemon pod %s/%s on node %s, will try to kill it", pod.Namespace, pod.Name, target(pod))
		}
		p.delete = append(p.delete, pod)
	}
	createErr := d.create(ctx, s, p.create[:min(len(p.create), burst)])
	deleteErr := podcontrol.DeleteAll(ctx, d.PodsAPI, p.delete[:min(len(p.delete), burst)], func(pod *corev1.Pod, err error) {
		if err != nil {
			d.Recorder.Eventf(s.set, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
			return
		}
		d.Recorder.Eventf(s.set, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
	})
	if createErr != nil {
		return again, createErr
	}
	return again, deleteErr
}

// create creates a pod for each of the nodes.
func (d *daemonSets) create(ctx context.Context, s *state, nodes []string) error {
	_, err := controllers.Batches(len(nodes), func(i int) error {
		pod, err := d.Create(ctx, newPod(s.set, s.hash, nodes[i]))
		if apierrors.HasCause(err, "NamespaceTerminating") {
			return err
		}
		if err != nil {
			d.Recorder.Eventf(s.set, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
			return err
		}
		d.Recorder.Eventf(s.set, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", pod.Name)
		return nil
	})
	return err
}

// newPod returns the pod for a node.
func newPod(ds *appsv1.DaemonSet, hash, node string) *corev1.Pod {
	pod := podcontrol.FromTemplate(&ds.Spec.Template, ds, kind, ds.Name)
	pod.Labels = podcontrol.WithLabel(pod.Labels, appsv1.DefaultDaemonSetUniqueLabelKey, hash)
	if g := ds.Annotations[appsv1.DeprecatedTemplateGeneration]; g != "" {
		pod.Labels[generationLabel] = g
	}
	pod.Spec.Tolerations = tolerationsOf(&ds.Spec.Template.Spec)
	require(pod, node)
	return pod
}
