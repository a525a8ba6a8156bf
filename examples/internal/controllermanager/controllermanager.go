// Package controllermanager knows the built-in controllers by the names kube-controller-manager gives them.
package controllermanager

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/controllers/clusterroleaggregation"
	"github.com/keelson-dev/keelson/controllers/deployment"
	"github.com/keelson-dev/keelson/controllers/endpointslice"
	"github.com/keelson-dev/keelson/controllers/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/job"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/namespace"
	"github.com/keelson-dev/keelson/controllers/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/podgc"
	"github.com/keelson-dev/keelson/controllers/replicaset"
	"github.com/keelson-dev/keelson/controllers/resourcequota"
	"github.com/keelson-dev/keelson/controllers/serviceaccount"
	"github.com/keelson-dev/keelson/controllers/tainteviction"
)

// Options of the controllers.
type Options struct {
	// Controllers names what to run: "*" is everything, "-name" leaves one out. Nil means "*".
	Controllers []string
	// RootCA is published in every namespace; empty publishes nothing.
	RootCA []byte
	// NodeLifecycle is passed on.
	NodeLifecycle nodelifecycle.Options
}

type entry struct {
	name string
	add  func(m *manager.Manager, o *Options) error
}

var all = []entry{
	{"serviceaccount-controller", func(m *manager.Manager, o *Options) error {
		return serviceaccount.Add(m, serviceaccount.Options{RootCA: o.RootCA})
	}},
	{"deployment-controller", func(m *manager.Manager, _ *Options) error { return deployment.Add(m, deployment.Options{}) }},
	{"replicaset-controller", func(m *manager.Manager, _ *Options) error { return replicaset.Add(m, replicaset.Options{}) }},
	{"job-controller", func(m *manager.Manager, _ *Options) error { return job.Add(m, job.Options{}) }},
	{"pod-garbage-collector-controller", func(m *manager.Manager, _ *Options) error { return podgc.Add(m, podgc.Options{}) }},
	{"resourcequota-controller", func(m *manager.Manager, _ *Options) error { return resourcequota.Add(m, resourcequota.Options{}) }},
	{"endpointslice-controller", func(m *manager.Manager, _ *Options) error { return endpointslice.Add(m, endpointslice.Options{}) }},
	{"namespace-controller", func(m *manager.Manager, _ *Options) error { return namespace.Add(m, namespace.Options{}) }},
	{"garbage-collector-controller", func(m *manager.Manager, _ *Options) error {
		return garbagecollector.Add(m, garbagecollector.Options{})
	}},
	{"node-lifecycle-controller", func(m *manager.Manager, o *Options) error { return nodelifecycle.Add(m, o.NodeLifecycle) }},
	{"clusterrole-aggregation-controller", func(m *manager.Manager, _ *Options) error { return clusterroleaggregation.Add(m) }},
	{"taint-eviction-controller", func(m *manager.Manager, _ *Options) error { return tainteviction.Add(m) }},
}

// Names are the controllers there are.
func Names() []string {
	var out []string
	for _, e := range all {
		out = append(out, e.name)
	}
	return out
}

// Add adds the selected controllers to m.
func Add(m *manager.Manager, o Options) error {
	selected, err := selection(o.Controllers)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range all {
		if !selected[e.name] {
			continue
		}
		if err := e.add(m, &o); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.name, err))
		}
	}
	return errors.Join(errs...)
}

// selection resolves the value of --controllers. Names without "-controller" are accepted, as the short forms of older releases.
func selection(list []string) (map[string]bool, error) {
	if len(list) == 0 {
		list = []string{"*"}
	}
	names := Names()
	out := map[string]bool{}
	if slices.Contains(list, "*") {
		for _, n := range names {
			out[n] = true
		}
	}
	for _, item := range list {
		if item == "*" {
			continue
		}
		name, off := strings.CutPrefix(item, "-")
		if !slices.Contains(names, name) {
			name += "-controller"
		}
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("%q is not a controller; known are %s", item, strings.Join(names, ", "))
		}
		out[name] = !off
	}
	return out, nil
}
