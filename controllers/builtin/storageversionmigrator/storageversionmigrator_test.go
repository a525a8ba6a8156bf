package storageversionmigrator_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagemigrationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/controllers/builtin/storageversionmigrator"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/encryption"
)

type (
	migration  = storagemigrationv1beta1.StorageVersionMigration
	definition = apiextensionsv1.CustomResourceDefinition
)

const running, succeeded, failed = storagemigrationv1beta1.MigrationRunning, storagemigrationv1beta1.MigrationSucceeded, storagemigrationv1beta1.MigrationFailed

func add(m *manager.Manager) error {
	return storageversionmigrator.Add(m, storageversionmigrator.Options{})
}

// options make a cluster that serves migrations, whose connections know them, and whose controllers may do no
// more than their account.
func options(t testing.TB, controllers ...controllertest.Adder) controllertest.Options {
	served, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, storagemigrationv1beta1.AddToScheme(served))
	require.NoError(t, storagemigrationv1beta1.AddRules(served))
	known := api.Scheme().Clone()
	require.NoError(t, storagemigrationv1beta1.AddToScheme(known))
	return controllertest.Options{Scheme: known, Server: apiserver.Options{Scheme: served}, Controllers: controllers,
		As: client.User{Name: "system:serviceaccount:kube-system:storage-version-migrator-controller", Groups: []string{"system:authenticated"}}}
}

func order(name, group, resource string) *migration {
	return &migration{ObjectMeta: controllertest.Name("", name),
		Spec: storagemigrationv1beta1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: group, Resource: resource}}}
}

// boats is a custom resource with two versions, stored in v1.
const boats = `{"metadata":{"name":"boats.sea.test"},"spec":{"group":"sea.test","scope":"Namespaced","names":{"plural":"boats","kind":"Boat"},"versions":[
{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"sails":{"type":"integer"}}}}}}},
{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"sails":{"type":"integer"}}}}}}}]}}`

var boatsV2 = schema.GroupVersionResource{Group: "sea.test", Version: "v2", Resource: "boats"}

func define(t testing.TB, c *controllertest.Cluster) {
	d := &definition{}
	require.NoError(t, codec.Unmarshal([]byte(boats), d))
	controllertest.Create(c, d)
	c.Settle()
}

func build(t testing.TB, c *controllertest.Cluster, name string) *metav1.Unstructured {
	u := &metav1.Unstructured{Fields: map[string]any{"spec": map[string]any{"sails": int64(3)}}}
	u.APIVersion, u.Kind, u.Namespace, u.Name = "sea.test/v1", "Boat", "default", name
	u, err := dynamic.For(c.Conn(), schema.GroupVersionResource{Group: "sea.test", Version: "v1", Resource: "boats"}).Create(t.Context(), u)
	require.NoError(t, err)
	return u
}

// store makes v2 the storage version.
func store(d *definition) { d.Spec.Versions[0].Storage, d.Spec.Versions[1].Storage = false, true }

// withoutV1 tries to take v1 out of the definition.
func withoutV1(ctx context.Context, c *controllertest.Cluster) error {
	_, err := client.Update(ctx, client.For[*definition](c.Conn()), types.NamespacedName{Name: "boats.sea.test"}, func(d *definition) error {
		d.Spec.Versions = d.Spec.Versions[1:]
		return nil
	})
	return err
}

func TestAVersionCanLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, options(t, add))
		define(t, c)
		before := map[string]string{}
		for i := range 7 {
			u := build(t, c, fmt.Sprintf("boat-%d", i))
			before[u.Name] = u.ResourceVersion
		}
		controllertest.Update(c, "", "boats.sea.test", store)
		require.ErrorContains(t, withoutV1(t.Context(), c), "storedVersions")
		controllertest.Create(c, order("to-v2", "sea.test", "boats"))
		time.Sleep(time.Minute)
		c.Settle()

		m := controllertest.Get[*migration](c, "", "to-v2")
		require.True(t, m.Is(succeeded), "%+v", m.Status)
		require.False(t, m.Is(running))
		require.NotEmpty(t, m.Status.ResourceVersion)
		require.Equal(t, "StorageVersionMigrationSucceeded", metav1.FindCondition(m.Status.Conditions, string(succeeded)).Reason)
		d := controllertest.Get[*definition](c, "", "boats.sea.test")
		require.Equal(t, []string{"v2"}, d.Status.StoredVersions)
		at := d.Status.Conditions[len(d.Status.Conditions)-1]
		require.Equal(t, apiextensionsv1.StorageMigrating, at.Type)
		require.Equal(t, apiextensionsv1.ConditionFalse, at.Status)
		require.Equal(t, "MigrationSucceeded", at.Reason)

		require.NoError(t, withoutV1(t.Context(), c))
		c.Settle()
		seen := 0
		for u, err := range dynamic.For(c.Conn(), boatsV2).All(t.Context(), client.ListOptions{}) {
			require.NoError(t, err)
			require.NotEqual(t, before[u.Name], u.ResourceVersion, "it was written again")
			sails, _ := u.Nested("spec", "sails")
			require.EqualValues(t, 3, sails)
			for _, e := range u.ManagedFields {
				require.NotEqual(t, storageversionmigrator.FieldManager, e.Manager, "writing an object again makes nobody its manager")
			}
			seen++
		}
		require.Equal(t, 7, seen)
	})
}

// Migrating a resource stores all of its objects with the key that writes now, so that a former one can go.
func TestKeysAreRotated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := func(names string) *encryption.Configuration {
			var keys []string
			for _, name := range names {
				keys = append(keys, fmt.Sprintf("{name: %c, secret: %s}", name, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(name)}, 32))))
			}
			parsed, err := encryption.ParseConfiguration([]byte("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [secrets], providers: [{secretbox: {keys: [" + strings.Join(keys, ",") + "]}}]}]"))
			require.NoError(t, err)
			return parsed
		}
		keys, err := encryption.New(of("a"), encryption.Options{})
		require.NoError(t, err)
		o := options(t, add)
		o.Server.Encryption = keys
		c := controllertest.Start(t, o)
		for i := range 7 {
			controllertest.Create(c, &corev1.Secret{ObjectMeta: controllertest.Name("default", fmt.Sprint("s", i)), Data: map[string][]byte{"k": []byte("v")}})
		}
		c.Settle()
		readable := func() (n int) {
			for i := range 7 {
				if _, err := c.Server().Access().GetLatest(t.Context(), corev1.GroupVersion.WithResource("secrets"), types.NamespacedName{Namespace: "default", Name: fmt.Sprint("s", i)}); err == nil {
					n++
				}
			}
			return n
		}
		require.NoError(t, keys.Set(of("b")))
		require.Zero(t, readable(), "they are of the former key")
		require.NoError(t, keys.Set(of("ba")))
		require.Equal(t, 7, readable())
		controllertest.Create(c, order("rotate", "", "secrets"))
		time.Sleep(time.Minute)
		c.Settle()
		m := controllertest.Get[*migration](c, "", "rotate")
		require.True(t, m.Is(succeeded), "%+v", m.Status)
		require.NoError(t, keys.Set(of("b")))
		require.Equal(t, 7, readable())
	})
}

// What is stored as it should be is not written, and a resource that is built in has no definition.
func TestNothingToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, options(t, add))
		define(t, c)
		u := build(t, c, "boat")
		controllertest.Create(c, order("boats", "sea.test", "boats"))
		controllertest.Create(c, order("namespaces", "", "namespaces"))
		controllertest.Create(c, order("roles", "rbac.authorization.k8s.io", "clusterroles"))
		time.Sleep(time.Minute)
		c.Settle()
		for _, name := range []string{"boats", "namespaces", "roles"} {
			require.True(t, controllertest.Get[*migration](c, "", name).Is(succeeded), name)
		}
		now, err := dynamic.For(c.Conn(), boatsV2).Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "boat"})
		require.NoError(t, err)
		require.Equal(t, u.ResourceVersion, now.ResourceVersion)
		require.Equal(t, []string{"v1"}, controllertest.Get[*definition](c, "", "boats.sea.test").Status.StoredVersions)
	})
}

func TestWhatCannotBeMigrated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, options(t, add))
		controllertest.Create(c, order("unknown", "no.test", "things"))
		controllertest.Create(c, order("reviews", "authentication.k8s.io", "tokenreviews"))
		time.Sleep(30 * time.Second)
		c.Settle()
		require.False(t, controllertest.Get[*migration](c, "", "unknown").Is(failed), "it may still be defined")
		time.Sleep(time.Minute)
		c.Settle()
		for name, why := range map[string]string{"unknown": "unable to obtain GVR from discovery", "reviews": "has to serve list and patch"} {
			m := controllertest.Get[*migration](c, "", name)
			require.True(t, m.Is(failed), name)
			require.False(t, m.Is(running), name)
			c := metav1.FindCondition(m.Status.Conditions, string(failed))
			require.Equal(t, "StorageVersionMigrationFailed", c.Reason)
			require.Contains(t, c.Message, why)
		}
	})
}

// One migration of a resource runs at a time, the oldest first; the end of one is the turn of the next. A
// definition that changes meanwhile keeps its stored versions.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, options(t))
		define(t, c)
		build(t, c, "boat")
		controllertest.Create(c, order("z-first", "sea.test", "boats"))
		time.Sleep(time.Second)
		controllertest.Create(c, order("a-second", "sea.test", "boats"))
		controllertest.Create(c, order("b-third", "sea.test", "boats"))
		// Another migration is under way, and began before the definition changed.
		controllertest.UpdateStatus(c, "", "b-third", func(m *migration) {
			metav1.SetCondition(&m.Status.Conditions, metav1.Condition{Type: string(running), Status: metav1.ConditionTrue, Reason: "MigrationRunning"})
		})
		controllertest.UpdateStatus(c, "", "boats.sea.test", func(d *definition) {
			d.Status.Conditions = append(d.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.StorageMigrating, Status: "True", ObservedGeneration: d.Generation, Reason: "MigrationRunning"})
		})
		controllertest.Update(c, "", "boats.sea.test", store)
		c.Settle()
		// What happens in which order, by resource version: a read after an event may see what followed it.
		var mu sync.Mutex
		happened := map[string]string{}
		observe := func(what, version string) {
			mu.Lock()
			defer mu.Unlock()
			if happened[what] == "" {
				happened[what] = version
			}
		}
		migrations := c.Run(manager.Func(func(ctx context.Context) error {
			for e, err := range client.For[*migration](c.Conn()).Watch(ctx, client.WatchOptions{}) {
				if err != nil {
					return nil //nolint:nilerr // the test is over
				}
				if e.Object.Is(succeeded) {
					observe(e.Object.Name, e.Object.ResourceVersion)
				}
			}
			return nil
		}))
		definitions := c.Run(manager.Func(func(ctx context.Context) error {
			for e, err := range client.For[*definition](c.Conn()).Watch(ctx, client.WatchOptions{}) {
				if err != nil {
					return nil //nolint:nilerr // the test is over
				}
				if slices.Equal(e.Object.Status.StoredVersions, []string{"v2"}) {
					observe("only v2 is stored", e.Object.ResourceVersion)
				}
			}
			return nil
		}))
		c.Settle() // the watches are open before the first migration ends
		c.Run(c.Manager("migrator", add))
		time.Sleep(time.Minute)
		c.Settle()
		migrations()
		definitions()
		got := slices.SortedFunc(maps.Keys(happened), func(a, b string) int {
			n, err := metav1.CompareResourceVersions(happened[a], happened[b])
			require.NoError(t, err)
			return n
		})
		require.Equal(t, []string{"b-third", "only v2 is stored", "z-first", "a-second"}, got)
	})
}

// A server that is away for a while, and a restart of the controller, do not end a migration.
func TestAnInterruptedMigrationGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, options(t))
		define(t, c)
		for i := range 4 {
			build(t, c, fmt.Sprintf("boat-%d", i))
		}
		controllertest.Update(c, "", "boats.sea.test", store)
		controllertest.Create(c, order("to-v2", "sea.test", "boats"))
		away := &faulty{Conn: c.Conn(), after: 2}
		stop := c.Run(c.ManagerOver(away, "first", add))
		time.Sleep(10 * time.Second)
		stop()
		require.True(t, controllertest.Get[*migration](c, "", "to-v2").Is(running))
		require.Equal(t, []string{"v1", "v2"}, controllertest.Get[*definition](c, "", "boats.sea.test").Status.StoredVersions)
		c.Run(c.Manager("second", add))
		time.Sleep(time.Minute)
		c.Settle()
		require.True(t, controllertest.Get[*migration](c, "", "to-v2").Is(succeeded))
		require.NoError(t, withoutV1(t.Context(), c))
	})
}

// faulty lets some patches of boats through, and answers those after them with 503.
type faulty struct {
	client.Conn
	after int
}

func (f *faulty) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	if r.Method == "PATCH" && r.Resource.Resource == "boats" {
		if f.after--; f.after < 0 {
			return nil, apierrors.NewServiceUnavailable("away")
		}
	}
	return f.Conn.Do(ctx, r)
}
