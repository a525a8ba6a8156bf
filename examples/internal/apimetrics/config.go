package apimetrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Config holds the metrics of a configuration file that is read again when it changes.
type Config struct {
	total *prometheus.CounterVec
	last  *prometheus.GaugeVec
	info  *prometheus.GaugeVec

	server string // the hash of the server's identity; empty without one
	mu     sync.Mutex
	used   string // the hash of the contents in force
}

// newConfigs returns the metrics of the configurations of each subject.
func newConfigs(r *prometheus.Registry, subjects ...string) map[string]*Config {
	out := map[string]*Config{}
	for _, of := range subjects {
		name := "apiserver_" + of + "_config_controller_"
		out[of] = &Config{
			total: counter(r, name+"automatic_reloads_total", "Changes of the "+of+" configuration by outcome.", "status", "apiserver_id_hash"),
			last:  gauge(r, name+"automatic_reload_last_timestamp_seconds", "Time of the last change of the "+of+" configuration by outcome.", "status", "apiserver_id_hash"),
			info:  gauge(r, name+"last_config_info", "Hash of the "+of+" configuration in force.", "apiserver_id_hash", "hash"),
		}
	}
	return out
}

// Identify sets the name of the server's identity lease, whose hash is a label of some metrics; empty without
// one. It must be called before the hooks.
func (m *Metrics) Identify(name string) {
	m.keyServices.server, m.access.server = hashed(name), hashed(name)
	for _, c := range m.access.configs {
		c.server = hashed(name)
	}
}

// Config returns the metrics of the configuration of authentication, authorization or encryption.
func (m *Metrics) Config(of string) *Config { return m.access.configs[of] }

// Used notes the hash of the contents of the file that are in force.
func (c *Config) Used(hash string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.info.WithLabelValues(c.server, hash).Set(1)
	if c.used != hash && c.used != "" {
		c.info.DeleteLabelValues(c.server, c.used)
	}
	c.used = hash
}

// Reloaded counts a change of the file to contents with that hash; err is why they are not in force.
func (c *Config) Reloaded(hash string, err error) {
	c.total.WithLabelValues(status(err), c.server).Inc()
	c.last.WithLabelValues(status(err), c.server).SetToCurrentTime()
	if err == nil {
		c.Used(hash)
	}
}
