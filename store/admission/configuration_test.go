package admission_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

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
		configurationHead + "plugin: []\n":    `admission: AdmissionConfiguration: unknown field "plugin"`,
		configurationHead + "plugins: [{}]\n": "admission: AdmissionConfiguration: plugins[0].name: Required value",
		configurationHead + "plugins: [{name: PodSecurity}, {name: PodSecurity}]":                             `plugins[1].name: Duplicate value: "PodSecurity"`,
		configurationHead + "plugins: [{name: PodSecurities}]":                                                `plugins[0].name: Invalid value: "PodSecurities": there is no such admission plugin`,
		configurationHead + "plugins: [{name: Priority}, {name: ResourceQuota, configuration: {a: b}}]":       "plugins[1]: the plugin ResourceQuota has no configuration here",
		configurationHead + "plugins: [{name: PodSecurity, path: other.yaml}]":                                "plugins[0]: no file other.yaml",
		configurationHead + "plugins: [{name: PodSecurity, configuration: {kind: PodSecurityConfiguration}}]": `plugins[0]: podsecurity: want kind PodSecurityConfiguration of`,
	} {
		_, err := admission.ParseConfiguration([]byte(text), readNothing)
		require.ErrorContains(t, err, want, text)
	}
}

// The defaults of what is accepted are valid.
func FuzzParseConfiguration(f *testing.F) {
	f.Add([]byte(configurationHead + "plugins: [{name: PodSecurity, path: x}]"))
	f.Add([]byte(configurationHead + "plugins:\n- name: PodSecurity\n  configuration: " + podSecurityText + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if o, err := admission.ParseConfiguration(data, readNothing); err == nil {
			_, err := o.PodSecurity.Policy()
			require.NoError(t, err)
		}
	})
}
