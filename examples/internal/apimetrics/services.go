package apimetrics

import (
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/store/builtin"
)

// services holds the metrics of the addresses and ports of services, and of certificates that are issued. How
// many addresses are allocated is in the server's state.
type services struct {
	requested, honored       *prometheus.CounterVec // lives of certificates
	addresses, lostAddresses *prometheus.CounterVec
	times                    *prometheus.HistogramVec
	ports, lostPorts         *prometheus.CounterVec
	faults                   [2]*prometheus.CounterVec // of addresses, and of ports
	unrepaired               [2]prometheus.Counter
}

func newServices(r *prometheus.Registry) *services {
	const cluster, node = "kube_apiserver_clusterip_allocator_", "kube_apiserver_nodeport_allocator_"
	s := &services{
		requested:     counter(r, "apiserver_certificates_registry_csr_requested_duration_total", "Certificates issued for requests that say how long they shall be valid.", "signerName"),
		honored:       counter(r, "apiserver_certificates_registry_csr_honored_duration_total", "Certificates among them that are valid for that long.", "signerName"),
		addresses:     counter(r, cluster+"allocation_total", "Cluster IPs allocated, by whether the service names them (static).", "cidr", "scope"),
		lostAddresses: counter(r, cluster+"allocation_errors_total", "Cluster IPs that could not be allocated.", "cidr", "scope"),
		times:         histogram(r, cluster+"allocation_duration_seconds", "Time to allocate a cluster IP.", prometheus.DefBuckets, "cidr"),
		ports:         counter(r, node+"allocation_total", "Node ports allocated, by whether the service names them (static).", "scope"),
		lostPorts:     counter(r, node+"allocation_errors_total", "Node ports that could not be allocated.", "scope"),
	}
	for i, name := range [...]string{"apiserver_clusterip_repair_", "apiserver_nodeport_repair_"} {
		s.unrepaired[i] = counter(r, name+"reconcile_errors_total", "Checks that could not repair what they found.").WithLabelValues()
	}
	s.faults[0] = counter(r, "apiserver_clusterip_repair_ip_errors_total", "Cluster IPs whose allocation did not agree with the services.", "type")
	s.faults[1] = counter(r, "apiserver_nodeport_repair_port_errors_total", "Node ports whose allocation did not agree with the services.", "type")
	return s
}

// indexOf is that of the arrays above.
func indexOf(ports bool) int {
	if ports {
		return 1
	}
	return 0
}

// scopeOf is the label of an allocation.
func scopeOf(named bool) string {
	if named {
		return "static"
	}
	return "dynamic"
}

func (s *services) hooks() builtin.Metrics {
	return builtin.Metrics{
		Issued: func(signer string, honored bool) {
			if !strings.HasPrefix(signer, "kubernetes.io/") {
				signer = "other" // of an unbounded number
			}
			s.requested.WithLabelValues(signer).Inc()
			if honored {
				s.honored.WithLabelValues(signer).Inc()
			}
		},
		Address: func(cidr netip.Prefix, named bool, err error, elapsed time.Duration) {
			s.times.WithLabelValues(cidr.String()).Observe(elapsed.Seconds())
			if err != nil {
				s.lostAddresses.WithLabelValues(cidr.String(), scopeOf(named)).Inc()
				return
			}
			s.addresses.WithLabelValues(cidr.String(), scopeOf(named)).Inc()
		},
		Port: func(named bool, err error) {
			if err != nil {
				s.lostPorts.WithLabelValues(scopeOf(named)).Inc()
				return
			}
			s.ports.WithLabelValues(scopeOf(named)).Inc()
		},
		Repaired:   func(ports bool, fault builtin.Fault) { s.faults[indexOf(ports)].WithLabelValues(string(fault)).Inc() },
		Unrepaired: func(ports bool) { s.unrepaired[indexOf(ports)].Inc() },
	}
}

var (
	allocatedIPs   = prometheus.NewDesc("kube_apiserver_clusterip_allocator_allocated_ips", "Cluster IPs that are allocated.", []string{"cidr"}, nil)
	availableIPs   = prometheus.NewDesc("kube_apiserver_clusterip_allocator_available_ips", "Cluster IPs that are free.", []string{"cidr"}, nil)
	allocatedPorts = prometheus.NewDesc("kube_apiserver_nodeport_allocator_allocated_ports", "Node ports that are allocated.", nil, nil)
	availablePorts = prometheus.NewDesc("kube_apiserver_nodeport_allocator_available_ports", "Node ports that are free.", nil, nil)

	allocationDescs = []*prometheus.Desc{allocatedIPs, availableIPs, allocatedPorts, availablePorts}
)

// collectAllocations sends how much of the ranges is allocated.
func collectAllocations(out chan<- prometheus.Metric, all []builtin.Allocation) {
	for _, a := range all {
		used, free, labels := allocatedIPs, availableIPs, []string{a.Range}
		if a.Range == "" {
			used, free, labels = allocatedPorts, availablePorts, nil
		}
		out <- prometheus.MustNewConstMetric(used, prometheus.GaugeValue, float64(a.Allocated), labels...)
		out <- prometheus.MustNewConstMetric(free, prometheus.GaugeValue, float64(a.Free), labels...)
	}
}
