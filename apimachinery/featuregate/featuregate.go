// Package featuregate switches features on and off by name, as the release of Kubernetes that is emulated has
// them.
//
// A feature lists what it was in each release: alpha and off, beta and on, then generally available and
// locked. A [Gate] emulates one release; features of later releases do not exist for it.
//
//	var gates = featuregate.New(featuregate.MajorMinor(1, 36))
//	err := gates.Add(map[featuregate.Feature][]featuregate.Spec{
//		"FastLists": {
//			{Since: featuregate.MajorMinor(1, 34), Stage: featuregate.Alpha},
//			{Since: featuregate.MajorMinor(1, 36), Stage: featuregate.Beta, Default: true},
//		},
//	})
//	err = gates.Set("FastLists=false")
package featuregate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Feature is the name of a feature.
type Feature string

// Stage is the maturity of a feature.
type Stage string

// The stages. Their values are those of the label stage of the metric kubernetes_feature_enabled.
const (
	Alpha      Stage = "ALPHA"
	Beta       Stage = "BETA"
	GA         Stage = ""
	Deprecated Stage = "DEPRECATED"
)

// The names that stand for all features of a stage that have no setting of their own.
const (
	AllAlpha Feature = "AllAlpha"
	AllBeta  Feature = "AllBeta"
)

// Version is a release. The zero value is before all of them.
type Version struct{ Major, Minor int }

// MajorMinor is the release major.minor.
func MajorMinor(major, minor int) Version { return Version{major, minor} }

// ParseVersion reads a release such as 1.36 or v1.36.
func ParseVersion(text string) (Version, error) {
	major, minor, ok := strings.Cut(strings.TrimPrefix(text, "v"), ".")
	a, err := strconv.ParseUint(major, 10, 31)
	b, err2 := strconv.ParseUint(minor, 10, 31)
	if !ok || err != nil || err2 != nil {
		return Version{}, fmt.Errorf("%q is not a version such as 1.36", text)
	}
	return Version{int(a), int(b)}, nil
}

// Compare is negative if v is before w, 0 if they are equal, positive if v is after w.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor))
}

// String is major.minor.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Spec is what a feature is from a release on, up to its next Spec.
type Spec struct {
	// Since is the first release of which it is true.
	Since Version
	Stage Stage
	// Default is whether the feature is on if it is not set.
	Default bool
	// LockToDefault refuses any other setting. LockReason, which may be empty, is the end of that error.
	LockToDefault bool
	LockReason    string
}

// Status is a feature as it is now.
type Status struct {
	Feature Feature
	Stage   Stage
	Enabled bool
}

// Gate holds features and their settings. It is safe for concurrent use.
type Gate struct {
	mu       sync.RWMutex
	emulated Version
	features map[Feature][]Spec
	settings map[Feature]bool
}

// New returns a gate without features, for a release.
func New(emulated Version) *Gate {
	return &Gate{emulated: emulated, features: map[Feature][]Spec{}, settings: map[Feature]bool{}}
}

// Add registers features. The specs of a feature are in any order. A feature that is registered already is an
// error unless its specs are the same; then nothing at all is added.
func (g *Gate) Add(features map[Feature][]Spec) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	added := map[Feature][]Spec{}
	for _, name := range slices.Sorted(maps.Keys(features)) {
		specs := slices.SortedFunc(slices.Values(features[name]), func(a, b Spec) int { return a.Since.Compare(b.Since) })
		if known, ok := g.features[name]; ok && !slices.Equal(known, specs) || name == AllAlpha || name == AllBeta {
			return fmt.Errorf("feature gate %s is there already, and different", name)
		}
		if len(specs) == 0 {
			return fmt.Errorf("feature gate %s says nothing about any release", name)
		}
		for i, s := range specs[1:] {
			if s.Since == specs[i].Since {
				return fmt.Errorf("feature gate %s says two things about %s", name, s.Since)
			}
		}
		added[name] = specs
	}
	maps.Copy(g.features, added)
	return nil
}

// spec is what a feature is in a release; ok is false if there is no such feature in it.
func (g *Gate) spec(name Feature, in Version) (s Spec, ok bool) {
	for _, candidate := range g.features[name] {
		if candidate.Since.Compare(in) <= 0 {
			s, ok = candidate, true
		}
	}
	return s, ok
}

// Enabled reports whether a feature is on. One that is not registered, or not in the emulated release, is
// off.
func (g *Gate) Enabled(name Feature) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	s, ok := g.spec(name, g.emulated)
	return ok && g.enabled(name, s)
}

func (g *Gate) enabled(name Feature, s Spec) bool {
	if on, ok := g.settings[name]; ok || s.LockToDefault {
		return on && ok || s.Default && s.LockToDefault
	}
	all := map[Stage]Feature{Alpha: AllAlpha, Beta: AllBeta}[s.Stage]
	if on, ok := g.settings[all]; ok && all != "" {
		return on
	}
	return s.Default
}

// CheckNeeds returns an error for each feature that is on while one that it needs is off.
func (g *Gate) CheckNeeds(needs map[Feature][]Feature) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		off := slices.DeleteFunc(slices.Clone(needs[name]), g.Enabled)
		if g.Enabled(name) && len(off) > 0 {
			errs = append(errs, fmt.Errorf("feature gate %s is enabled, but depends on features that are disabled: %v", name, off))
		}
	}
	return errors.Join(errs...)
}

// SetAll changes settings. All of them are valid, or none is changed; the error names every one that is not.
func (g *Gate) SetAll(settings map[Feature]bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.replace(g.emulated, settings)
}

// replace adds settings to the present ones, if all of them together suit the release.
func (g *Gate) replace(emulated Version, more map[Feature]bool) error {
	settings := maps.Clone(g.settings)
	maps.Copy(settings, more)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if name == AllAlpha || name == AllBeta {
			continue
		}
		s, ok := g.spec(name, emulated)
		switch {
		case !ok && len(g.features[name]) > 0:
			errs = append(errs, fmt.Errorf("feature gate %s is not in %s, it comes with %s", name, emulated, g.features[name][0].Since))
		case !ok:
			errs = append(errs, fmt.Errorf("unrecognized feature gate: %s", name))
		case s.LockToDefault && settings[name] != s.Default:
			err := fmt.Errorf("cannot set feature gate %s to %v, feature is locked to %v", name, settings[name], s.Default)
			if s.LockReason != "" {
				err = fmt.Errorf("%w: %s", err, s.LockReason)
			}
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	g.emulated, g.settings = emulated, settings
	return nil
}

// Emulate changes the release. A setting that the new release does not have, or has locked the other way, is
// an error, and nothing changes.
func (g *Gate) Emulate(v Version) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.replace(v, nil)
}

// Emulated is the release that counts.
func (g *Gate) Emulated() Version {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.emulated
}

// Set reads settings such as A=true,B=false. With String and Type it makes a Gate the value of a flag.
func (g *Gate) Set(text string) error {
	settings := map[Feature]bool{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return fmt.Errorf("missing bool value for %s", part)
		}
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("invalid value of %s=%s: %w", name, value, err)
		}
		settings[Feature(strings.TrimSpace(name))] = on
	}
	return g.SetAll(settings)
}

// String is the settings as Set reads them, by name.
func (g *Gate) String() string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	parts := []string{}
	for _, name := range slices.Sorted(maps.Keys(g.settings)) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, g.settings[name]))
	}
	return strings.Join(parts, ",")
}

// Type names the values of the flag.
func (g *Gate) Type() string { return "mapStringBool" }

// All returns the features of the emulated release by name: what the metric kubernetes_feature_enabled shows.
func (g *Gate) All() []Status {
	g.mu.RLock()
	defer g.mu.RUnlock()
	var out []Status
	for _, name := range slices.Sorted(maps.Keys(g.features)) {
		if s, ok := g.spec(name, g.emulated); ok {
			out = append(out, Status{name, s.Stage, g.enabled(name, s)})
		}
	}
	return out
}
