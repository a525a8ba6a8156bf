package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// The sets of versions that --runtime-config supports.
const (
	allVersions = "api/all"
	betas       = "api/beta"
	alphas      = "api/alpha"
)

// checkRuntimeConfig returns errors for settings of --runtime-config that are unknown or cannot be applied.
func (o *options) checkRuntimeConfig() []error {
	known, gated := []string{allVersions, "api/ga", betas, alphas, "api/v1"}, []string{betas, alphas}
	for _, g := range api.AllGated() {
		known, gated = append(known, g.GroupVersion.String()), append(gated, g.GroupVersion.String())
	}
	for _, info := range api.Scheme().All() {
		known = append(known, info.GVK.GroupVersion().String())
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(o.runtimeConfig)) {
		switch value := o.runtimeConfig[name]; {
		case value != "" && value != "true" && value != "false":
			errs = append(errs, fmt.Errorf("--runtime-config: cannot understand %s=%s", name, value))
		case !slices.Contains(known, name):
			errs = append(errs, fmt.Errorf("--runtime-config: %s is not served here", name))
		case value == "false" && !slices.Contains(gated, name):
			errs = append(errs, fmt.Errorf("--runtime-config: %s cannot be switched off", name))
		}
	}
	return errs
}

// serves reports whether --runtime-config enables a version that is not always served: the most specific
// setting counts.
func (o *options) serves(gv schema.GroupVersion) bool {
	set := betas
	if strings.Contains(gv.Version, "alpha") {
		set = alphas
	}
	for _, name := range []string{gv.String(), set, allVersions} {
		if value, ok := o.runtimeConfig[name]; ok {
			return value != "false"
		}
	}
	return false
}

// scheme is what the server serves. Kinds that are not always served need both their version and their
// feature enabled.
func (o *options) scheme(log *slog.Logger) (*scheme.Scheme, error) {
	s, err := apiserver.BuiltinScheme()
	for _, g := range api.AllGated() {
		switch on := o.features.Enabled(featuregate.Feature(g.Feature)); {
		case err != nil:
			return nil, err
		case on && o.serves(g.GroupVersion):
			err = errors.Join(g.AddToScheme(s), g.AddRules(s))
		case o.serves(g.GroupVersion) && o.runtimeConfig[g.GroupVersion.String()] != "":
			log.Warn("not served without the feature", "version", g.GroupVersion.String(), "feature", g.Feature)
		}
	}
	return s, err
}

// gatedUsage lists the versions that --runtime-config switches on, each with its feature.
func gatedUsage() string {
	var out []string
	for _, g := range api.AllGated() {
		out = append(out, g.GroupVersion.String()+" with the feature "+g.Feature)
	}
	return strings.Join(out, ", ")
}
