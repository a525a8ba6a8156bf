package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/builtin"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
)

const migrationFile = `apiVersion: controllermanager.config.k8s.io/v1
kind: LeaderMigrationConfiguration
leaderName: moving
controllerLeaders:
- {name: replicaset-controller, component: kube-controller-manager}
- {name: node-ipam-controller, component: cloud-controller-manager}
- {name: ttl-controller, component: "*"}
- {name: service-lb-controller, component: "*"}
- {name: serviceaccount-token-controller, component: cloud-controller-manager}
`

// written writes the file of a test.
func written(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "migration.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// Every controller runs under one of the leases or, if another program runs it, under none.
func TestMigrationSplitsControllers(t *testing.T) {
	o, err := completed("--enable-leader-migration", "--leader-migration-config", written(t, migrationFile))
	require.NoError(t, err)
	require.Equal(t, "moving", o.migration.LeaderName)
	main, migrated, absent := o.migration.split("kube-controller-manager")
	require.Equal(t, []string{"service-lb-controller"}, absent)
	under := func(out []string, name string) bool { return !slices.Contains(out, "-"+name) }
	for _, name := range builtin.Names() {
		switch name {
		case "replicaset-controller", "ttl-controller":
			require.False(t, under(main, name), name)
			require.True(t, under(migrated, name), name)
		case "node-ipam-controller":
			require.False(t, under(main, name), name)
			require.False(t, under(migrated, name), name)
		default:
			require.True(t, under(main, name), name)
			require.False(t, under(migrated, name), name)
		}
	}

	o, err = completed("--enable-leader-migration")
	require.NoError(t, err)
	require.Equal(t, "cloud-provider-extraction-migration", o.migration.LeaderName)
	main, migrated, absent = o.migration.split("kube-controller-manager")
	require.Empty(t, main, "the controllers of cloud providers are not in this program")
	require.Len(t, migrated, len(builtin.Names()))
	require.Len(t, absent, 3)
}

func TestMigrationsThatAreMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: ConfigMap\n":                                                                                                                       "want kind LeaderMigrationConfiguration of controllermanager.config.k8s.io/v1",
		"apiVersion: controllermanager.config.k8s.io/v2\nkind: LeaderMigrationConfiguration\n":                                                                    "want kind",
		"apiVersion: controllermanager.config.k8s.io/v1\nkind: LeaderMigrationConfiguration\n":                                                                    "leaderName: required",
		"apiVersion: controllermanager.config.k8s.io/v1\nkind: LeaderMigrationConfiguration\nleaderName: x\nresourceLock: leases\n":                               "resourceLock: not in version v1",
		"apiVersion: controllermanager.config.k8s.io/v1beta1\nkind: LeaderMigrationConfiguration\nleaderName: x\nresourceLock: endpoints\n":                       "want leases",
		"apiVersion: controllermanager.config.k8s.io/v1\nkind: LeaderMigrationConfiguration\nleaderName: x\ncontrollers: []\n":                                    "controllers",
		"apiVersion: controllermanager.config.k8s.io/v1\nkind: LeaderMigrationConfiguration\nleaderName: x\ncontrollerLeaders: [{name: ttl-controller}]\n":        "controllerLeaders[0]: name and component",
		"apiVersion: controllermanager.config.k8s.io/v1\nkind: LeaderMigrationConfiguration\nleaderName: x\ncontrollerLeaders: [{component: \"*\"}]\n":            "controllerLeaders[0]: name and component",
		"apiVersion: controllermanager.config.k8s.io/v1\nkind: LeaderMigrationConfiguration\nleaderName: x\ncontrollerLeaders: {name: ttl-controller, more: 1}\n": "controllerLeaders",
	} {
		_, err := completed("--enable-leader-migration", "--leader-migration-config", written(t, text))
		require.ErrorContains(t, err, "--leader-migration-config: ", text)
		require.ErrorContains(t, err, want, text)
	}
	_, err := completed("--enable-leader-migration", "--leader-migration-config=/nowhere")
	require.ErrorContains(t, err, "--leader-migration-config")
	_, err = completed("--leader-migration-config=x")
	require.ErrorContains(t, err, "needs --enable-leader-migration")
	_, err = completed("--enable-leader-migration", "--leader-elect=false")
	require.ErrorContains(t, err, "needs --leader-elect")
}

// While another program holds the lease of the migration, the program runs its own controllers and not those
// that move; when the lease is released, these too.
func TestLeaderMigration(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	other, release := context.WithCancel(t.Context())
	defer release()
	lock := leaselock.New(c.Conn(), types.NamespacedName{Namespace: "kube-system", Name: "moving"}, leaselock.Options{})
	e, err := leaderelection.New(lock, leaderelection.Options{Identity: "cloud-controller-manager"})
	require.NoError(t, err)
	holds, released := make(chan struct{}), make(chan error, 1)
	go func() {
		released <- e.Run(other, func(ctx context.Context) error { close(holds); <-ctx.Done(); return nil })
	}()
	<-holds

	o, err := completed("--kubeconfig", c.Kubeconfig(), "--secure-port=0", "--controllers=deployment,replicaset", "--leader-elect-retry-period=50ms",
		"--enable-leader-migration", "--leader-migration-config", written(t, migrationFile))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- o.start(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-done)
	}()
	labels := map[string]string{"app": "a"}
	d := &appsv1.Deployment{ObjectMeta: controllertest.Name("default", "a"), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
	controllertest.Create(c, d)
	status := func() (observed, replicas []int64) {
		for _, s := range controllertest.List[*appsv1.ReplicaSet](c, "default") {
			observed, replicas = append(observed, s.Status.ObservedGeneration), append(replicas, int64(s.Status.Replicas))
		}
		return observed, replicas
	}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		observed, _ := status()
		require.Equal(t, []int64{0}, observed, "the deployment controller has made the set, which has no controller")
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, "cloud-controller-manager", *controllertest.Get[*coordinationv1.Lease](c, "kube-system", "moving").Spec.HolderIdentity)
	release()
	require.NoError(t, <-released)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		_, replicas := status()
		require.Equal(t, []int64{1}, replicas)
	}, time.Minute, 10*time.Millisecond)
}
