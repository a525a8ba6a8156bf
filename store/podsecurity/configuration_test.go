package podsecurity_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store/podsecurity"
)

const configurationHead = "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\n"

const fullConfiguration = configurationHead + `
defaults: {enforce: baseline, enforce-version: v1.30, audit: restricted, warn: restricted, warn-version: latest}
exemptions: {usernames: [root, "system:x"], runtimeClasses: [vm.small], namespaces: [kube-system]}
`

func TestParseConfiguration(t *testing.T) {
	c, err := podsecurity.ParseConfiguration([]byte(fullConfiguration))
	require.NoError(t, err)
	require.Equal(t, podsecurity.Exemptions{Usernames: []string{"root", "system:x"}, RuntimeClasses: []string{"vm.small"}, Namespaces: []string{"kube-system"}}, c.Exemptions)
	p, err := c.Policy()
	require.NoError(t, err)
	require.Equal(t, podsecurity.Policy{Enforce: podsecurity.LevelVersion{Level: podsecurity.Baseline, Version: podsecurity.V1(30)},
		Audit: podsecurity.LevelVersion{Level: podsecurity.Restricted}, Warn: podsecurity.LevelVersion{Level: podsecurity.Restricted}}, p)
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		c, err = podsecurity.ParseConfiguration([]byte(strings.Replace(configurationHead, "/v1", "/"+version, 1)))
		require.NoError(t, err)
		p, err = c.Policy()
		require.NoError(t, err)
		require.True(t, p.Privileged())
	}
	for text, want := range map[string]string{
		"":  `podsecurity: want kind PodSecurityConfiguration of pod-security.admission.config.k8s.io/v1, got "" of ""`,
		"{": "podsecurity: PodSecurityConfiguration: ",
		"apiVersion: pod-security.admission.config.k8s.io/v2\nkind: PodSecurityConfiguration\n": `got "PodSecurityConfiguration" of "pod-security.admission.config.k8s.io/v2"`,
		configurationHead + "defaults: {enforces: baseline}":                                    `unknown field "defaults.enforces"`,
		configurationHead + "defaults: {enforce: a, warn: b, audit: c}":                         `[defaults.enforce: Invalid value: "a": must be one of privileged, baseline, restricted, defaults.warn: Invalid value: "b": must be one of privileged, baseline, restricted, defaults.audit: Invalid value: "c"`,
		configurationHead + "defaults: {enforce-version: v2}":                                   `defaults.enforce-version: Invalid value: "v2": must be "latest" or "v1.x"`,
		configurationHead + "exemptions: {namespaces: [a.b]}":                                   `exemptions.namespaces[0]: Invalid value: "a.b": must not contain dots`,
		configurationHead + "exemptions: {namespaces: [a, b, a]}":                               `exemptions.namespaces[2]: Duplicate value: "a"`,
		configurationHead + "exemptions: {runtimeClasses: [A]}":                                 `exemptions.runtimeClasses[0]: Invalid value: "A": a lowercase RFC 1123 subdomain`,
		configurationHead + `exemptions: {usernames: [""]}`:                                     `exemptions.usernames[0]: Invalid value: "": username must not be empty`,
	} {
		_, err := podsecurity.ParseConfiguration([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// What is accepted can be written and read again, and gives a policy of known levels.
func FuzzParseConfiguration(f *testing.F) {
	f.Add([]byte(fullConfiguration))
	f.Add([]byte(configurationHead + "exemptions: {usernames: [a, a]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := podsecurity.ParseConfiguration(data)
		if err != nil {
			return
		}
		p, err := c.Policy()
		require.NoError(t, err)
		for _, lv := range []podsecurity.LevelVersion{p.Enforce, p.Audit, p.Warn} {
			_, err := podsecurity.ParseLevel(string(lv.Level))
			require.NoError(t, err)
		}
		text, err := codec.Marshal(c)
		require.NoError(t, err)
		again, err := podsecurity.ParseConfiguration(text)
		require.NoError(t, err)
		second, err := codec.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(text), string(second))
	})
}
