package deployment

import (
	"maps"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// Annotations by which a Deployment and its ReplicaSets remember the history; kubectl rollout reads them.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	historyAnnotation  = "deployment.kubernetes.io/revision-history"
	desiredAnnotation  = "deployment.kubernetes.io/desired-replicas"
	maxAnnotation      = "deployment.kubernetes.io/max-replicas"
	appliedAnnotation  = "kubectl.kubernetes.io/last-applied-configuration"
)

func revision(annotations map[string]string) int64 {
	n, _ := strconv.ParseInt(annotations[revisionAnnotation], 10, 64)
	return n
}

// newSet returns the ReplicaSet of the current template.
func (f *facts) newSet(number int64) *appsv1.ReplicaSet {
	hash := podcontrol.TemplateHash(&f.dep.Spec.Template, f.dep.Status.CollisionCount)
	template := codec.DeepCopy(&f.dep.Spec.Template)
	template.Labels = podcontrol.WithLabel(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	selector := codec.DeepCopy(f.dep.Spec.Selector)
	selector.MatchLabels = podcontrol.WithLabel(selector.MatchLabels, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.dep.Namespace, Name: setName(f.dep.Name, hash), Labels: maps.Clone(template.Labels),
			OwnerReferences: []metav1.OwnerReference{metav1.NewControllerRef(f.dep, kind)},
			Annotations:     f.setAnnotations(f.sizeAnnotations(nil), number),
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: new(f.newSetSize()), MinReadySeconds: f.dep.Spec.MinReadySeconds, Selector: selector, Template: *template},
	}
}

// maxName is the length of the longest name of a ReplicaSet.
const maxName = 253

// setName returns the name of a set, in which that of the Deployment is shortened if it is too long.
func setName(deployment, hash string) string {
	return deployment[:min(len(deployment), maxName-1-len(hash))] + "-" + hash
}

// setAnnotations returns the annotations of the new set: those it has, the Deployment's own but for
// kubectl's, and the revision with the ones it had before.
func (f *facts) setAnnotations(have map[string]string, number int64) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	for k, v := range f.dep.Annotations {
		switch k {
		case revisionAnnotation, historyAnnotation, desiredAnnotation, maxAnnotation, appliedAnnotation:
		default:
			out[k] = v
		}
	}
	if before := revision(have); before > 0 && before != number {
		out[historyAnnotation] = lengthened(out[historyAnnotation], strconv.FormatInt(before, 10))
	}
	out[revisionAnnotation] = strconv.FormatInt(number, 10)
	return out
}

// sizeAnnotations returns annotations with the sizes the Deployment has.
func (f *facts) sizeAnnotations(have map[string]string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	out[desiredAnnotation] = strconv.Itoa(int(f.replicas()))
	out[maxAnnotation] = strconv.Itoa(int(f.replicas() + f.maxSurge()))
	return out
}

// historyLength bounds the list of revisions that a set has had, in bytes: all annotations of an object
// together have a limit.
const historyLength = 2000

// lengthened adds a revision to a list, whose oldest go when there is no room.
func lengthened(history, revision string) string {
	if history == "" {
		return revision
	}
	history += "," + revision
	for len(history) > historyLength {
		_, after, found := strings.Cut(history, ",")
		if !found {
			return revision
		}
		history = after
	}
	return history
}
