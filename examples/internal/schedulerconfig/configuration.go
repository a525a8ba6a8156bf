// Package schedulerconfig reads KubeSchedulerConfiguration files: profiles with their plugins and arguments,
// extenders, and how the program connects and elects its leader; and writes them with all defaults. Its tests
// are those of examples/kube-scheduler.
package schedulerconfig

import (
	"cmp"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/codec"
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

// New returns the configuration of an empty file.
func New() *Configuration {
	return &Configuration{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}}
}

// Configuration is KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1). An unknown field is an error,
// and so is a value that this scheduler does not support; see refuse.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	ClientConnection struct {
		Kubeconfig         string   `json:"kubeconfig"`
		AcceptContentTypes string   `json:"acceptContentTypes"`
		ContentType        string   `json:"contentType"`
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
	EnableContentionProfiling *bool      `json:"enableContentionProfiling,omitempty"`

	features Features
}

// Features are those of Kubernetes that decide which plugins profiles have by default, and what they do.
type Features struct{ GangScheduling, TopologyAwareWorkloadScheduling, StorageCapacityScoring bool }

// Enable sets the features. It is called before Options and Complete.
func (c *Configuration) Enable(f Features) { c.features = f }

// goroutines is how many decide; upstreamGoroutines is the default of parallelism upstream, which its
// --write-config-to writes.
const (
	goroutines         = 1
	upstreamGoroutines = 16
)

// refuse says what of a valid configuration this scheduler does not do.
func (c *Configuration) refuse() error {
	switch {
	case c.LeaderElection.ResourceLock != "" && c.LeaderElection.ResourceLock != "leases":
		return fmt.Errorf("leaderElection.resourceLock: %q: want leases", c.LeaderElection.ResourceLock)
	case c.Parallelism != nil && *c.Parallelism != goroutines && *c.Parallelism != upstreamGoroutines:
		return fmt.Errorf("parallelism: %d: one goroutine decides, as others would cost more than a decision does: want %d, or %d, the default of kube-scheduler, which is taken as %d",
			*c.Parallelism, goroutines, upstreamGoroutines, goroutines)
	}
	return nil
}

// Complete sets what the file leaves out to its defaults, except for how the program connects and elects its
// leader, where flags count too. What is wrong in a profile is an error with its path.
func (c *Configuration) Complete() error {
	c.ClientConnection.ContentType = cmp.Or(c.ClientConnection.ContentType, "application/vnd.kubernetes.protobuf")
	c.LeaderElection.ResourceLock = "leases"
	c.Parallelism = new(goroutines)
	setDefault(&c.PercentageOfNodesToScore, 0)
	setDefault(&c.PodInitialBackoffSeconds, 1)
	setDefault(&c.PodMaxBackoffSeconds, 10)
	setDefault(&c.EnableProfiling, true)
	setDefault(&c.EnableContentionProfiling, false)
	if len(c.Profiles) == 0 {
		c.Profiles = []profile{{}}
	}
	for i := range c.Profiles {
		c.Profiles[i].features = c.features
		if err := c.Profiles[i].complete(); err != nil {
			return fmt.Errorf("profiles[%d].%w", i, err)
		}
	}
	for i := range c.Extenders {
		c.Extenders[i].HTTPTimeout.Duration = cmp.Or(c.Extenders[i].HTTPTimeout.Duration, extenderTimeout)
	}
	return nil
}

// extenderTimeout is the default of an extender's httpTimeout.
const extenderTimeout = 5 * time.Second

func setDefault[T any](field **T, v T) {
	if *field == nil {
		*field = &v
	}
}

// YAML returns the file with this configuration.
func (c *Configuration) YAML() ([]byte, error) { return codec.MarshalYAML(c) }
