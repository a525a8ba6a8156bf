package kubeletconfig

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/patch"
)

// Default returns the configuration of a kubelet without a file.
func Default() *Configuration {
	c := &Configuration{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}}
	c.fill()
	return c
}

// Load reads a configuration file and then, in the order of their names, the files of a directory and those
// below it whose names end in .conf. Each of these replaces the fields that it has, and lists as a whole. An
// empty name means no file or directory. Fields that no file has get their defaults.
func Load(file, dir string) (*Configuration, error) {
	merged := []byte("{}")
	add := func(path string) error {
		b, err := read(path)
		if err != nil {
			return err
		}
		if merged, err = patch.Merge(merged, b); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	}
	if file != "" {
		if err := add(file); err != nil {
			return nil, err
		}
	}
	if dir != "" {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".conf") {
				return err
			}
			return add(path)
		})
		if err != nil {
			return nil, err
		}
	}
	c := &Configuration{}
	if err := codec.Unmarshal(merged, c); err != nil {
		return nil, err
	}
	c.APIVersion, c.Kind = APIVersion, Kind
	c.fill()
	return c, nil
}

// read returns a file in JSON, after checking that it is a configuration and has no unknown fields.
func read(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var c Configuration
	if err := strict(b, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if c.APIVersion != APIVersion || c.Kind != Kind {
		return nil, fmt.Errorf("%s: want kind %s of %s, found %q of %q", path, Kind, APIVersion, c.Kind, c.APIVersion)
	}
	return codec.YAMLToJSON(b)
}

// strict reads YAML or JSON without unknown or repeated fields.
func strict(b []byte, into any) error {
	issues, err := codec.UnmarshalYAML(b, into, codec.DecodeOptions{Strict: true})
	if err == nil && len(issues) > 0 {
		err = fmt.Errorf("%v", issues[0])
	}
	return err
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func point[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func lasting(field *metav1.Duration, value time.Duration) { set(&field.Duration, value) }

// fill sets the fields that are not set: those of k8s.io/kubernetes/pkg/kubelet/apis/config/v1beta1, v1.36.3.
func (c *Configuration) fill() {
	point(&c.EnableServer, true)
	set(&c.PodLogsDir, "/var/log/pods")
	lasting(&c.SyncFrequency, time.Minute)
	lasting(&c.FileCheckFrequency, 20*time.Second)
	lasting(&c.HTTPCheckFrequency, 20*time.Second)
	set(&c.Address, "0.0.0.0")
	set(&c.Port, 10250)
	point(&c.Authentication.Anonymous.Enabled, false)
	point(&c.Authentication.Webhook.Enabled, true)
	lasting(&c.Authentication.Webhook.CacheTTL, 2*time.Minute)
	set(&c.Authorization.Mode, ModeWebhook)
	lasting(&c.Authorization.Webhook.CacheAuthorizedTTL, 5*time.Minute)
	lasting(&c.Authorization.Webhook.CacheUnauthorizedTTL, 30*time.Second)
	point(&c.RegistryPullQPS, 5)
	set(&c.RegistryBurst, 10)
	set(&c.ImagePullCredentialsVerificationPolicy, "NeverVerifyPreloadedImages")
	point(&c.EventRecordQPS, 50)
	set(&c.EventBurst, 100)
	point(&c.EnableDebuggingHandlers, true)
	point(&c.HealthzPort, 10248)
	set(&c.HealthzBindAddress, "127.0.0.1")
	point(&c.OOMScoreAdj, -999)
	lasting(&c.StreamingConnectionIdleTimeout, 4*time.Hour)
	if c.NodeStatusUpdateFrequency.Duration == 0 {
		lasting(&c.NodeStatusReportFrequency, 5*time.Minute)
	}
	lasting(&c.NodeStatusReportFrequency, c.NodeStatusUpdateFrequency.Duration)
	lasting(&c.NodeStatusUpdateFrequency, 10*time.Second)
	set(&c.NodeLeaseDurationSeconds, 40)
	lasting(&c.ImageMinimumGCAge, 2*time.Minute)
	point(&c.ImageGCHighThresholdPercent, 85)
	point(&c.ImageGCLowThresholdPercent, 80)
	lasting(&c.VolumeStatsAggPeriod, time.Minute)
	c.fillResources()
	c.fillRest()
}

func (c *Configuration) fillResources() {
	point(&c.CgroupsPerQOS, true)
	set(&c.CgroupDriver, "cgroupfs")
	set(&c.CPUManagerPolicy, "none")
	lasting(&c.CPUManagerReconcilePeriod, 10*time.Second)
	set(&c.MemoryManagerPolicy, "None")
	set(&c.TopologyManagerPolicy, "none")
	set(&c.TopologyManagerScope, "container")
	lasting(&c.RuntimeRequestTimeout, 2*time.Minute)
	set(&c.HairpinMode, "promiscuous-bridge")
	set(&c.MaxPods, 110)
	if c.PodPidsLimit == nil || *c.PodPidsLimit < 0 {
		c.PodPidsLimit = new(int64(-1))
	}
	point(&c.ResolverConfig, "/etc/resolv.conf")
	point(&c.CPUCFSQuota, true)
	point(&c.CPUCFSQuotaPeriod, metav1.Duration{Duration: 100 * time.Millisecond})
	point(&c.NodeStatusMaxImages, 50)
	set(&c.MaxOpenFiles, 1_000_000)
	set(&c.ContentType, "application/vnd.kubernetes.protobuf")
	point(&c.KubeAPIQPS, 50)
	set(&c.KubeAPIBurst, 100)
	point(&c.SerializeImagePulls, c.MaxParallelImagePulls == nil || *c.MaxParallelImagePulls < 2)
	lasting(&c.EvictionPressureTransitionPeriod, 5*time.Minute)
	point(&c.MergeDefaultEvictionSettings, false)
}

func (c *Configuration) fillRest() {
	point(&c.EnableControllerAttachDetach, true)
	point(&c.MakeIPTablesUtilChains, true)
	point(&c.IPTablesMasqueradeBit, 14)
	point(&c.IPTablesDropBit, 15)
	point(&c.FailSwapOn, true)
	set(&c.ContainerLogMaxSize, "10Mi")
	point(&c.ContainerLogMaxFiles, 5)
	point(&c.ContainerLogMaxWorkers, 1)
	point(&c.ContainerLogMonitorInterval, metav1.Duration{Duration: 10 * time.Second})
	set(&c.ConfigMapAndSecretChangeDetectionStrategy, "Watch")
	if c.EnforceNodeAllocatable == nil {
		c.EnforceNodeAllocatable = []string{"pods"}
	}
	set(&c.VolumePluginDir, defaultPluginDir)
	set(&c.Logging.Format, "text")
	point(&c.EnableSystemLogHandler, true)
	point(&c.EnableProfilingHandler, true)
	point(&c.EnableDebugFlagsHandler, true)
	point(&c.CrashLoopBackOff.MaxContainerRestartPeriod, metav1.Duration{Duration: 5 * time.Minute})
	point(&c.SeccompDefault, false)
	point(&c.MemoryThrottlingFactor, 0.9)
	set(&c.MemoryReservationPolicy, "None")
	point(&c.RegisterNode, true)
	point(&c.LocalStorageCapacityIsolation, true)
	set(&c.ContainerRuntimeEndpoint, "unix:///run/containerd/containerd.sock")
	point(&c.FailCgroupV1, true)
}

const defaultPluginDir = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"
