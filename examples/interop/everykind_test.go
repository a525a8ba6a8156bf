package interop

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// oneLife takes an object of a kind through every verb of its typed client.
type oneLife func(t *testing.T, conn client.Conn, info *scheme.Info, body []byte)

// lives has an entry for every kind that can be created and read.
var lives = map[schema.GroupVersionKind]oneLife{}

func init() {
	for _, add := range []func(){
		live[*corev1.ConfigMap],
		live[*corev1.Endpoints],
		live[*corev1.Event],
		live[*corev1.LimitRange],
		live[*corev1.Namespace],
		live[*corev1.Node],
		live[*corev1.PersistentVolumeClaim],
		live[*corev1.PersistentVolume],
		live[*corev1.Pod],
		live[*corev1.PodTemplate],
		live[*corev1.ReplicationController],
		live[*corev1.ResourceQuota],
		live[*corev1.Secret],
		live[*corev1.ServiceAccount],
		live[*corev1.Service],
		live[*appsv1.ControllerRevision],
		live[*appsv1.DaemonSet],
		live[*appsv1.Deployment],
		live[*appsv1.ReplicaSet],
		live[*appsv1.StatefulSet],
		live[*batchv1.CronJob],
		live[*batchv1.Job],
		live[*autoscalingv2.HorizontalPodAutoscaler],
		live[*autoscalingv1.HorizontalPodAutoscaler],
		live[*networkingv1.IngressClass],
		live[*networkingv1.Ingress],
		live[*networkingv1.IPAddress],
		live[*networkingv1.NetworkPolicy],
		live[*networkingv1.ServiceCIDR],
		live[*discoveryv1.EndpointSlice],
		live[*policyv1.PodDisruptionBudget],
		live[*rbacv1.ClusterRoleBinding],
		live[*rbacv1.ClusterRole],
		live[*rbacv1.RoleBinding],
		live[*rbacv1.Role],
		live[*coordinationv1.Lease],
		live[*storagev1.CSIDriver],
		live[*storagev1.CSINode],
		live[*storagev1.CSIStorageCapacity],
		live[*storagev1.StorageClass],
		live[*storagev1.VolumeAttachment],
		live[*storagev1.VolumeAttributesClass],
		live[*schedulingv1.PriorityClass],
		live[*eventsv1.Event],
		live[*nodev1.RuntimeClass],
		live[*admissionregistrationv1.MutatingAdmissionPolicy],
		live[*admissionregistrationv1.MutatingAdmissionPolicyBinding],
		live[*admissionregistrationv1.MutatingWebhookConfiguration],
		live[*admissionregistrationv1.ValidatingAdmissionPolicy],
		live[*admissionregistrationv1.ValidatingAdmissionPolicyBinding],
		live[*admissionregistrationv1.ValidatingWebhookConfiguration],
		live[*apiextensionsv1.CustomResourceDefinition],
		live[*apiregistrationv1.APIService],
		live[*certificatesv1.CertificateSigningRequest],
		live[*flowcontrolv1.FlowSchema],
		live[*flowcontrolv1.PriorityLevelConfiguration],
		live[*resourcev1.DeviceClass],
		live[*resourcev1.ResourceClaim],
		live[*resourcev1.ResourceClaimTemplate],
		live[*resourcev1.ResourceSlice],
	} {
		add()
	}
}

func live[T metav1.Object]() {
	info, err := scheme.InfoFor[T](api.Scheme())
	if err != nil {
		panic(err)
	}
	lives[info.GVK] = lifeOfOurs[T]
}

// Every kind is created, read, listed, updated, patched, applied, watched and deleted, singly and as a
// collection, through Keelson's typed clients.
func TestOurTypedClientsOfEveryKind(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	bodies := append(samples(t), []byte(`{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.b.test"},
		"spec":{"group":"b.test","version":"v1","groupPriorityMinimum":1000,"versionPriority":10}}`))
	seen := map[schema.GroupVersionKind]bool{}
	for _, body := range bodies {
		var head struct {
			metav1.TypeMeta
			Metadata struct{ Name string }
		}
		require.NoError(t, stdjson.Unmarshal(body, &head))
		gvk := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
		t.Run(gvk.Kind+"."+gvk.Version+"."+gvk.Group+"/"+head.Metadata.Name, func(t *testing.T) {
			life := lives[gvk]
			require.NotNil(t, life, "no typed client")
			life(t, c.Conn(), api.Scheme().ForKind(gvk), body)
		})
		seen[gvk] = true
	}
	for _, info := range api.Scheme().All() {
		if info.HasVerb("create") && info.HasVerb("get") {
			require.True(t, seen[info.GVK], "no sample of %v", info.GVK)
		}
	}
}

func lifeOfOurs[T metav1.Object](t *testing.T, conn client.Conn, info *scheme.Info, body []byte) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := client.For[T](conn)
	sample := func(label string) T {
		obj := info.New().(T)
		require.NoError(t, codec.Unmarshal(body, obj))
		if info.Namespaced {
			obj.SetNamespace("default")
		}
		obj.SetLabels(map[string]string{"life": label})
		return obj
	}
	key := metav1.KeyOf(sample(""))
	made, err := c.Create(ctx, sample("made"))
	if apierrors.IsAlreadyExists(err) {
		made, err = c.Get(ctx, key) // every server has it
	}
	require.NoError(t, err)
	// Loops of the server may write too: compare states of the same version.
	got, err := c.Get(ctx, key)
	require.NoError(t, err)
	if got.GetResourceVersion() == made.GetResourceVersion() {
		require.Equal(t, made, got)
	}
	got, err = c.Get(ctx, key, client.GetOptions{ResourceVersion: made.GetResourceVersion()})
	require.NoError(t, err)
	require.Equal(t, metav1.MetaOf(made).UID, metav1.MetaOf(got).UID)

	l, err := c.List(ctx, client.ListOptions{Namespace: key.Namespace})
	require.NoError(t, err)
	require.Contains(t, keysOf(l.Items), key)
	for i, item := range l.Items {
		if metav1.KeyOf(item) == key && item.GetResourceVersion() == got.GetResourceVersion() {
			require.Equal(t, got, l.Items[i])
		}
	}

	updated, err := client.Update(ctx, c, key, func(obj T) error { return labelled(obj, "updated") })
	require.NoError(t, err)
	require.Equal(t, "updated", updated.GetLabels()["life"])
	if made.GetResourceVersion() != updated.GetResourceVersion() {
		_, err = c.Update(ctx, made)
		require.True(t, apierrors.IsConflict(err), "a stale update answers %v", err)
	}
	patched, err := c.Patch(ctx, key, client.Patch{Type: types.MergePatchType, Data: []byte(`{"metadata":{"labels":{"life":"patched"}}}`)})
	require.NoError(t, err)
	require.Equal(t, "patched", patched.GetLabels()["life"])
	patched, err = c.Patch(ctx, key, client.Patch{Type: types.JSONPatchType, Data: []byte(`[{"op":"replace","path":"/metadata/labels/life","value":"json"}]`)})
	require.NoError(t, err)
	require.Equal(t, "json", patched.GetLabels()["life"])
	for _, pair := range [][2]T{{updated, made}, {patched, updated}} {
		newer, err := metav1.CompareResourceVersions(pair[0].GetResourceVersion(), pair[1].GetResourceVersion())
		require.NoError(t, err)
		require.Positive(t, newer, "a later write is newer")
	}

	applied := info.New().(T)
	applied.SetName(key.Name)
	applied.SetNamespace(key.Namespace)
	applied.SetLabels(map[string]string{"life": "applied"})
	_, err = c.Apply(ctx, applied, client.ApplyOptions{FieldManager: "interop"})
	require.True(t, apierrors.IsConflict(err), "the label is another's: %v", err)
	after, err := c.Apply(ctx, applied, client.ApplyOptions{FieldManager: "interop", Force: true})
	require.NoError(t, err)
	require.Equal(t, "applied", after.GetLabels()["life"])
	require.Equal(t, metav1.MetaOf(made).UID, metav1.MetaOf(after).UID)
	mine, err := client.Extract(after, "interop", "")
	require.NoError(t, err)
	require.Equal(t, applied.GetLabels(), mine.GetLabels())

	if _, ok := info.Subresource("status"); ok {
		statusOf(t, ctx, c, key)
	}
	if !info.HasVerb("delete") {
		return
	}
	now := client.DeleteOptions{GracePeriodSeconds: new(int64)}
	require.NoError(t, c.Delete(ctx, key, now))
	gone := isGone(t, ctx, c, key)
	states := watched(t, ctx, c, made, gone)
	require.Subset(t, states, []string{"updated", "patched", "json", "applied"})

	if !info.HasVerb("deletecollection") {
		return
	}
	those := client.ListOptions{Namespace: key.Namespace, LabelSelector: labels.MustParse("life=again")}
	if !gone {
		now.DryRun = true
		require.NoError(t, c.DeleteCollection(ctx, those, now))
		return
	}
	_, err = c.Create(ctx, sample("again"))
	require.NoError(t, err)
	require.NoError(t, c.DeleteCollection(ctx, client.ListOptions{Namespace: key.Namespace, LabelSelector: labels.MustParse("life=never")}, now))
	_, err = c.Get(ctx, key)
	require.NoError(t, err, "not selected")
	require.NoError(t, c.DeleteCollection(ctx, those, now))
	isGone(t, ctx, c, key)
}

func labelled[T metav1.Object](obj T, label string) error {
	have := obj.GetLabels()
	if have == nil {
		have = map[string]string{}
	}
	have["life"] = label
	obj.SetLabels(have)
	return nil
}

func keysOf[T metav1.Object](items []T) (keys []types.NamespacedName) {
	for _, item := range items {
		keys = append(keys, metav1.KeyOf(item))
	}
	return keys
}

// statusOf writes the status as it is, which changes nothing, and, where the kind reports one, an observed
// generation.
func statusOf[T metav1.Object](t *testing.T, ctx context.Context, c *client.Client[T], key types.NamespacedName) {
	var before string
	same, err := client.UpdateStatus(ctx, c, key, func(obj T) error { before = obj.GetResourceVersion(); return nil })
	require.NoError(t, err)
	require.Equal(t, before, same.GetResourceVersion(), "nothing was changed")
	observed := func(obj T) reflect.Value {
		return reflect.ValueOf(obj).Elem().FieldByName("Status").FieldByName("ObservedGeneration")
	}
	if f := observed(same); !f.IsValid() || f.Kind() != reflect.Int64 {
		return
	}
	updated, err := client.UpdateStatus(ctx, c, key, func(obj T) error {
		observed(obj).SetInt(obj.GetGeneration() + 7)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, updated.GetGeneration()+7, observed(updated).Int())
}

// isGone reports whether a deleted object is gone; if it is not, it must be terminating.
func isGone[T metav1.Object](t *testing.T, ctx context.Context, c *client.Client[T], key types.NamespacedName) bool {
	obj, err := c.Get(ctx, key)
	if apierrors.IsNotFound(err) {
		return true
	}
	require.NoError(t, err)
	require.NotNil(t, metav1.MetaOf(obj).DeletionTimestamp, "deleted, still there, and not on its way")
	return false
}

// watched returns the labels an object has had since its creation, in order, from a watch that ends with its
// deletion.
func watched[T metav1.Object](t *testing.T, ctx context.Context, c *client.Client[T], made T, gone bool) (states []string) {
	last := made.GetResourceVersion()
	for ev, err := range c.Watch(ctx, client.WatchOptions{Namespace: made.GetNamespace(), ResourceVersion: last}) {
		require.NoError(t, err)
		if ev.Object.GetName() != made.GetName() {
			continue
		}
		require.Equal(t, metav1.MetaOf(made).UID, metav1.MetaOf(ev.Object).UID)
		require.NotEqual(t, last, ev.Object.GetResourceVersion(), "an event twice")
		last = ev.Object.GetResourceVersion()
		states = append(states, ev.Object.GetLabels()["life"])
		if ev.Type == client.Deleted || !gone && metav1.MetaOf(ev.Object).DeletionTimestamp != nil {
			return states
		}
		require.Equal(t, client.Modified, ev.Type)
	}
	require.NoError(t, errors.Join(ctx.Err(), fmt.Errorf("the watch ended after %v", states)))
	return nil
}
