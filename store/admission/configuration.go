package admission

import (
	"errors"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/podsecurity"
)

// configuration is the file AdmissionConfiguration of apiserver.config.k8s.io/v1.
type configuration struct {
	metav1.TypeMeta `json:",inline"`
	Plugins         []pluginConfiguration `json:"plugins"`
}

// pluginConfiguration is the configuration of a plugin or, if it is empty, the path of a file with it.
type pluginConfiguration struct {
	Name          string              `json:"name"`
	Path          string              `json:"path"`
	Configuration metav1.RawExtension `json:"configuration"`
}

const maxConfiguration = 1 << 20

// ParseConfiguration reads a file of kind AdmissionConfiguration, YAML or JSON, and the files that it names,
// by read, and returns the options of plugins that it sets. Unknown and repeated fields are errors, and so
// are configurations of plugins that have none; all errors name the field.
func ParseConfiguration(data []byte, read func(path string) ([]byte, error)) (Options, error) {
	var o Options
	var c configuration
	issues, err := codec.UnmarshalYAML(data, &c, codec.DecodeOptions{Strict: true, MaxBytes: maxConfiguration})
	if err == nil && len(issues) > 0 {
		err = fmt.Errorf("%v", issues[0])
	}
	if err != nil {
		return o, fmt.Errorf("admission: AdmissionConfiguration: %w", err)
	}
	if v := c.APIVersion; c.Kind != "AdmissionConfiguration" || v != "apiserver.config.k8s.io/v1" && v != "apiserver.k8s.io/v1alpha1" {
		return o, fmt.Errorf("admission: want kind AdmissionConfiguration of apiserver.config.k8s.io/v1, got %q of %q", c.Kind, v)
	}
	known := Factories()
	seen := map[string]bool{}
	for i := range c.Plugins {
		p, at := &c.Plugins[i], validation.NewPath("plugins").Index(i)
		switch {
		case p.Name == "":
			err = validation.Required(at.Child("name"), "")
		case seen[p.Name]:
			err = validation.Duplicate(at.Child("name"), p.Name)
		case !slices.ContainsFunc(known, func(f Factory) bool { return f.Name == p.Name }):
			err = validation.Invalid(at.Child("name"), p.Name, "there is no such admission plugin")
		default:
			if err = p.set(&o, read); err != nil {
				err = fmt.Errorf("%v: %w", at, err)
			}
		}
		if err != nil {
			return o, fmt.Errorf("admission: AdmissionConfiguration: %w", err)
		}
		seen[p.Name] = true
	}
	return o, nil
}

// set sets the option of the plugin.
func (p *pluginConfiguration) set(o *Options, read func(path string) ([]byte, error)) error {
	data := p.Configuration.Raw
	if len(data) == 0 || string(data) == "null" {
		if p.Path == "" {
			return nil // the plugin's defaults
		}
		var err error
		if data, err = read(p.Path); err != nil {
			return err
		}
	}
	if p.Name != "PodSecurity" {
		return errors.New("the plugin " + p.Name + " has no configuration here: remove it, and use the plugin's API objects")
	}
	c, err := podsecurity.ParseConfiguration(data)
	if err == nil {
		o.PodSecurity = *c
	}
	return err
}
