package main

import (
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/builtin/selinuxwarning"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// Two pods that exclude each other from a volume are measured, each with the other.
func TestLabelConflictsAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, err := completed()
		require.NoError(t, err)
		c := controllertest.Start(t, controllertest.Options{})
		c.Run(c.Manager("controllers", func(m *manager.Manager) error { return selinuxwarning.Add(m, o.builtin.SELinuxWarning) }))
		controllertest.Create(c, &storagev1.CSIDriver{ObjectMeta: controllertest.Name("", "csi.example.com"), Spec: storagev1.CSIDriverSpec{SELinuxMount: new(true)}})
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "data")}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		claim.Spec.Resources.Requests = corev1.ResourceList{"storage": resource.MustParse("1Gi")}
		claim.Spec.VolumeName = "pv"
		claim = controllertest.Create(c, claim)
		pv := &corev1.PersistentVolume{ObjectMeta: controllertest.Name("", "pv")}
		pv.Spec.AccessModes, pv.Spec.Capacity = claim.Spec.AccessModes, claim.Spec.Resources.Requests
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: "disk"}
		pv.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: "data", UID: claim.UID}
		controllertest.Create(c, pv)
		c.Settle()
		for name, level := range map[string]string{"a": "s0:c1", "b": "s0:c2"} {
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
			p.Spec.SecurityContext = &corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: level}}
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}}}
			controllertest.Create(c, p)
		}
		c.Settle()
		r := prometheus.NewRegistry()
		r.MustRegister(o.Collectors...)
		families, err := r.Gather()
		require.NoError(t, err)
		var pairs []string
		for _, f := range families {
			if f.GetName() != "selinux_warning_controller_selinux_volume_conflict" {
				continue
			}
			for _, m := range f.GetMetric() {
				l := m.GetLabel()
				pairs = append(pairs, l[0].GetValue()+"/"+l[1].GetValue()+l[2].GetValue()+" "+l[3].GetValue()+"/"+l[4].GetValue()+l[5].GetValue()+" "+l[6].GetValue())
			}
		}
		require.ElementsMatch(t, []string{"a/default:::s0:c1 b/default:::s0:c2 SELinuxLabel", "b/default:::s0:c2 a/default:::s0:c1 SELinuxLabel"}, pairs)
	})
}
