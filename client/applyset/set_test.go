package applyset_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/applyset"
	"github.com/keelson-dev/keelson/client/objects"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// cluster runs a test against a whole API server in virtual time.
func cluster(t *testing.T, f func(t *testing.T, conn client.Conn)) {
	synctest.Test(t, func(t *testing.T) { f(t, controllertest.Start(t, controllertest.Options{}).Admin()) })
}

func open(conn client.Conn, o applyset.Options) *applyset.Set {
	if o.Name == "" {
		o.Namespace, o.Name = "default", "app"
	}
	return applyset.New(objects.New(conn, objects.Options{Namespace: "default"}), o)
}

func configMap(namespace, name string) metav1.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"own": "label"}}}
}

func secret(name string) metav1.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func namespace(name string) metav1.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// inSet lists the ConfigMaps, Secrets and Namespaces of the set in the cluster, those that are being deleted
// excepted.
func inSet(t *testing.T, conn client.Conn, id string) (out []string) {
	all := objects.New(conn, objects.Options{})
	for _, kind := range []string{"ConfigMap", "Secret", "Namespace"} {
		api, err := all.For(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: kind})
		require.NoError(t, err)
		list, err := api.List(t.Context(), client.ListOptions{})
		require.NoError(t, err)
		for _, obj := range list.Items {
			if obj.GetLabels()[applyset.PartOfLabel] == id && !metav1.IsTerminating(obj) {
				out = append(out, fmt.Sprintf("%s %s", kind, metav1.KeyOf(obj)))
			}
		}
	}
	slices.Sort(out)
	return out
}

func parent(t *testing.T, conn client.Conn) *corev1.Secret {
	s, err := client.For[*corev1.Secret](conn).Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "app"})
	require.NoError(t, err)
	return s
}

func TestApplyPrunes(t *testing.T) {
	cluster(t, func(t *testing.T, conn client.Conn) {
		set, given := open(conn, applyset.Options{}), configMap("", "a")
		_, err := set.Apply(t.Context(), []metav1.Object{given, configMap("other", "b"), secret("s"), namespace("other")})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"own": "label"}, given.GetLabels(), "what is given is only read")
		require.Equal(t, []string{"ConfigMap default/a", "ConfigMap other/b", "Namespace /other", "Secret default/s"}, inSet(t, conn, set.ID()))
		p := parent(t, conn)
		require.Equal(t, map[string]string{applyset.IDLabel: set.ID()}, p.Labels)
		require.Equal(t, map[string]string{applyset.ToolingAnnotation: "keelson/v1", applyset.KindsAnnotation: "ConfigMap,Namespace,Secret", applyset.NamespacesAnnotation: "other"}, p.Annotations)

		// Objects of others, and of other sets, are left alone.
		all := objects.New(conn, objects.Options{})
		_, err = all.Create(t.Context(), configMap("default", "foreign"))
		require.NoError(t, err)
		_, err = open(conn, applyset.Options{Namespace: "default", Name: "second"}).Apply(t.Context(), []metav1.Object{configMap("default", "second")})
		require.NoError(t, err)

		before := parent(t, conn).ResourceVersion
		result, err := set.Apply(t.Context(), []metav1.Object{given, configMap("other", "b"), secret("s"), namespace("other")})
		require.NoError(t, err)
		require.Empty(t, result.Pruned)
		require.Equal(t, before, parent(t, conn).ResourceVersion, "applying again changes nothing")

		dry, err := open(conn, applyset.Options{DryRun: true}).Apply(t.Context(), []metav1.Object{secret("s")})
		require.NoError(t, err)
		require.Len(t, dry.Pruned, 3)
		require.Len(t, inSet(t, conn, set.ID()), 4, "a dry run deletes nothing")

		result, err = set.Apply(t.Context(), []metav1.Object{secret("s")})
		require.NoError(t, err)
		require.Len(t, result.Pruned, 3)
		require.Equal(t, "other", result.Pruned[2].Name, "the namespace last")
		require.Equal(t, []string{"Secret default/s"}, inSet(t, conn, set.ID()))
		require.Equal(t, "Secret", parent(t, conn).Annotations[applyset.KindsAnnotation])
		require.Empty(t, parent(t, conn).Annotations[applyset.NamespacesAnnotation])
		for _, name := range []string{"foreign", "second"} {
			_, err = all.Get(t.Context(), configMap("default", name))
			require.NoError(t, err)
		}
		_, err = set.Apply(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, inSet(t, conn, set.ID()))
	})
}

func TestRefusals(t *testing.T) {
	cluster(t, func(t *testing.T, conn client.Conn) {
		apply := func(o applyset.Options, objs ...metav1.Object) error {
			_, err := open(conn, o).Apply(t.Context(), objs)
			return err
		}
		require.NoError(t, apply(applyset.Options{Tooling: "kubectl/v1.32"}, configMap("", "a")))
		require.ErrorContains(t, apply(applyset.Options{}, configMap("", "a")), `is managed by "kubectl", not by "keelson": name it in Options.TakeOver`)
		require.NoError(t, apply(applyset.Options{TakeOver: []string{"kubectl"}}, configMap("", "b")))
		require.Equal(t, "keelson/v1", parent(t, conn).Annotations[applyset.ToolingAnnotation])
		id := open(conn, applyset.Options{}).ID()
		require.Equal(t, []string{"ConfigMap default/b"}, inSet(t, conn, id))

		_, err := objects.New(conn, objects.Options{}).Create(t.Context(), secret("plain"))
		require.NoError(t, err)
		require.ErrorContains(t, apply(applyset.Options{Namespace: "default", Name: "plain"}), "exists and is no parent")
		marked := configMap("", "m")
		marked.SetLabels(map[string]string{applyset.PartOfLabel: "x"})
		require.ErrorContains(t, apply(applyset.Options{}, marked), "has the label applyset.kubernetes.io/part-of already")
		require.ErrorContains(t, apply(applyset.Options{}, nil), "an object is nil")
		require.ErrorContains(t, apply(applyset.Options{Name: "x"}), "a Secret is in a namespace")
		require.ErrorContains(t, apply(applyset.Options{Name: "x", Kind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}}), "a Namespace cannot be a parent")
		bad := configMap("", "NOT A NAME")
		require.ErrorContains(t, apply(applyset.Options{}, bad), "nothing was pruned")
		require.Equal(t, []string{"ConfigMap default/b"}, inSet(t, conn, id))
	})
}

// The process ends after a request, chosen at random, of one of several different applies in a row. The next
// apply that runs to its end leaves exactly the objects it was given.
func TestACrashAfterAnyRequest(t *testing.T) {
	pool := []metav1.Object{configMap("", "a"), configMap("", "b"), configMap("other", "c"), configMap("third", "d"), secret("s"), secret("t")}
	for _, seed := range seeds.Of(t, 10) {
		cluster(t, func(t *testing.T, conn client.Conn) {
			r := seeds.Rand(seed)
			for _, name := range []string{"other", "third"} {
				_, err := objects.New(conn, objects.Options{}).Create(t.Context(), namespace(name))
				require.NoError(t, err)
			}
			var id string
			choose := func() (out []metav1.Object, want []string) {
				for _, obj := range pool {
					if r.IntN(2) == 0 {
						continue
					}
					out = append(out, obj)
					kind := strings.TrimPrefix(fmt.Sprintf("%T", obj), "*corev1.")
					ns := obj.GetNamespace()
					if ns == "" {
						ns = "default"
					}
					want = append(want, fmt.Sprintf("%s %s/%s", kind, ns, obj.GetName()))
				}
				slices.Sort(want)
				return out, want
			}
			for range 6 {
				for range r.IntN(3) {
					ctx, cancel := context.WithCancel(t.Context())
					left, lost := 1+r.IntN(20), r.IntN(2) == 0
					dying := client.Intercept(conn, func(ctx context.Context, _ client.Call, send func(context.Context) error) error {
						left--
						if left > 0 {
							return send(ctx)
						}
						if lost { // the server has done it
							_ = send(ctx)
						}
						cancel()
						return errors.New("the process ended")
					})
					objs, _ := choose()
					_, _ = open(dying, applyset.Options{}).Apply(ctx, objs)
					cancel()
				}
				objs, want := choose()
				set := open(conn, applyset.Options{})
				_, err := set.Apply(t.Context(), objs)
				require.NoError(t, err, "seed %d", seed)
				id = set.ID()
				require.Equal(t, want, inSet(t, conn, id), "seed %d", seed)
			}
		})
	}
}

// kubectl continues a set that was made here, and the other way round.
func TestAsKubectl(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must have kubectl")
		t.Skip("kubectl is not installed: no set is shared with it")
	}
	c := controllertest.Start(t, controllertest.Options{})
	config, conn, dir := c.Kubeconfig(), c.Admin(), t.TempDir()
	byKubectl := func(objs ...metav1.Object) {
		t.Helper()
		var text strings.Builder
		for _, obj := range objs {
			u, err := manifest.FromObject(conn.Scheme(), obj)
			require.NoError(t, err)
			require.NoError(t, manifest.Write(&text, u))
		}
		file := filepath.Join(dir, "objects.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
		cmd := exec.CommandContext(t.Context(), kubectl, "apply", "--server-side", "--force-conflicts", "--prune", "--applyset=app", "-n", "default", "-f", file)
		cmd.Env = append(os.Environ(), "KUBECTL_APPLYSET=true", "KUBECONFIG="+config, "HOME="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	set := open(conn, applyset.Options{Tooling: "kubectl/v1.32", Force: true})
	here := func(objs ...metav1.Object) {
		t.Helper()
		_, err := set.Apply(t.Context(), objs)
		require.NoError(t, err)
	}
	_, err = objects.New(conn, objects.Options{}).Create(t.Context(), namespace("other"))
	require.NoError(t, err)

	byKubectl(configMap("", "a"), configMap("", "b"), secret("s"))
	require.Equal(t, []string{"ConfigMap default/a", "ConfigMap default/b", "Secret default/s"}, inSet(t, conn, set.ID()))
	theirs := parent(t, conn)
	here(configMap("", "a"), configMap("other", "c"), secret("s"))
	require.Equal(t, []string{"ConfigMap default/a", "ConfigMap other/c", "Secret default/s"}, inSet(t, conn, set.ID()), "b of kubectl is pruned")
	ours := parent(t, conn)
	require.Equal(t, theirs.Labels, ours.Labels)
	require.Equal(t, theirs.Annotations[applyset.KindsAnnotation], ours.Annotations[applyset.KindsAnnotation])
	require.Len(t, ours.Annotations, len(theirs.Annotations))
	here(configMap("", "a"), configMap("", "d"), secret("s"))
	byKubectl(configMap("", "d"))
	require.Equal(t, []string{"ConfigMap default/d"}, inSet(t, conn, set.ID()), "kubectl prunes what was applied here")
	require.Equal(t, "ConfigMap", parent(t, conn).Annotations[applyset.KindsAnnotation])
}

func ExampleSet_Apply() {
	run := testing.InternalTest{Name: "example", F: func(t *testing.T) {
		conn := controllertest.Start(t, controllertest.Options{}).Admin()
		set := applyset.New(objects.New(conn, objects.Options{Namespace: "default"}), applyset.Options{Namespace: "default", Name: "app"})
		if _, err := set.Apply(t.Context(), []metav1.Object{configMap("", "a"), configMap("", "b")}); err != nil {
			t.Fatal(err)
		}
		result, err := set.Apply(t.Context(), []metav1.Object{configMap("", "a")})
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range result.Pruned {
			fmt.Println("pruned", obj.Kind, obj.Name)
		}
	}}
	testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{run})
	// Output: pruned ConfigMap b
}

// Diff returns what Apply would do and writes nothing; after Apply nothing is left to do.
func TestDiff(t *testing.T) {
	cluster(t, func(t *testing.T, conn client.Conn) {
		set := open(conn, applyset.Options{})
		_, err := set.Apply(t.Context(), []metav1.Object{configMap("", "gone"), configMap("", "same"), secret("password")})
		require.NoError(t, err)
		changed := secret("password").(*corev1.Secret)
		changed.Data = map[string][]byte{"p": []byte("hidden")}
		next := []metav1.Object{configMap("", "same"), changed, configMap("", "new")}
		text := func() (out string) {
			differences, err := set.Diff(t.Context(), next)
			require.NoError(t, err)
			for _, d := range differences {
				out += d.String()
			}
			return out
		}
		before := text()
		require.Regexp(t, `^Secret default/password would be changed
  \+ data:
  \+   p: ["']\*\*\*["']
ConfigMap default/new would be created
(  .*
)+ConfigMap default/gone would be deleted
$`, before)
		require.Equal(t, before, text(), "nothing was written")
		_, err = set.Apply(t.Context(), next)
		require.NoError(t, err)
		require.Empty(t, text())
	})
}
