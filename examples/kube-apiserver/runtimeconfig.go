package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/storagemigrationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// The sets of versions that --runtime-config supports.
const (
	allVersions = "api/all"
	betas       = "api/beta"
)

// beta is the only version that is not always served.
var beta = storagemigrationv1beta1.GroupVersion.String()

// checkRuntimeConfig returns errors for settings of --runtime-config that are unknown or cannot be applied.
func (o *options) checkRuntimeConfig() []error {
	known := []string{allVersions, "api/ga", betas, "api/alpha", "api/v1", beta}
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
		case value == "false" && name != betas && name != "api/alpha" && name != beta:
			errs = append(errs, fmt.Errorf("--runtime-config: %s cannot be switched off", name))
		}
	}
	return errs
}

// servesBeta reports whether --runtime-config enables the beta version: the most specific setting counts.
func (o *options) servesBeta() bool {
	for _, name := range []string{beta, betas, allVersions} {
		if value, ok := o.runtimeConfig[name]; ok {
			return value != "false"
		}
	}
	return false
}

// scheme is what the server serves. The API of migrations needs both its version and its feature enabled.
func (o *options) scheme(log *slog.Logger) (*scheme.Scheme, error) {
	s, err := apiserver.BuiltinScheme()
	if err != nil || !o.servesBeta() {
		return s, err
	}
	if !o.features.Enabled(storageVersionMigrator) {
		log.Warn("not served without the feature", "version", beta, "feature", storageVersionMigrator)
		return s, nil
	}
	return s, errors.Join(storagemigrationv1beta1.AddToScheme(s), storagemigrationv1beta1.AddRules(s))
}
