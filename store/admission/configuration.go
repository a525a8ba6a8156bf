package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/internal/configfile"
	"github.com/keelson-dev/keelson/store/podsecurity"
)

// Configuration is what the plugins with a configuration of their own do. The zero value is that of a server
// without a configuration file.
type Configuration struct {
	// PodSecurity are the defaults and exemptions of the plugin PodSecurity; the zero value allows everything
	// in namespaces that are not labelled.
	PodSecurity podsecurity.Configuration
	// NodeSelectors are those of the plugin PodNodeSelector, such as "disk=ssd,zone=a", by namespace: its
	// pods may select no other labels. That of [DefaultNodeSelector] is added to the pods of all namespaces
	// without the annotation scheduler.alpha.kubernetes.io/node-selector.
	NodeSelectors map[string]string
	// Tolerations are those of the plugin PodTolerationRestriction.
	Tolerations Tolerations
	// EventLimits are those of the plugin EventRateLimit, which needs at least one.
	EventLimits []EventLimit
	// ImagePolicy is that of the plugin ImagePolicyWebhook, which needs its Post.
	ImagePolicy ImagePolicy
	// MutatingWebhooks and ValidatingWebhooks say how the server identifies itself to admission webhooks.
	MutatingWebhooks, ValidatingWebhooks WebhookCredentials
	// LimitedResources are those of the plugin ResourceQuota.
	LimitedResources []LimitedResource
}

// Tolerations apply to pods in namespaces without annotations about tolerations.
type Tolerations struct {
	// Default are added to new pods; Allowed are those, and narrower ones, that pods may have. None allows
	// all.
	Default, Allowed []corev1.Toleration
}

// admissionFile is the file AdmissionConfiguration of apiserver.config.k8s.io/v1.
type admissionFile struct {
	metav1.TypeMeta `json:",inline"`
	Plugins         []pluginFile `json:"plugins"`
}

// pluginFile is the configuration of a plugin or, if it is empty, the path of a file with it.
type pluginFile struct {
	Name          string              `json:"name"`
	Path          string              `json:"path"`
	Configuration metav1.RawExtension `json:"configuration"`
}

const maxConfiguration = 1 << 20

// ParseConfiguration reads a file of kind AdmissionConfiguration, YAML or JSON, and the files that it names,
// by read. Unknown and repeated fields are errors, and so are configurations of plugins that have none; all
// errors name the line and the field. What uses the kubeconfigs that the file names is left for the caller:
// Configuration.ImagePolicy.Post, MutatingWebhooks.Get and ValidatingWebhooks.Get.
func ParseConfiguration(data []byte, read func(path string) ([]byte, error)) (Configuration, error) {
	var c Configuration
	var file admissionFile
	if err := strictYAML(data, &file); err != nil {
		return c, fmt.Errorf("admission: AdmissionConfiguration: %s%w", configfile.LineOf(data, fieldOf(err)), err)
	}
	if v := file.APIVersion; file.Kind != "AdmissionConfiguration" || v != "apiserver.config.k8s.io/v1" && v != "apiserver.k8s.io/v1alpha1" {
		return c, fmt.Errorf("admission: want kind AdmissionConfiguration of apiserver.config.k8s.io/v1, got %q of %q", file.Kind, v)
	}
	known := Factories()
	seen := map[string]bool{}
	for i := range file.Plugins {
		p, at := &file.Plugins[i], validation.NewPath("plugins").Index(i)
		var err error
		text, path, prefix := data, fmt.Sprint(at), "" // where the error is
		switch {
		case p.Name == "":
			err = validation.Required(at.Child("name"), "")
		case seen[p.Name]:
			err = validation.Duplicate(at.Child("name"), p.Name)
		case !slices.ContainsFunc(known, func(f Factory) bool { return f.Name == p.Name }):
			err = validation.Invalid(at.Child("name"), p.Name, "there is no such admission plugin")
		default:
			own, from, wrong := p.content(read)
			if wrong == nil && own != nil {
				wrong = p.set(&c, own)
			}
			if wrong != nil {
				err = fmt.Errorf("%v: %w", at, wrong)
			}
			if path += ".configuration." + fieldOf(wrong); from != "" {
				text, path, prefix = own, fieldOf(wrong), from+": "
			}
		}
		if err != nil {
			return c, fmt.Errorf("admission: AdmissionConfiguration: %s%s%w", prefix, configfile.LineOf(text, path), err)
		}
		seen[p.Name] = true
	}
	return c, nil
}

// content returns the configuration of the plugin, nil for its defaults, and the path of the file that it is
// in, empty if it is in the file itself.
func (p *pluginFile) content(read func(path string) ([]byte, error)) (data []byte, from string, err error) {
	if data := p.Configuration.Raw; len(data) > 0 && string(data) != "null" {
		return data, "", nil
	}
	if p.Path == "" {
		return nil, "", nil
	}
	data, err = read(p.Path)
	return data, p.Path, err
}

// set sets the configuration of the plugin.
func (p *pluginFile) set(c *Configuration, data []byte) error {
	switch p.Name {
	case "PodSecurity":
		parsed, err := podsecurity.ParseConfiguration(data)
		if err == nil {
			c.PodSecurity = *parsed
		}
		return err
	case "PodNodeSelector":
		return c.parseNodeSelectors(data)
	case "PodTolerationRestriction":
		return c.parseTolerations(data)
	case "EventRateLimit":
		return c.parseEventLimits(data)
	case "ImagePolicyWebhook":
		return c.parseImagePolicy(data)
	case "MutatingAdmissionWebhook":
		return c.MutatingWebhooks.parse(data)
	case "ValidatingAdmissionWebhook":
		return c.ValidatingWebhooks.parse(data)
	case "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy":
		var file staticFile
		if err := strictYAML(data, &file); err != nil {
			return err
		}
		return file.check(p.Name + "Configuration")
	case "ResourceQuota":
		return c.parseLimitedResources(data)
	}
	return errors.New("the plugin " + p.Name + " has no configuration here: remove it, and use the plugin's API objects")
}

// staticFile is what the configurations of webhooks and of policies have in common.
type staticFile struct {
	metav1.TypeMeta    `json:",inline"`
	StaticManifestsDir string `json:"staticManifestsDir"`
}

// check refuses another kind than the given one, and manifests: that feature is alpha and off in Kubernetes
// 1.36, which then refuses them as well.
func (f *staticFile) check(kind string) error {
	const version = "apiserver.config.k8s.io/v1"
	switch {
	case f.Kind != kind || f.APIVersion != version:
		return fmt.Errorf("want kind %s of %s, got %q of %q", kind, version, f.Kind, f.APIVersion)
	case f.StaticManifestsDir != "":
		return validation.Forbidden(validation.NewPath("staticManifestsDir"),
			"the alpha feature ManifestBasedAdmissionControlConfig is not there: webhooks and policies are API objects only")
	}
	return nil
}

func (c *Configuration) parseNodeSelectors(data []byte) error {
	var file struct {
		Selectors map[string]string `json:"podNodeSelectorPluginConfig"`
	}
	if err := strictYAML(data, &file); err != nil {
		return err
	}
	c.NodeSelectors = file.Selectors
	_, err := parseNodeSelectors(file.Selectors)
	return err
}

func (c *Configuration) parseTolerations(data []byte) error {
	var file struct {
		metav1.TypeMeta `json:",inline"`
		Default         []corev1.Toleration `json:"default"`
		Allowed         []corev1.Toleration `json:"whitelist"`
	}
	if err := strictYAML(data, &file); err != nil {
		return err
	}
	if err := wantConfiguration(file.TypeMeta, "podtolerationrestriction.admission.k8s.io/v1alpha1"); err != nil {
		return err
	}
	c.Tolerations = Tolerations{file.Default, file.Allowed}
	return c.Tolerations.check()
}

func (c *Configuration) parseEventLimits(data []byte) error {
	var file struct {
		metav1.TypeMeta `json:",inline"`
		Limits          []EventLimit `json:"limits"`
	}
	if err := strictYAML(data, &file); err != nil {
		return err
	}
	if err := wantConfiguration(file.TypeMeta, "eventratelimit.admission.k8s.io/v1alpha1"); err != nil {
		return err
	}
	c.EventLimits = file.Limits
	return checkEventLimits(file.Limits)
}

// wantConfiguration checks that a file is of the kind Configuration of a version.
func wantConfiguration(got metav1.TypeMeta, version string) error {
	if got.Kind != "Configuration" || got.APIVersion != version {
		return fmt.Errorf("want kind Configuration of %s, got %q of %q", version, got.Kind, got.APIVersion)
	}
	return nil
}

// strictYAML reads a file in which unknown and repeated fields are errors.
func strictYAML(data []byte, into any) error {
	issues, err := codec.UnmarshalYAML(data, into, codec.DecodeOptions{Strict: true, MaxBytes: maxConfiguration})
	if err == nil && len(issues) > 0 {
		err = &fieldError{issues[0].Path, fmt.Sprint(issues[0])}
	}
	return err
}

// fieldError is about an unknown or repeated field.
type fieldError struct{ path, text string }

func (e *fieldError) Error() string { return e.text }

// fieldOf returns the field that an error is about; empty if it is not about one.
func fieldOf(err error) string {
	if e, ok := errors.AsType[*fieldError](err); ok {
		return e.path
	}
	if e, ok := errors.AsType[*codec.DecodeError](err); ok {
		return e.Path
	}
	if e, ok := errors.AsType[*validation.Error](err); ok {
		return e.Field
	}
	return ""
}

// parseLabelMap reads labels of the form k=v,k2=v2, as they stand in annotations and configuration files.
func parseLabelMap(text string) (map[string]string, error) {
	out := map[string]string{}
	if strings.TrimSpace(text) == "" {
		return out, nil
	}
	for _, part := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok {
			return nil, fmt.Errorf("invalid selector %q: want labels of the form key=value, with commas between them", text)
		}
		if wrong := append(validation.IsQualifiedName(key), validation.IsLabelValue(value)...); len(wrong) > 0 {
			return nil, fmt.Errorf("invalid selector %q: %s", text, strings.Join(wrong, "; "))
		}
		out[key] = value
	}
	return out, nil
}
