package builtin

import (
	"maps"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// apps returns the kinds of the group apps.
func apps(s *scheme.Scheme) []registry.Definition {
	gv := appsv1.GroupVersion
	return []registry.Definition{
		{Info: kind[*appsv1.ControllerRevision](s, gv), Table: controllerRevisionTable},
		{
			Info: kind[*appsv1.DaemonSet](s, gv), Table: daemonSetTable,
			Strategy: registry.Strategy{
				Generation: registry.OnSpec, Complete: completeDaemonSet,
				PrepareCreate: on(func(ds *appsv1.DaemonSet) { setTemplateGeneration(ds, 1) }), PrepareUpdate: onBoth(prepareDaemonSet),
			},
		},
		{
			Info: kind[*appsv1.Deployment](s, gv), Table: deploymentTable,
			Scale: scale(func(d *appsv1.Deployment) **int32 { return &d.Spec.Replicas },
				func(d *appsv1.Deployment) (int32, *metav1.LabelSelector) { return d.Status.Replicas, d.Spec.Selector }),
			Strategy: registry.Strategy{
				Generation:    registry.OnSpecAndMetadata,
				PrepareStatus: onBoth(func(d, old *appsv1.Deployment) { d.Labels = old.Labels }),
			},
		},
		{
			Info: kind[*appsv1.ReplicaSet](s, gv), Table: replicaSetTable,
			Scale: scale(func(rs *appsv1.ReplicaSet) **int32 { return &rs.Spec.Replicas },
				func(rs *appsv1.ReplicaSet) (int32, *metav1.LabelSelector) {
					return rs.Status.Replicas, rs.Spec.Selector
				}),
			Strategy: registry.Strategy{Generation: registry.OnSpec},
		},
		{
			Info: kind[*appsv1.StatefulSet](s, gv), Table: statefulSetTable,
			Scale: scale(func(set *appsv1.StatefulSet) **int32 { return &set.Spec.Replicas },
				func(set *appsv1.StatefulSet) (int32, *metav1.LabelSelector) {
					return set.Status.Replicas, set.Spec.Selector
				}),
			Strategy: registry.Strategy{Generation: registry.OnSpec}, OnRead: setTemplateKinds,
		},
	}
}

// setTemplateKinds sets the kind of the claim templates, which clients see and the stored protobuf lacks.
func setTemplateKinds(obj metav1.Object) {
	templates := obj.(*appsv1.StatefulSet).Spec.VolumeClaimTemplates
	for i := range templates {
		templates[i].APIVersion, templates[i].Kind = "v1", "PersistentVolumeClaim"
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

// completeDaemonSet sets the annotation before ownership is recorded, so that the client owns it as if it had
// sent it.
func completeDaemonSet(obj metav1.Object) {
	ds := obj.(*appsv1.DaemonSet)
	if _, ok := ds.Annotations[appsv1.DeprecatedTemplateGeneration]; !ok {
		setTemplateGeneration(ds, 0)
	}
}
