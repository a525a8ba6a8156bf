package admission_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/store/admission"
)

const (
	configurationHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"
	podSecurityText   = "{apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, defaults: {enforce: baseline}}"
)

func readNothing(path string) ([]byte, error) { return nil, errors.New("no file " + path) }

func TestParseConfiguration(t *testing.T) {
	read := func(path string) ([]byte, error) {
		require.Equal(t, "ps.yaml", path)
		return []byte(podSecurityText), nil
	}
	for text, enforce := range map[string]string{
		configurationHead: "",
		"apiVersion: apiserver.k8s.io/v1alpha1\nkind: AdmissionConfiguration\nplugins: [{name: PodSecurity}, {name: ResourceQuota, configuration: null}]": "",
		configurationHead + "plugins: [{name: PodSecurity, path: ps.yaml}]":                                                                               "baseline",
		configurationHead + "plugins:\n- name: PodSecurity\n  path: not-read.yaml\n  configuration: " + podSecurityText + "\n":                            "baseline",
	} {
		o, err := admission.ParseConfiguration([]byte(text), read)
		require.NoError(t, err, text)
		require.Equal(t, enforce, o.PodSecurity.Defaults.Enforce, text)
	}
	for text, want := range map[string]string{
		"":                                    `admission: want kind AdmissionConfiguration of apiserver.config.k8s.io/v1, got "" of ""`,
		"kind: AdmissionConfiguration\n":      `got "AdmissionConfiguration" of ""`,
		"{":                                   "admission: AdmissionConfiguration: ",
		configurationHead + "plugin: []\n":    `admission: AdmissionConfiguration: line 3: unknown field "plugin"`,
		configurationHead + "plugins: [{}]\n": "admission: AdmissionConfiguration: line 3: plugins[0].name: Required value",
		configurationHead + "plugins: [{name: PodSecurity}, {name: PodSecurity}]":                                                     `plugins[1].name: Duplicate value: "PodSecurity"`,
		configurationHead + "plugins: [{name: PodSecurities}]":                                                                        `plugins[0].name: Invalid value: "PodSecurities": there is no such admission plugin`,
		configurationHead + "plugins: [{name: Priority}, {name: LimitRanger, configuration: {a: b}}]":                                 "plugins[1]: the plugin LimitRanger has no configuration here",
		configurationHead + "plugins:\n- name: PodNodeSelector\n  configuration:\n    podNodeSelectorPluginConfig: {}\n    nope: 1\n": `line 7: plugins[0]: unknown field "nope"`,
		configurationHead + "plugins: [{name: PodSecurity, path: other.yaml}]":                                                        "plugins[0]: no file other.yaml",
		configurationHead + "plugins: [{name: PodSecurity, configuration: {kind: PodSecurityConfiguration}}]":                         `plugins[0]: podsecurity: want kind PodSecurityConfiguration of`,
	} {
		_, err := admission.ParseConfiguration([]byte(text), readNothing)
		require.ErrorContains(t, err, want, text)
	}
}

// Every plugin with a configuration of its own: what it is in the file, and what is wrong with others.
func TestParsePluginConfigurations(t *testing.T) {
	parse := func(plugin, text string) (admission.Configuration, error) {
		return admission.ParseConfiguration([]byte(configurationHead+"plugins: [{name: "+plugin+", path: file}]"), func(string) ([]byte, error) { return []byte(text), nil })
	}
	const tolerations = "apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\nkind: Configuration\n"
	const hooks = "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\n"
	const mutating = "apiVersion: apiserver.config.k8s.io/v1\nkind: MutatingAdmissionPolicyConfiguration\n"
	const quotas = "apiVersion: apiserver.config.k8s.io/v1\nkind: ResourceQuotaConfiguration\n"
	const limits = "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\n"
	for _, c := range []struct {
		plugin, text string
		want         admission.Configuration
	}{
		{"PodNodeSelector", "podNodeSelectorPluginConfig:\n  clusterDefaultNodeSelector: a=b\n  ns: c=d, e=\n", admission.Configuration{NodeSelectors: map[string]string{"clusterDefaultNodeSelector": "a=b", "ns": "c=d, e="}}},
		{"PodTolerationRestriction", tolerations + "default: [{key: a, operator: Exists}]\nwhitelist: [{key: b, value: c, effect: NoSchedule}]\n", admission.Configuration{Tolerations: admission.Tolerations{
			Default: []corev1.Toleration{{Key: "a", Operator: "Exists"}}, Allowed: []corev1.Toleration{{Key: "b", Value: "c", Effect: "NoSchedule"}}}}},
		{"EventRateLimit", limits + "limits: [{type: Namespace, qps: 50, burst: 100, cacheSize: 2000}, {type: Server, qps: 1, burst: 2}]", admission.Configuration{EventLimits: []admission.EventLimit{
			{Type: admission.EventLimitNamespace, QPS: 50, Burst: 100, CacheSize: 2000}, {Type: admission.EventLimitServer, QPS: 1, Burst: 2}}}},
		{"ImagePolicyWebhook", "imagePolicy: {kubeConfigFile: /k, allowTTL: 50, denyTTL: -1, retryBackoff: 700, defaultAllow: true}", admission.Configuration{ImagePolicy: admission.ImagePolicy{
			KubeConfigFile: "/k", AllowTTL: 50 * time.Second, DenyTTL: -time.Second, RetryBackoff: 700 * time.Millisecond, DefaultAllow: true}}},
		{"ResourceQuota", quotas, admission.Configuration{}},
		{"MutatingAdmissionWebhook", hooks + "kubeConfigFile: /m", admission.Configuration{MutatingWebhooks: admission.WebhookCredentials{KubeConfigFile: "/m"}}},
		{"ValidatingAdmissionWebhook", hooks + "kubeConfigFile: /v", admission.Configuration{ValidatingWebhooks: admission.WebhookCredentials{KubeConfigFile: "/v"}}},
		{"ValidatingAdmissionWebhook", hooks, admission.Configuration{}},
		{"MutatingAdmissionPolicy", mutating + "staticManifestsDir: ''", admission.Configuration{}},
		{"ResourceQuota", "apiVersion: resourcequota.admission.k8s.io/v1beta1\nkind: Configuration\nlimitedResources: [{resource: pods, matchScopes: [{scopeName: PriorityClass, operator: In, values: [high]}]}]", admission.Configuration{
			LimitedResources: []admission.LimitedResource{{Resource: "pods", MatchScopes: []corev1.ScopedResourceSelectorRequirement{{ScopeName: "PriorityClass", Operator: "In", Values: []string{"high"}}}}}}},
		{"ResourceQuota", quotas + "limitedResources: [{apiGroup: apps, resource: deployments, matchContains: [count/]}]", admission.Configuration{
			LimitedResources: []admission.LimitedResource{{APIGroup: "apps", Resource: "deployments", MatchContains: []string{"count/"}}}}},
	} {
		got, err := parse(c.plugin, c.text)
		require.NoError(t, err, c.plugin)
		require.Equal(t, c.want, got, c.plugin)
	}
	for _, c := range []struct{ plugin, text, want string }{
		{"PodNodeSelector", "podNodeSelectorPluginConfig: {ns: 'a in (b)'}", `plugins[0]: podNodeSelectorPluginConfig[ns]: invalid selector "a in (b)"`},
		{"PodNodeSelector", "podNodeSelectorPluginConfig: {ns: '-a=b'}", "podNodeSelectorPluginConfig[ns]: invalid selector"},
		{"PodNodeSelector", "selectors: {}", `unknown field "selectors"`},
		{"PodTolerationRestriction", "default: []", `want kind Configuration of podtolerationrestriction.admission.k8s.io/v1alpha1, got "" of ""`},
		{"PodTolerationRestriction", tolerations + "default: [{key: a, operator: Equals}]", "default[0].operator: Unsupported value"},
		{"PodTolerationRestriction", tolerations + "whitelist: [{key: a, operator: Exists, value: b}]", "whitelist[0].operator: Invalid value"},
		{"EventRateLimit", tolerations, "want kind Configuration of eventratelimit.admission.k8s.io/v1alpha1"},
		{"EventRateLimit", limits, "limits: Required value: must not be empty"},
		{"EventRateLimit", limits + "limits: [{type: Pod, qps: 0, burst: -1, cacheSize: -1}]", `[limits[0].type: Unsupported value: "Pod"`},
		{"EventRateLimit", limits + "limits: [{type: User, qps: 1.5, burst: 1}]", "qps"},
		{"ResourceQuota", limits, `want kind ResourceQuotaConfiguration of apiserver.config.k8s.io/v1, got "Configuration" of "eventratelimit`},
		{"ResourceQuota", quotas + "limitedResources: [{}]", "limitedResources[0].resource: Required value"},
		{"ResourceQuota", quotas + "limitedResources:\n- {resource: pods, matchContain: []}", `file: line 4: plugins[0]: unknown field "limitedResources[0].matchContain"`},
		{"ResourceQuota", quotas + "limitedResources: [{resource: pods, matchScopes: [{scopeName: Priority}]}]", "limitedResources[0].matchScopes[0].scopeName: Unsupported value"},
		{"ResourceQuota", quotas + "limitedResources: [{resource: pods, matchScopes: [{scopeName: BestEffort, operator: NotIn}]}]", "matchScopes[0].operator: Invalid value"},
		{"ResourceQuota", quotas + "limitedResources: [{resource: pods, matchScopes: [{scopeName: PriorityClass}]}]", "matchScopes[0].operator: Unsupported value"},
		{"ResourceQuota", quotas + "limitedResources: [{resource: pods, matchScopes: [{scopeName: PriorityClass, operator: In}]}]", "matchScopes[0].values: Required value"},
		{"ResourceQuota", quotas + "limitedResources: [{resource: pods, matchScopes: [{scopeName: PriorityClass, operator: Exists, values: [a]}]}]", "matchScopes[0].values: Invalid value"},
		{"MutatingAdmissionWebhook", limits, `want kind WebhookAdmissionConfiguration of apiserver.config.k8s.io/v1, got "Configuration"`},
		{"MutatingAdmissionWebhook", hooks + "kubeConfigFile: k", `kubeConfigFile: Invalid value: "k": must be an absolute file path`},
		{"ValidatingAdmissionWebhook", hooks + "staticManifestsDir: /d", "staticManifestsDir: Forbidden: the alpha feature ManifestBasedAdmissionControlConfig is not there"},
		{"ValidatingAdmissionPolicy", hooks, `want kind ValidatingAdmissionPolicyConfiguration of apiserver.config.k8s.io/v1, got "WebhookAdmissionConfiguration"`},
		{"MutatingAdmissionPolicy", mutating + "staticManifestsDir: /d", "staticManifestsDir: Forbidden"},
		{"MutatingAdmissionPolicy", mutating + "kubeConfigFile: /d", `unknown field "kubeConfigFile"`},
		{"ValidatingAdmissionWebhook", hooks + "kubeconfig: /d", `unknown field "kubeconfig"`},
		{"ImagePolicyWebhook", "imagePolicy: {}", "imagePolicy.kubeConfigFile: Required value"},
		{"ImagePolicyWebhook", "imagePolicy: {kubeConfigFile: k, allowTTL: 1801}", "imagePolicy.allowTTL: want from 1 to 1800 seconds, 0 for the default or -1 for none, got 1801"},
		{"ImagePolicyWebhook", "imagePolicy: {kubeConfigFile: k, retryBackoff: -2}", "imagePolicy.retryBackoff: want from 1 to 300000 milliseconds"},
		{"ImagePolicyWebhook", "imagePolicy: {kubeConfigFile: k, denyTTL: 10s}", "denyTTL"},
	} {
		_, err := parse(c.plugin, c.text)
		require.ErrorContains(t, err, c.want, c.text)
	}
}

// The plugins can be made with what is accepted.
func FuzzParseConfiguration(f *testing.F) {
	f.Add([]byte(configurationHead + "plugins: [{name: PodSecurity, path: x}]"))
	for _, text := range []string{
		"PodSecurity\n  configuration: " + podSecurityText,
		"PodNodeSelector\n  configuration: {podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: 'a=b,c='}}",
		"PodTolerationRestriction\n  configuration: {apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1, kind: Configuration, default: [{operator: Exists}]}",
		"EventRateLimit\n  configuration: {apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration, limits: [{type: User, qps: 1, burst: 1}]}",
		"ResourceQuota\n  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: ResourceQuotaConfiguration, limitedResources: [{resource: pods, matchContains: [cpu]}]}",
		"ImagePolicyWebhook\n  configuration: {imagePolicy: {kubeConfigFile: k, allowTTL: -1}}",
	} {
		f.Add([]byte(configurationHead + "plugins:\n- name: " + text + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := admission.ParseConfiguration(data, readNothing)
		if err != nil {
			return
		}
		for _, name := range []string{"PodSecurity", "PodNodeSelector", "PodTolerationRestriction", "EventRateLimit", "ResourceQuota"} {
			if name != "EventRateLimit" || len(c.EventLimits) > 0 {
				plugin(t, name, objects{}, admission.Options{Configuration: c})
			}
		}
	})
}
