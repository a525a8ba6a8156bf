package interop

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// Faults reach an unmodified client-go as they do in a cluster.
func TestFaultsOfClientGo(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	maps := clientset(t, clientGo(c, protoType)).CoreV1().ConfigMaps("default")
	create := func() error {
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		return err
	}
	once := func(effect controllertest.Effect) {
		c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"create"}, Resource: "configmaps"}, Times: 1, Effect: effect})
	}
	once(controllertest.Conflict())
	require.True(t, apierrors.IsConflict(create()))
	once(controllertest.Expired())
	require.True(t, apierrors.IsResourceExpired(create()))
	once(controllertest.LoseReply())
	err := create()
	require.Error(t, err)
	require.Empty(t, apierrors.ReasonForError(err), "%v", err)
	require.True(t, apierrors.IsAlreadyExists(create()))
}

// A controller-runtime manager does its work despite a lost reply, a conflict and a partition.
func TestFaultsOfControllerRuntime(t *testing.T) {
	// The last handler sleeps after each error of a watch until a millisecond after the process' previous
	// one, which to a bubble is decades away.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = handlers[:1]
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		operator := client.User{Name: "operator", Groups: []string{"system:masters"}}
		lost := c.Inject(controllertest.Fault{Requests: controllertest.Requests{User: "operator", Verbs: []string{"create"}, Resource: "deployments.apps"}, Times: 1, Effect: controllertest.LoseReply()})
		conflict := c.Inject(controllertest.Fault{Requests: controllertest.Requests{User: "operator", Verbs: []string{"update"}, Resource: "deployments.apps"}, Times: 1, Effect: controllertest.Conflict()})
		defer runManager(t, newManager(t, clientGo(c, jsonType, operator)))()
		time.Sleep(time.Second)
		cs := clientset(t, clientGo(c, jsonType))
		cm := configMap("web", map[string]string{"image": "web:1"})
		cm.Labels = map[string]string{"deploy": "true"}
		_, err := cs.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{})
		require.NoError(t, err)
		image := func() string {
			d, err := cs.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
			require.NoError(t, err)
			return d.Spec.Template.Spec.Containers[0].Image
		}
		time.Sleep(time.Minute)
		require.Equal(t, "web:1", image())
		require.Equal(t, 1, lost.Hits())

		apart := c.Partition(controllertest.Requests{User: "operator"})
		cm, err = cs.CoreV1().ConfigMaps("default").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		cm.Data["image"] = "web:2"
		_, err = cs.CoreV1().ConfigMaps("default").Update(t.Context(), cm, metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.Equal(t, "web:1", image())
		apart.Remove()
		time.Sleep(5 * time.Minute)
		require.Equal(t, "web:2", image())
		require.Equal(t, 1, conflict.Hits())
	})
}
