package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// admissionPlugins are the flags that say which plugins run, and how.
type admissionPlugins struct {
	enable, disable []string
	configFile      string
}

func (a *admissionPlugins) flags(f *pflag.FlagSet) {
	f.StringSliceVar(&a.enable, "enable-admission-plugins", nil, "admission plugins to run besides the default ones")
	f.StringSliceVar(&a.disable, "disable-admission-plugins", nil, "default admission plugins not to run")
	f.StringVar(&a.configFile, "admission-control-config-file", "", "file of kind AdmissionConfiguration (apiserver.config.k8s.io/v1) with the configurations of EventRateLimit, ImagePolicyWebhook, MutatingAdmissionWebhook, PodNodeSelector, PodSecurity, PodTolerationRestriction, ResourceQuota and ValidatingAdmissionWebhook, or the paths of their files, which may be relative to this one")
}

// apply adds them to the options of the server.
func (a *admissionPlugins) apply(o *controlplane.Options, m *apimetrics.Metrics, log *slog.Logger) error {
	o.EnableAdmission, o.DisableAdmission = a.enable, a.disable
	if a.configFile == "" {
		return nil
	}
	data, err := os.ReadFile(a.configFile)
	if err != nil {
		return fmt.Errorf("--admission-control-config-file: %w", err)
	}
	configured, err := admission.ParseConfiguration(data, func(path string) ([]byte, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(a.configFile), path)
		}
		return os.ReadFile(path)
	})
	if err != nil {
		return fmt.Errorf("--admission-control-config-file: %s: %w", a.configFile, err)
	}
	if p := &configured.ImagePolicy; p.KubeConfigFile != "" {
		if p.Post, err = poster(kubeconfig.Options{Path: p.KubeConfigFile}, m.Requests(), log); err != nil {
			return fmt.Errorf("--admission-control-config-file: %s: imagePolicy.kubeConfigFile: %w", a.configFile, err)
		}
	}
	for _, w := range []*admission.WebhookCredentials{&configured.MutatingWebhooks, &configured.ValidatingWebhooks} {
		if w.KubeConfigFile == "" {
			continue
		}
		if w.Get, err = webhookCredentials(w.KubeConfigFile, log); err != nil {
			return fmt.Errorf("--admission-control-config-file: %s: kubeConfigFile: %w", a.configFile, err)
		}
	}
	o.AdmissionConfiguration = configured
	return nil
}
