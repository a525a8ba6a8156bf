package diff_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/diff"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

func deployment() *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: map[string]string{"app": "web"}}}
	d.Spec.Replicas = new(int32(2))
	d.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "web", Image: "nginx:1", Args: []string{"-a", "-b"}, Env: []corev1.EnvVar{{Name: "A", Value: "1"}}},
		{Name: "log", Image: "log:1"},
	}
	return d
}

func changed(before, after metav1.Object, opts diff.Options) string {
	changes, err := diff.Objects(before, after, opts)
	if err != nil {
		return err.Error()
	}
	return diff.Text(changes)
}

// Fields are printed by their paths, items of lists by their keys, whatever their place.
func TestADeployment(t *testing.T) {
	after := deployment()
	after.Spec.Replicas = new(int32(3))
	after.Labels["example.com/team"] = "blue"
	after.Generation, after.ResourceVersion, after.UID = 7, "9", "u"
	c := after.Spec.Template.Spec.Containers
	c[0].Image, c[0].Args = "nginx:2", []string{"-a", "-x", "-b"}
	c[0].Env = append([]corev1.EnvVar{{Name: "B", Value: "true"}}, c[0].Env...)
	after.Spec.Template.Spec.Containers = []corev1.Container{{Name: "first", Image: "i"}, c[0]}
	want := `+ metadata.labels[example.com/team]: blue
- spec.replicas: 2
+ spec.replicas: 3
+ spec.template.spec.containers[name=first]:
+   image: i
+   name: first
+   resources: {}
+ spec.template.spec.containers[name=web].args[1]: -x
+ spec.template.spec.containers[name=web].env[name=B]:
+   name: B
+   value: "true"
- spec.template.spec.containers[name=web].image: nginx:1
+ spec.template.spec.containers[name=web].image: nginx:2
- spec.template.spec.containers[name=log]:
-   image: log:1
-   name: log
-   resources: {}
`
	require.Equal(t, want, changed(deployment(), after, diff.Options{}))
	untyped := func(obj metav1.Object) metav1.Object {
		u, err := manifest.FromObject(api.Scheme(), obj)
		require.NoError(t, err)
		return u
	}
	require.Equal(t, want, changed(untyped(deployment()), untyped(after), diff.Options{Scheme: api.Scheme()}))
	require.Equal(t, want, changed(untyped(deployment()), untyped(after), diff.Options{}), "the keys are guessed")
	require.Equal(t, want, changed(deployment(), untyped(after), diff.Options{}), "one without its kind")
	require.Contains(t, changed(deployment(), after, diff.Options{All: true}), "+ metadata.generation: 7\n")
	require.Empty(t, changed(deployment(), deployment(), diff.Options{}))
	require.Equal(t, "diff: both objects are nil", changed(nil, (*corev1.Pod)(nil), diff.Options{}))
}

// The keys of a Go type are used where a guess would be wrong.
func TestKeysOfTwoFields(t *testing.T) {
	service := func(ports ...corev1.ServicePort) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{Ports: ports}}
	}
	udp := corev1.ServicePort{Port: 53, Protocol: "UDP", TargetPort: intstr.FromInt32(53)}
	tcp := corev1.ServicePort{Port: 53, Protocol: "TCP", TargetPort: intstr.FromInt32(53)}
	moved := udp
	moved.TargetPort = intstr.FromInt32(5353)
	require.Equal(t, "- spec.ports[port=53,protocol=UDP].targetPort: 53\n+ spec.ports[port=53,protocol=UDP].targetPort: 5353\n",
		changed(service(udp, tcp), service(moved, tcp), diff.Options{}))
	require.Equal(t, `- spec.ports order:
-   - port=53,protocol=UDP
-   - port=53,protocol=TCP
+ spec.ports order:
+   - port=53,protocol=TCP
+   - port=53,protocol=UDP
`, changed(service(udp, tcp), service(tcp, udp), diff.Options{}), "of init containers, for one, the order counts")
}

// No data of a Secret is printed, typed or not, whether it is added, removed or changed.
func TestSecretsAreMasked(t *testing.T) {
	secret := func(data map[string][]byte, applied string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": applied}}, Data: data}
	}
	before := secret(map[string][]byte{"same": []byte("hidden0"), "gone": []byte("hidden1"), "changed": []byte("hidden2")}, `{"hidden3":1}`)
	after := secret(map[string][]byte{"same": []byte("hidden0"), "new": []byte("hidden4"), "changed": []byte("hidden5")}, `{"hidden6":1}`)
	after.StringData = map[string]string{"text": "hidden7"}
	want := `- data.changed: '*** (before)'
+ data.changed: '*** (after)'
- data.gone: '***'
+ data.new: '***'
- metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]: '*** (before)'
+ metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]: '*** (after)'
+ stringData:
+   text: '***'
`
	require.Equal(t, strings.ReplaceAll(want, "'", `"`), strings.ReplaceAll(changed(before, after, diff.Options{}), "'", `"`))
	u, err := manifest.FromObject(api.Scheme(), after)
	require.NoError(t, err)
	require.NotContains(t, changed(before, u, diff.Options{}), "hidden")
	for _, one := range []string{changed(nil, u, diff.Options{}), changed(before, nil, diff.Options{})} {
		require.NotContains(t, one, "hidden")
		require.NotContains(t, one, "aGlkZGVu", "base64")
		require.Contains(t, one, "***")
	}
	require.Contains(t, changed(before, after, diff.Options{ShowSecrets: true}), "hidden7")
	require.Equal(t, []byte("hidden5"), after.Data["changed"], "the objects are only read")
	if nested, _ := u.Nested("stringData", "text"); nested != nil {
		require.Equal(t, "hidden7", nested)
	}
}

// Of texts with several lines the lines that differ are printed.
func TestTexts(t *testing.T) {
	cm := func(text string) *corev1.ConfigMap {
		return &corev1.ConfigMap{Data: map[string]string{"app.yaml": text}}
	}
	require.Equal(t, "  data[app.yaml]:\n    c\n    d\n-   e\n+   E\n    f\n    g\n    ...\n    j\n    k\n+   new\n    l\n",
		changed(cm("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n"), cm("a\nb\nc\nd\nE\nf\ng\nh\ni\nj\nk\nnew\nl\n"), diff.Options{}))
	big := strings.Repeat("x\ny\n", 5000)
	require.Equal(t, 20_005, strings.Count(changed(cm("a\n"+big+"b"), cm("c\n"+strings.ReplaceAll(big, "x", "z")+"d"), diff.Options{}), "\n"), "in bounded time")
}

// TestChangesLeadFromOneToTheOther applies the changes between random trees to the first: the naive model, in
// which a path is a path and nothing is matched, has the second as its result.
func TestChangesLeadFromOneToTheOther(t *testing.T) {
	for _, seed := range seeds.Of(t, 500) {
		rng := seeds.Stream(seed, 21)
		before, after := randomObject(rng), randomObject(rng)
		if rng.IntN(2) == 0 { // mostly equal
			after = codec.DeepCopy(before)
			after.Spec.Template.Spec = randomObject(rng).Spec.Template.Spec
		}
		changes, err := diff.Objects(before, after, diff.Options{All: true})
		require.NoError(t, err)
		require.Equal(t, reflect.DeepEqual(plain(t, before), plain(t, after)), len(changes) == 0, "seed %d", seed)
		back, err := diff.Objects(after, before, diff.Options{All: true})
		require.NoError(t, err)
		require.Len(t, back, len(changes), "seed %d", seed)
		flatBefore, flatAfter := flat(before), flat(after)
		for _, c := range changes {
			require.NotEqual(t, c.Old, c.New, "seed %d: %s", seed, c.Path)
			if v, scalar := flatBefore[c.Path]; scalar && c.Old != nil {
				require.EqualValues(t, v, c.Old, "seed %d: %s", seed, c.Path)
			}
			delete(flatAfter, c.Path)
			delete(flatBefore, c.Path)
		}
		// What is not listed is equal.
		for path, v := range flatAfter {
			if was, ok := flatBefore[path]; ok {
				require.EqualValues(t, was, v, "seed %d: %s", seed, path)
			}
		}
	}
}

func plain(t *testing.T, obj any) (out any) {
	b, err := codec.Marshal(obj)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}

func randomObject(rng *rand.Rand) *appsv1.Deployment {
	d := deployment()
	d.Labels = map[string]string{}
	for range rng.IntN(3) {
		d.Labels[fmt.Sprint("l", rng.IntN(3))] = fmt.Sprint(rng.IntN(2))
	}
	d.Spec.Replicas = new(int32(rng.IntN(2)))
	d.Spec.Template.Spec.Containers = nil
	for _, i := range rng.Perm(4)[:rng.IntN(4)] {
		c := corev1.Container{Name: fmt.Sprint("c", i), Image: fmt.Sprint("i", rng.IntN(2))}
		for _, j := range rng.Perm(3)[:rng.IntN(3)] {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("E", j), Value: fmt.Sprint(rng.IntN(2))})
		}
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, c)
	}
	return d
}

// flat returns the fields that randomObject varies, by path.
func flat(d *appsv1.Deployment) map[string]any {
	out := map[string]any{"spec.replicas": *d.Spec.Replicas}
	for k, v := range d.Labels {
		out["metadata.labels."+k] = v
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		at := "spec.template.spec.containers[name=" + c.Name + "]"
		out[at+".image"] = c.Image
		for _, e := range c.Env {
			out[at+".env[name="+e.Name+"].value"] = e.Value
		}
	}
	return out
}

// A replica more and another image.
func Example() {
	before := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}}
	before.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "nginx:1"}}
	after := codec.DeepCopy(before)
	after.Spec.Replicas = new(int32(3))
	after.Spec.Template.Spec.Containers[0].Image = "nginx:2"
	changes, err := diff.Objects(before, after, diff.Options{})
	fmt.Print(diff.Text(changes), err, "\n")
	// Output:
	// - spec.replicas: 2
	// + spec.replicas: 3
	// - spec.template.spec.containers[name=web].image: nginx:1
	// + spec.template.spec.containers[name=web].image: nginx:2
	// <nil>
}
