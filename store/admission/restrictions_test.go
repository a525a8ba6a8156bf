package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// annotated creates a namespace in which pods can be created.
func annotated(t *testing.T, p *planetest.Plane, name, annotation, value string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: planetest.Meta("", name)}
	if annotation != "" {
		ns.Annotations = map[string]string{annotation: value}
	}
	planetest.Create(t, p.Admin(), ns)
	p.Account(name, "default")
}

func in(namespace string, change ...func(*corev1.Pod)) *corev1.Pod {
	return planetest.Pod("x", append(change, func(p *corev1.Pod) { p.Name, p.GenerateName, p.Namespace = "", "x-", namespace })...)
}

// Pods get the node selector of their namespace, or else the cluster's, and select only labels that their
// namespace may use.
func TestPodNodeSelector(t *testing.T) {
	p := planetest.StartForPods(t, enable("PodNodeSelector"), func(o *controlplane.Options) {
		o.AdmissionConfiguration.NodeSelectors = map[string]string{admission.DefaultNodeSelector: "env=any", "fenced": "env=any,team=a", "default": " "}
	})
	admin := p.Admin()
	const annotation = "scheduler.alpha.kubernetes.io/node-selector"
	annotated(t, p, "fenced", "", "")
	annotated(t, p, "own", annotation, "env=prod, disk=ssd")
	annotated(t, p, "none", annotation, "")
	annotated(t, p, "broken", annotation, "env in (a)")
	selecting := func(pairs ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{}
			for i := 0; i < len(pairs); i += 2 {
				p.Spec.NodeSelector[pairs[i]] = pairs[i+1]
			}
		}
	}
	for _, c := range []struct {
		pod     *corev1.Pod
		want    map[string]string
		refused string
	}{
		{pod: in("default"), want: map[string]string{"env": "any"}},
		{pod: in("default", selecting("zone", "b")), want: map[string]string{"env": "any", "zone": "b"}},
		{pod: in("default", selecting("env", "prod")), refused: "pod node label selector conflicts with its namespace node label selector"},
		{pod: in("fenced", selecting("team", "a")), want: map[string]string{"env": "any", "team": "a"}},
		{pod: in("fenced", selecting("team", "b")), refused: "pod node label selector labels conflict with its namespace whitelist"},
		{pod: in("fenced", selecting("other", "b")), refused: "pod node label selector labels conflict with its namespace whitelist"},
		{pod: in("own", selecting("env", "prod")), want: map[string]string{"env": "prod", "disk": "ssd"}},
		{pod: in("own", selecting("env", "any")), refused: "conflicts with its namespace node label selector"},
		{pod: in("none", selecting("zone", "b")), want: map[string]string{"zone": "b"}},
		{pod: in("broken"), refused: `annotation scheduler.alpha.kubernetes.io/node-selector of namespace broken: invalid selector "env in (a)"`},
	} {
		got, err := client.For[*corev1.Pod](admin).Create(t.Context(), c.pod)
		if c.refused == "" {
			require.NoError(t, err)
			require.Equal(t, c.want, got.Spec.NodeSelector)
			continue
		}
		require.True(t, apierrors.IsForbidden(err), err)
		require.ErrorContains(t, err, c.refused)
	}
	_, err := tryPlugin(t, "PodNodeSelector", objects{}, admission.Options{Configuration: admission.Configuration{NodeSelectors: map[string]string{"a": "b"}}})
	require.ErrorContains(t, err, `PodNodeSelector: podNodeSelectorPluginConfig[a]: invalid selector "b"`)
}

// Pods get the default tolerations of their namespace, or else the cluster's, and have only tolerations that
// are allowed there.
func TestPodTolerationRestriction(t *testing.T) {
	exists := func(key string) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists}
	}
	p := planetest.StartForPods(t, enable("PodTolerationRestriction"), func(o *controlplane.Options) {
		o.DisableAdmission = []string{"DefaultTolerationSeconds"}
		o.AdmissionConfiguration.Tolerations = admission.Tolerations{
			Default: []corev1.Toleration{exists("cluster")}, Allowed: []corev1.Toleration{exists("cluster"), exists("node.kubernetes.io/memory-pressure"), exists("free")}}
	})
	const defaults, allowed = "scheduler.alpha.kubernetes.io/defaultTolerations", "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
	annotated(t, p, "own", defaults, `[{"key":"free","operator":"Equal","value":"mine","effect":"NoSchedule"}]`)
	annotated(t, p, "none", defaults, "")
	annotated(t, p, "narrow", allowed, `[{"key":"cluster","operator":"Exists"},{"key":"slow","operator":"Exists","effect":"NoExecute","tolerationSeconds":10}]`)
	annotated(t, p, "all", allowed, "[]")
	annotated(t, p, "broken", defaults, "{")
	having := func(list ...corev1.Toleration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Tolerations = list }
	}
	mine := corev1.Toleration{Key: "free", Operator: corev1.TolerationOpEqual, Value: "mine", Effect: corev1.TaintEffectNoSchedule}
	pressure := corev1.Toleration{Key: "node.kubernetes.io/memory-pressure", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
	slow := func(seconds *int64) corev1.Toleration {
		return corev1.Toleration{Key: "slow", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds}
	}
	const conflict = "pod tolerations (possibly merged with namespace default tolerations) conflict with its "
	for name, c := range map[string]struct {
		pod     *corev1.Pod
		want    []corev1.Toleration
		refused string
	}{
		"the cluster's":          {pod: in("default"), want: []corev1.Toleration{exists("cluster")}},
		"with requests":          {pod: in("default", requesting("1", "1Mi")), want: []corev1.Toleration{exists("cluster"), pressure}},
		"merged":                 {pod: in("own", having(exists("free"))), want: []corev1.Toleration{exists("free")}},
		"the namespace's":        {pod: in("own"), want: []corev1.Toleration{mine}},
		"none":                   {pod: in("none", having(mine)), want: []corev1.Toleration{mine}},
		"not the cluster's":      {pod: in("default", having(exists("other"))), refused: conflict + "cluster whitelist"},
		"not the namespace's":    {pod: in("narrow", having(mine)), refused: conflict + "namespace whitelist"},
		"short":                  {pod: in("narrow", having(slow(new(int64(10))))), want: []corev1.Toleration{slow(new(int64(10))), exists("cluster")}},
		"long":                   {pod: in("narrow", having(slow(new(int64(11))))), refused: conflict + "namespace whitelist"},
		"for ever":               {pod: in("narrow", having(slow(nil))), refused: conflict + "namespace whitelist"},
		"everything":             {pod: in("default", having(corev1.Toleration{Operator: corev1.TolerationOpExists})), refused: conflict + "cluster whitelist"},
		"all are allowed":        {pod: in("all", having(exists("other"))), want: []corev1.Toleration{exists("other"), exists("cluster")}},
		"a broken annotation":    {pod: in("broken"), refused: "annotation " + defaults + " of namespace broken: "},
		"the wide one is kept":   {pod: in("default", having(corev1.Toleration{Key: "cluster", Operator: corev1.TolerationOpEqual, Value: "1"})), want: []corev1.Toleration{exists("cluster")}},
		"equal ones become one":  {pod: in("none", having(mine, mine)), want: []corev1.Toleration{mine, mine}},
		"equal ones, with added": {pod: in("own", having(mine, mine)), want: []corev1.Toleration{mine}},
	} {
		got, err := client.For[*corev1.Pod](p.Admin()).Create(t.Context(), c.pod)
		if c.refused == "" {
			require.NoError(t, err, name)
			require.Equal(t, c.want, got.Spec.Tolerations, name)
			continue
		}
		require.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
		require.ErrorContains(t, err, c.refused, name)
	}

	// What was allowed when the pod was created is checked again when it changes.
	kept := planetest.Create(t, p.Admin(), in("all", having(exists("other"))))
	_, err := client.For[*corev1.Namespace](p.Admin()).Patch(t.Context(), planetest.Key("", "all"), client.Patch{Type: "application/merge-patch+json",
		Data: []byte(`{"metadata":{"annotations":{"` + allowed + `":"[{\"key\":\"a\",\"operator\":\"Exists\"}]"}}}`)})
	require.NoError(t, err)
	p.Eventually("the pod cannot be labelled", func() bool {
		_, err := client.For[*corev1.Pod](p.Admin()).Patch(t.Context(), metav1.KeyOf(kept), client.Patch{Type: "application/merge-patch+json", Data: []byte(`{"metadata":{"labels":{"a":"b"}}}`)})
		return err != nil && apierrors.IsForbidden(err)
	})
}
