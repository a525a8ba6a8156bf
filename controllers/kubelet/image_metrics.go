package kubelet

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pullrecords"
)

// imageMetrics are about images: their pulls, who may use them, and their removal.
type imageMetrics struct {
	verified, images *prometheus.CounterVec
	providerErrors   *prometheus.CounterVec
	providerDuration *prometheus.HistogramVec
	providerConfig   *prometheus.GaugeVec
	pullTook         *prometheus.HistogramVec
	collected        *prometheus.CounterVec
	// imageVolumes were requested of the runtime, imagesMounted were mounted, imageErrors were not.
	imageVolumes, imagesMounted, imageErrors prometheus.Counter
}

func newImageMetrics(r registrar) imageMetrics {
	return imageMetrics{
		verified: r.counters("kubelet_imagemanager_image_mustpull_checks_total", "Checks whether a pod may use an image that is present, by result.", "result"),
		images: r.counters("kubelet_image_manager_ensure_image_requests_total", "Images that containers needed, by pull policy and whether they were present and pulled.",
			"pull_policy", "present_locally", "pull_required"),
		providerErrors:   r.counters("kubelet_credential_provider_plugin_errors_total", "Runs of credential provider plugins that failed.", "plugin_name"),
		providerDuration: r.histograms("kubelet_credential_provider_plugin_duration", "Seconds that runs of credential provider plugins took.", prometheus.DefBuckets, "plugin_name"),
		providerConfig:   r.gauges("kubelet_credential_provider_config_info", "1, with the hash of the configuration of the programs that give credentials as a label.", "hash"),
		pullTook: r.histograms("kubelet_image_pull_duration_seconds", "Seconds that pulls of images took, the wait for their turn included, by the size of the image.",
			[]float64{1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600}, "image_size_in_bytes"),
		collected:     r.counters("kubelet_image_garbage_collected_total", "Images that were removed because they were old, or because of a lack of space.", "reason"),
		imageVolumes:  r.counter("kubelet_image_volume_requested_total", "Image volumes that containers needed."),
		imagesMounted: r.counter("kubelet_image_volume_mounted_succeed_total", "Image volumes that were mounted."),
		imageErrors:   r.counter("kubelet_image_volume_mounted_errors_total", "Image volumes whose mount failed."),
	}
}

// pullSizes are the classes of sizes of images, each with the size in bytes that is still below it.
var pullSizes = []struct {
	above uint64
	label string
}{
	{100 << 30, "GT100GB"}, {60 << 30, "60GB-100GB"}, {40 << 30, "40GB-60GB"}, {30 << 30, "30GB-40GB"}, {20 << 30, "20GB-30GB"}, {10 << 30, "10GB-20GB"},
	{5 << 30, "5GB-10GB"}, {1 << 30, "1GB-5GB"}, {500 << 20, "500MB-1GB"}, {100 << 20, "100MB-500MB"}, {10 << 20, "10MB-100MB"}, {0, "0-10MB"},
}

// pulled counts a pull of an image of that many bytes; 0 is unknown.
func (m *imageMetrics) pulled(size uint64, took time.Duration) {
	label := "N/A"
	for _, s := range pullSizes {
		if size > s.above {
			label = s.label
			break
		}
	}
	m.pullTook.WithLabelValues(label).Observe(took.Seconds())
}

// ensured counts a look at the image of a container.
func (m *imageMetrics) ensured(policy corev1.PullPolicy, present, usable bool) {
	there := strconv.FormatBool(present)
	if policy == corev1.PullAlways {
		there = "unknown" // it does not count
	}
	required := policy == corev1.PullAlways || !usable && (present || policy != corev1.PullNever)
	label := strconv.FormatBool(required)
	if policy == corev1.PullNever && !present {
		label = "unknown"
	}
	m.images.WithLabelValues(strings.ToLower(string(policy)), there, label).Inc()
}

// providerRan counts a run of a program that gives credentials.
func (m *imageMetrics) providerRan(name string, took time.Duration, err error) {
	m.providerDuration.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		m.providerErrors.WithLabelValues(name).Inc()
	}
}

// providers shows the configuration of the programs that give credentials.
func (m *imageMetrics) providers(hash string) { m.providerConfig.WithLabelValues(hash).Set(1) }

// pullFiles counts the files about pulls of images.
type pullFiles struct{ *pullrecords.Records }

var (
	announcedPulls = prometheus.NewDesc("kubelet_imagemanager_ondisk_pullintents", "Files that announce a pull of an image.", nil, nil)
	pulledRecords  = prometheus.NewDesc("kubelet_imagemanager_ondisk_pulledrecords", "Files that say who may use a pulled image.", nil, nil)
)

// Describe implements prometheus.Collector.
func (pullFiles) Describe(ch chan<- *prometheus.Desc) { ch <- announcedPulls; ch <- pulledRecords }

// Collect implements prometheus.Collector.
func (f pullFiles) Collect(ch chan<- prometheus.Metric) {
	announced, pulled, err := f.Counts()
	if err != nil {
		ch <- prometheus.NewInvalidMetric(announcedPulls, err)
		return
	}
	ch <- prometheus.MustNewConstMetric(announcedPulls, prometheus.GaugeValue, float64(announced))
	ch <- prometheus.MustNewConstMetric(pulledRecords, prometheus.GaugeValue, float64(pulled))
}
