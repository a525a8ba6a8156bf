// Package schedulerconfig reads KubeSchedulerConfiguration files: profiles with their plugins and arguments,
// extenders, and how the program connects and elects its leader. Its tests are those of
// examples/kube-scheduler.
package schedulerconfig

import (
	"errors"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

const (
	apiVersion = "kubescheduler.config.k8s.io/v1"
	kind       = "KubeSchedulerConfiguration"
)

// Read decodes YAML or JSON. Unknown fields, and values that this scheduler does not support, are errors.
func Read(data []byte) (*Configuration, error) {
	c := &Configuration{}
	if err := strict(data, c); err != nil {
		return nil, err
	}
	if c.APIVersion != apiVersion || c.Kind != kind {
		return nil, fmt.Errorf("want kind %s of %s, got %s of %s", kind, apiVersion, c.Kind, c.APIVersion)
	}
	return c, c.refuse()
}

// Configuration is KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1). An unknown field is an error,
// and so is a value that this scheduler does not support; see refuse.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	ClientConnection struct {
		Kubeconfig         string   `json:"kubeconfig,omitempty"`
		AcceptContentTypes string   `json:"acceptContentTypes,omitempty"`
		ContentType        string   `json:"contentType,omitempty"`
		QPS                *float64 `json:"qps,omitempty"`
		Burst              *int     `json:"burst,omitempty"`
	} `json:"clientConnection,omitempty"`
	LeaderElection struct {
		LeaderElect       *bool            `json:"leaderElect,omitempty"`
		ResourceLock      string           `json:"resourceLock,omitempty"`
		LeaseDuration     *metav1.Duration `json:"leaseDuration,omitempty"`
		RenewDeadline     *metav1.Duration `json:"renewDeadline,omitempty"`
		RetryPeriod       *metav1.Duration `json:"retryPeriod,omitempty"`
		ResourceNamespace string           `json:"resourceNamespace,omitempty"`
		ResourceName      string           `json:"resourceName,omitempty"`
	} `json:"leaderElection,omitempty"`

	Parallelism               *int       `json:"parallelism,omitempty"`
	PercentageOfNodesToScore  *int       `json:"percentageOfNodesToScore,omitempty"`
	PodInitialBackoffSeconds  *int64     `json:"podInitialBackoffSeconds,omitempty"`
	PodMaxBackoffSeconds      *int64     `json:"podMaxBackoffSeconds,omitempty"`
	Profiles                  []profile  `json:"profiles,omitempty"`
	Extenders                 []extender `json:"extenders,omitempty"`
	DelayCacheUntilActive     bool       `json:"delayCacheUntilActive,omitempty"`
	EnableProfiling           *bool      `json:"enableProfiling,omitempty"`
	EnableContentionProfiling bool       `json:"enableContentionProfiling,omitempty"`
}

// refuse says what of a valid configuration this scheduler does not do.
func (c *Configuration) refuse() error {
	switch {
	case c.DelayCacheUntilActive:
		return errors.New("delayCacheUntilActive: a scheduler that is not the leader always keeps its cache, so that it can take over at once")
	case c.EnableContentionProfiling:
		return errors.New("enableContentionProfiling: the profile of locks is not turned on")
	case c.LeaderElection.ResourceLock != "" && c.LeaderElection.ResourceLock != "leases":
		return fmt.Errorf("leaderElection.resourceLock: %q: want leases", c.LeaderElection.ResourceLock)
	case c.Parallelism != nil && *c.Parallelism < 1:
		return fmt.Errorf("parallelism: %d: want a positive number", *c.Parallelism)
	}
	return nil
}
