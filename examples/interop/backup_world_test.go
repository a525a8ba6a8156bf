package interop

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/objects"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/client/wait"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/storetest"
)

// Backup is the kind of the programs in folder backup.
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Source string `json:"source"`
		Keep   *int32 `json:"keep,omitempty"`
		Paused bool   `json:"paused,omitempty"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64              `json:"observedGeneration,omitempty"`
		Job                string             `json:"job,omitempty"`
		Conditions         []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitempty"`
}

// backupServer is an API server that runs for the test: it returns the path of a user's kubeconfig.
type backupServer func(t testing.TB, name string, groups ...string) string

func keelsonServer(t testing.TB) backupServer {
	c := controllertest.Start(t, controllertest.Options{})
	return func(t testing.TB, name string, groups ...string) string {
		return c.With(t).Kubeconfig(client.User{Name: name, Groups: append(groups, "system:authenticated")})
	}
}

// upstreamServer is Kubernetes' own, of the folder KEELSON_PEERS.
func upstreamServer(t testing.TB) backupServer {
	env := &envtest.Environment{BinaryAssetsDirectory: filepath.Dir(seeds.Peer(t, "kube-apiserver"))}
	_, err := env.Start()
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	require.NoError(t, err)
	return func(t testing.TB, name string, groups ...string) string {
		user, err := env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
		require.NoError(t, err)
		text, err := user.KubeConfig()
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "kubeconfig")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
}

// backupWorld is one program with its namespace on a server.
type backupWorld struct {
	t         testing.TB
	program   program
	namespace string

	conn       client.Conn
	backups    *client.Client[*Backup]
	jobs       *client.Client[*batchv1.Job]
	maps       *client.Client[*corev1.ConfigMap]
	kubeconfig string // of the program, which has a Role only
	certDir    string
	ports      []int // of the webhooks of its replicas

	mu       sync.Mutex
	warnings []string
}

func connect(t testing.TB, path string, s *scheme.Scheme, warned func(rest.Warning)) client.Conn {
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: path})
	require.NoError(t, err)
	cfg.Scheme = s
	conn, err := rest.New(cfg, rest.Options{Warnings: warned})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// newBackupWorld installs the definition, the Role and the webhooks of a program.
func newBackupWorld(t testing.TB, server backupServer, p program) *backupWorld {
	w := &backupWorld{t: t, program: p, namespace: filepath.Base(p.path), certDir: t.TempDir()}
	s := api.Scheme().Clone()
	require.NoError(t, scheme.Add[*Backup](s, schema.GroupVersion{Group: "backup.example.com", Version: "v1"}, scheme.Kind{
		Resource: "backups", Namespaced: true, Subresources: []scheme.Subresource{{Name: "status", Kind: "Backup", Verbs: []string{"get", "patch", "update"}}}}))
	w.conn = connect(t, server(t, "admin", "system:masters"), s, func(warning rest.Warning) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.warnings = append(w.warnings, warning.Text)
	})
	w.backups, w.jobs, w.maps = client.For[*Backup](w.conn), client.For[*batchv1.Job](w.conn), client.For[*corev1.ConfigMap](w.conn)
	user := "backup-" + w.namespace
	w.kubeconfig = server(t, user)
	authority, err := certs.NewAuthority("webhooks")
	require.NoError(t, err)
	pair, err := authority.Serving("webhooks", "127.0.0.1")
	require.NoError(t, err)
	require.NoError(t, atomicfile.WriteSync(filepath.Join(w.certDir, "tls.crt"), pair.CertPEM()))
	require.NoError(t, atomicfile.WriteSync(filepath.Join(w.certDir, "tls.key"), pair.KeyPEM()))
	for range 2 {
		at, err := netip.ParseAddrPort(storetest.FreeAddress(t))
		require.NoError(t, err)
		w.ports = append(w.ports, int(at.Port()))
	}
	objs := append(fileObjects(t, w.namespace, "backup/crd.yaml"), fileObjects(t, w.namespace, "backup/role.yaml")...)
	objs = append([]metav1.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}}, objs...)
	objs = append(objs, &rbacv1.RoleBinding{ObjectMeta: controllertest.Name(w.namespace, user),
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: "Role", Name: "backup-operator"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupVersion.Group, Kind: "User", Name: user}}})
	objs = append(objs, w.hooks(authority.CertPEM())...)
	all := objects.New(w.conn, objects.Options{})
	_, err = all.ApplyAll(t.Context(), objs, client.ApplyOptions{FieldManager: "test", Force: true})
	require.NoError(t, err)
	require.NoError(t, all.WaitAll(t.Context(), objs[1:2], wait.ReadyOrFailed))
	return w
}

func fileObjects(t testing.TB, namespace, name string) []metav1.Object {
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	objs, err := manifest.Read(f, name)
	require.NoError(t, err)
	for _, u := range objs {
		if u.Kind == "Role" {
			u.Namespace = namespace
		}
	}
	return objects.List(objs)
}

// hooks are the configurations of the webhooks of the first replica, for the program's namespace.
func (w *backupWorld) hooks(ca []byte) []metav1.Object {
	in := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}}
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"backup.example.com"}, APIVersions: []string{"v1"}, Resources: []string{"backups"}},
	}}
	at := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{CABundle: ca, URL: new("https://127.0.0.1:" + strconv.Itoa(w.ports[0]) + path)}
	}
	none := admissionregistrationv1.SideEffectClassNone
	return []metav1.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "default.backup.example.com", ClientConfig: at("/mutate"), Rules: rules, NamespaceSelector: in, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}}}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.backup.example.com", ClientConfig: at("/validate"), Rules: rules, NamespaceSelector: in, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}}}},
	}
}

// replica is a process of a program.
type replica struct {
	*exec.Cmd
	said   *strings.Builder
	exited chan error
}

// start starts a replica and waits until its webhooks answer, if it is the first.
func (w *backupWorld) start(n int) *replica {
	r := &replica{said: &strings.Builder{}, exited: make(chan error, 1)}
	r.Cmd = exec.CommandContext(w.t.Context(), w.program.path, "--namespace", w.namespace, "--webhooks", "127.0.0.1:"+strconv.Itoa(w.ports[n]), "--certificates", w.certDir)
	r.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig)
	r.Stderr = r.said
	require.NoError(w.t, r.Start())
	go func() { r.exited <- r.Wait() }()
	w.t.Cleanup(func() { _ = r.Process.Kill() })
	if n == 0 {
		w.until("the webhooks answer", func() bool {
			_, err := w.backups.Create(w.t.Context(), w.backup("probe"), client.CreateOptions{DryRun: true})
			return err == nil
		})
	}
	return r
}

// stop ends a replica by a signal and returns when it has exited.
func (w *backupWorld) stop(r *replica, signal os.Signal) {
	require.NoError(w.t, r.Process.Signal(signal))
	err := <-r.exited
	if signal != os.Kill {
		require.NoError(w.t, err, "%s", r.said)
	}
}

func (w *backupWorld) until(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); {
		require.True(w.t, time.Now().Before(deadline), "%s: never: %s", w.namespace, what)
		select {
		case <-w.t.Context().Done():
			require.NoError(w.t, w.t.Context().Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (w *backupWorld) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: name}
}

func (w *backupWorld) backup(name string) *Backup {
	b := &Backup{ObjectMeta: controllertest.Name(w.namespace, name)}
	b.Spec.Source = "/data/" + name
	return b
}

// reason waits until the condition of a Backup's current generation has a reason.
func (w *backupWorld) reason(name, want string) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s is %s", name, want), func() bool {
		b, err := w.backups.Get(w.t.Context(), w.key(name))
		require.NoError(w.t, err)
		return len(b.Status.Conditions) == 1 && b.Status.Conditions[0].Reason == want && b.Status.Conditions[0].ObservedGeneration == b.Generation
	})
}

func (w *backupWorld) change(name string, change func(*Backup)) error {
	_, err := client.Update(w.t.Context(), w.backups, w.key(name), func(b *Backup) error { change(b); return nil })
	return err
}

// finish ends a Job, as its controller would.
func (w *backupWorld) finish(name string, succeeded, failed int32) {
	_, err := client.UpdateStatus(w.t.Context(), w.jobs, w.key(name), func(j *batchv1.Job) error {
		j.Status.StartTime = new(metav1.NewTime(time.Unix(1.7e9, 0)))
		j.Status.Succeeded, j.Status.Failed = succeeded, failed
		return nil
	})
	require.NoError(w.t, err)
}
