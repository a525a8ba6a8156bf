package controlplane_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiserverinternalv1alpha1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

var versions = apiserverinternalv1alpha1.GroupVersion.WithResource("storageversions")

// refusing is a store that refuses writes of storage versions while it is set.
type refusing struct {
	store.Store
	on *atomic.Bool
}

func (s refusing) check(keys ...string) error {
	for _, key := range keys {
		if s.on.Load() && strings.Contains(key, "storageversions/core.configmaps") {
			return errors.New("no room")
		}
	}
	return nil
}

func (s refusing) Create(ctx context.Context, key string, value []byte, opts store.WriteOptions) (int64, error) {
	if err := s.check(key); err != nil {
		return 0, err
	}
	return s.Store.Create(ctx, key, value, opts)
}

func (s refusing) Update(ctx context.Context, key string, value []byte, expected int64, opts store.WriteOptions) (int64, error) {
	if err := s.check(key); err != nil {
		return 0, err
	}
	return s.Store.Update(ctx, key, value, expected, opts)
}

func (s refusing) Txn(ctx context.Context, ops []store.Op, guards []store.Guard) (int64, error) {
	for _, op := range ops {
		if err := s.check(op.Key); err != nil {
			return 0, err
		}
	}
	return s.Store.Txn(ctx, ops, guards)
}

// withVersions makes a control plane of a host report its storage versions.
func withVersions(t *testing.T, host string) func(*controlplane.Options) {
	served, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, apiserverinternalv1alpha1.AddToScheme(served))
	require.NoError(t, apiserverinternalv1alpha1.AddRules(served))
	return func(o *controlplane.Options) {
		o.Server.Scheme, o.Bookkeeping = served, controlplane.BookkeepingOptions{Hostname: host, StorageVersions: true}
	}
}

// reported are the reports of servers by the names of StorageVersions.
func reported(t *testing.T, p *planetest.Plane) map[string]*apiserverinternalv1alpha1.StorageVersion {
	t.Helper()
	list, err := p.Access().List(t.Context(), versions, "", labels.Everything())
	require.NoError(t, err)
	out := map[string]*apiserverinternalv1alpha1.StorageVersion{}
	for _, obj := range list {
		out[obj.GetName()] = obj.(*apiserverinternalv1alpha1.StorageVersion)
	}
	return out
}

// A server reports every resource that it stores, and the reports agree as long as those of all servers do.
// What another client does to them is undone within ten minutes, and repeated reports write nothing.
func TestStorageVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Options{})
		defer mem.Close()
		p := planetest.Start(t, planetest.Over(sharedStore{mem}), withVersions(t, "control-plane-1"))
		time.Sleep(time.Second)
		all := reported(t, p)
		for res := range p.Registry().All() {
			d := res.Definition()
			if d.Stored == nil {
				gr := d.Info.GVR.GroupResource()
				if gr.Group == "" {
					gr.Group = "core"
				}
				require.Contains(t, all, gr.Group+"."+gr.Resource)
			}
		}
		require.NotContains(t, all, "events.k8s.io.events", "they are stored as core events")
		text := func(name string) string {
			s := reported(t, p)[name].Status
			c := s.Conditions[0]
			require.Len(t, s.Conditions, 1)
			require.Equal(t, apiserverinternalv1alpha1.AllEncodingVersionsEqual, c.Type)
			out := string(c.Status) + " " + c.Reason + " (" + c.Message + ")"
			for _, r := range s.StorageVersions {
				out += fmt.Sprintf(" %s%v%v", r.EncodingVersion, r.DecodableVersions, r.ServedVersions)
			}
			return out
		}
		const agree = "True CommonEncodingVersionSet (Common encoding version set) "
		require.Equal(t, agree+"v1[v1 events.k8s.io/v1][v1]", text("core.events"))
		require.Equal(t, agree+"apps/v1[apps/v1][apps/v1]", text("apps.deployments"))
		require.Equal(t, agree+"autoscaling/v2[autoscaling/v2 autoscaling/v1][autoscaling/v2 autoscaling/v1]", text("autoscaling.horizontalpodautoscalers"))
		require.Equal(t, "apiserver-ktnciuvxljjqohol43g65rthde", all["apps.deployments"].Status.StorageVersions[0].APIServerID)

		// A server of an earlier release has reported another version.
		change := func(obj metav1.Object) error {
			obj.(*apiserverinternalv1alpha1.StorageVersion).Report(apiserverinternalv1alpha1.ServerStorageVersion{
				APIServerID: "earlier", EncodingVersion: "apps/v1beta1", DecodableVersions: []string{"apps/v1beta1"}}, metav1.Now().Truncated())
			return nil
		}
		_, err := p.Access().Update(t.Context(), versions, planetest.Key("", "apps.deployments"), change, registry.Write{Subresource: "status"})
		require.NoError(t, err)
		require.NoError(t, p.Access().Delete(t.Context(), versions, planetest.Key("", "core.pods"), nil, registry.Write{}))
		revision := all["core.nodes"].ResourceVersion
		time.Sleep(10 * time.Minute)
		require.Equal(t, "False CommonEncodingVersionUnset (Common encoding version unset) apps/v1[apps/v1][apps/v1] apps/v1beta1[apps/v1beta1][]", text("apps.deployments"))
		require.Nil(t, reported(t, p)["apps.deployments"].Status.CommonEncodingVersion)
		require.Equal(t, agree+"v1[v1][v1]", text("core.pods"))
		require.Equal(t, revision, reported(t, p)["core.nodes"].ResourceVersion)

		other := planetest.Start(t, planetest.Over(sharedStore{mem}), withVersions(t, "control-plane-2"))
		time.Sleep(time.Second)
		require.Len(t, reported(t, other)["core.nodes"].Status.StorageVersions, 2)
		require.Equal(t, "v1", *reported(t, other)["core.nodes"].Status.CommonEncodingVersion)
	})
}

// Writes of a resource are refused until it has been reported; reads, the lease of the server and what is not
// stored are not. A report that fails three times is tried again ten minutes later.
func TestWritesWaitForStorageVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Options{})
		defer mem.Close()
		on := &atomic.Bool{}
		on.Store(true)
		tokens, err := authn.TokenFile(strings.NewReader("secret,root,1,system:masters"))
		require.NoError(t, err)
		o := controlplane.Options{StaticTokens: tokens, ServiceAccountKeys: []any{planetest.SigningKey(t)}}
		planetest.Over(refusing{mem, on})(&o)
		withVersions(t, "control-plane-1")(&o)
		cp, err := controlplane.New(o)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- cp.Run(ctx) }()
		<-cp.Ready()
		do := func(method, path, body string) (int, string) {
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer secret")
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			cp.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		const (
			object     = `{"metadata":{"name":"a"}}`
			configMaps = "/api/v1/namespaces/default/configmaps"
			check      = "/readyz/poststarthook/built-in-resources-storage-version-updater"
		)
		time.Sleep(5 * time.Second)
		status, body := do(http.MethodPost, configMaps, object)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, body, "wait for storage version registration to complete for resource: configmaps, last seen error: ")
		require.Contains(t, body, "no room")
		for path, body := range map[string]string{
			"/api/v1/namespaces/default/secrets":                         object, // has been reported
			"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases": object,
			"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":     `{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}`,
			"/apis/internal.apiserver.k8s.io/v1alpha1/storageversions":   `{"metadata":{"name":"a.b"}}`,
		} {
			status, body = do(http.MethodPost, path, body)
			require.Equal(t, http.StatusCreated, status, "%s: %s", path, body)
		}
		status, _ = do(http.MethodGet, configMaps, "")
		require.Equal(t, http.StatusOK, status)
		status, _ = do(http.MethodGet, check, "")
		require.Equal(t, http.StatusInternalServerError, status)

		on.Store(false)
		time.Sleep(5 * time.Minute)
		status, _ = do(http.MethodPost, configMaps, object)
		require.Equal(t, http.StatusServiceUnavailable, status)
		time.Sleep(6 * time.Minute)
		status, body = do(http.MethodPost, configMaps, object)
		require.Equal(t, http.StatusCreated, status, body)
		status, _ = do(http.MethodGet, check, "")
		require.Equal(t, http.StatusOK, status)
		stop()
		require.NoError(t, <-ended)
	})
}

// A server that does not serve StorageVersions reports nothing and refuses nothing.
func TestStorageVersionsThatAreNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := planetest.Start(t, func(o *controlplane.Options) {
			o.Bookkeeping = controlplane.BookkeepingOptions{Hostname: "control-plane-1", StorageVersions: true}
		})
		require.NoError(t, planetest.TryCreate(t, p.Admin(), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "a")}))
	})
}
