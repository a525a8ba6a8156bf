package kubelet_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecsi"
)

// ask returns what the read-only server has at a path.
func (r *rig) ask(path string) string {
	answer := httptest.NewRecorder()
	r.k.ReadOnly().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	require.Equal(r.t, http.StatusOK, answer.Code, path)
	return answer.Body.String()
}

// What drivers report of volumes is in the summary and the metrics, by their claims. The volume of an
// ephemeral claim is among them, if the pod owns the claim.
func TestCSIUsage(t *testing.T) {
	withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{}, func(t *testing.T, x *disks) {
		x.claim("a", nil)
		x.pod("p", uses("a"), "c")
		ephemeral := func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "own", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}}}}}
			p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "own", MountPath: "/own"}}
		}
		e := x.pod("e", ephemeral, "c")
		x.claim("e-own", nil)
		time.Sleep(30 * time.Second)
		require.False(t, ready(x.get("e")))
		require.Contains(t, strings.Join(x.events("e"), "\n"), "PVC was not created for pod e (pod is not owner)")
		controllertest.Update(x.c, "default", "e-own", func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "e", UID: e.UID, Controller: new(true)}}
		})
		time.Sleep(5 * time.Minute)
		require.True(t, ready(x.get("p")) && ready(x.get("e")), "%v", x.events("e"))

		x.shows(`volume_manager_total_volumes{plugin_name="kubernetes.io/csi:disks.example.com",state="actual_state_of_world"} 2`,
			`volume_manager_total_volumes{plugin_name="kubernetes.io/csi:disks.example.com",state="desired_state_of_world"} 2`,
			`storage_operation_duration_seconds_count{migrated="false",operation_name="volume_mount",status="success",volume_plugin="kubernetes.io/csi:disks.example.com"} 2`,
			`volume_operation_total_seconds_bucket{operation_name="overall_volume_mount",plugin_name="kubernetes.io/csi:disks.example.com",le="5"} 1`,
			`volume_operation_total_seconds_bucket{operation_name="overall_volume_mount",plugin_name="kubernetes.io/csi:disks.example.com",le="50"} 2`,
			`csi_operations_seconds_count{driver_name="disks.example.com",grpc_status_code="OK",method_name="/csi.v1.Node/NodePublishVolume",migrated="false"} 2`,
			"reconstruct_volume_operations_total 0", "reconstruct_volume_operations_errors_total 0")
		require.Regexp(t, `plugin_manager_total_plugins\{socket_path="[^"]+",state="actual_state_of_world"\} 1`, x.ask("/metrics"))
		require.Regexp(t, `plugin_manager_total_plugins\{socket_path="[^"]+",state="desired_state_of_world"\} 1`, x.ask("/metrics"))
		require.Contains(t, x.ask("/metrics"), `kubelet_volume_metric_collection_duration_seconds_count{metric_source="disks.example.com"}`)
		metrics := x.ask("/metrics")
		for _, claim := range []string{"a", "e-own"} {
			for name, value := range map[string]string{"capacity_bytes": "1000", "available_bytes": "600", "used_bytes": "400", "inodes": "10", "inodes_free": "6", "inodes_used": "4"} {
				line := `kubelet_volume_stats_` + name + `{namespace="default",persistentvolumeclaim="` + claim + `"} ` + value + "\n"
				require.True(t, strings.Contains(metrics, line), line)
			}
		}
		var summary struct {
			Pods []struct {
				PodRef struct{ Name string } `json:"podRef"`
				Volume []struct {
					Name                                         string
					UsedBytes, CapacityBytes, InodesUsed, Inodes uint64
					PVCRef                                       *struct{ Name, Namespace string } `json:"pvcRef"`
				} `json:"volume"`
			} `json:"pods"`
		}
		require.NoError(t, json.Unmarshal([]byte(x.ask("/stats/summary")), &summary))
		found := map[string]string{}
		for _, p := range summary.Pods {
			for _, v := range p.Volume {
				if v.PVCRef != nil {
					require.EqualValues(t, []uint64{400, 1000, 4, 10}, []uint64{v.UsedBytes, v.CapacityBytes, v.InodesUsed, v.Inodes})
					found[p.PodRef.Name+"/"+v.Name] = v.PVCRef.Namespace + "/" + v.PVCRef.Name
				}
			}
		}
		require.Equal(t, map[string]string{"p/data": "default/a", "e/own": "default/e-own"}, found)
		x.delete("p", 1)
		time.Sleep(2 * time.Minute)
		require.False(t, strings.Contains(x.ask("/metrics"), `persistentvolumeclaim="a"`), "the volume has gone")
		for _, done := range []string{"volume_unmount", "unmount_device"} {
			x.shows(`storage_operation_duration_seconds_count{migrated="false",operation_name="` + done + `",status="success",volume_plugin="kubernetes.io/csi:disks.example.com"} 1`)
		}
	})
}

// A driver that gives files to groups itself receives the pod's group. Tokens are secrets if its object says
// so. Without staging the volume is published at once. The access mode of a volume reaches the driver.
func TestCSIRequests(t *testing.T) {
	spec := storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: "vault"}}, ServiceAccountTokenInSecrets: new(true), FSGroupPolicy: new(storagev1.FileFSGroupPolicy)}
	opts := fakecsi.Options{Groups: true, Without: []csi.NodeServiceCapability_RPC_Type{csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}}
	withDisks(t, opts, spec, func(t *testing.T, x *disks) {
		controllertest.Create(x.c, &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "default")})
		x.claim("a", func(pv *corev1.PersistentVolume) {
			pv.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
			pv.Spec.MountOptions = []string{"noatime"}
		})
		x.pod("p", func(p *corev1.Pod) {
			uses("a")(p)
			p.Spec.ServiceAccountName = "default"
			p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(4711))}
		}, "c")
		time.Sleep(3 * time.Second)
		require.True(t, ready(x.get("p")), "%v", x.events("p"))
		require.Zero(t, x.d.Calls("NodeStageVolume"))
		q := x.d.Last("NodePublishVolume").(*csi.NodePublishVolumeRequest)
		require.Empty(t, q.StagingTargetPath)
		require.Equal(t, "4711", q.VolumeCapability.GetMount().VolumeMountGroup)
		require.Equal(t, []string{"noatime"}, q.VolumeCapability.GetMount().MountFlags)
		require.Equal(t, csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER, q.VolumeCapability.AccessMode.Mode)
		require.Contains(t, q.Secrets["csi.storage.k8s.io/serviceAccount.tokens"], `"vault":{"token":"`)
		require.NotContains(t, q.VolumeContext, "csi.storage.k8s.io/serviceAccount.tokens")
		x.delete("p", 1)
		time.Sleep(5 * time.Second)
		require.False(t, x.exists("p"))
		require.Zero(t, x.d.Calls("NodeUnstageVolume"))
		require.Empty(t, x.left())
	})
}
