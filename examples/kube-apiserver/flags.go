package main

import (
	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/examples/internal/component"
)

// fixedFlags are flags of kube-apiserver that have one value here, which may be set.
var fixedFlags = map[string]component.Fixed{
	"enable-garbage-collector":                    {Values: []string{"true"}, Why: "deletions with propagation set finalizers always"},
	"watch-cache":                                 {Values: []string{"true"}, Why: "all reads are served by the watch cache"},
	"storage-media-type":                          {Values: []string{"application/vnd.kubernetes.protobuf"}, Why: "built-in kinds are stored in protobuf where they have it, others in JSON, or in CBOR with the feature CBORServingAndStorage"},
	"emulated-version":                            {Values: []string{"1.36", "kube=1.36", ""}, Why: "no older version is emulated"},
	"min-compatibility-version":                   {Values: []string{"1.35", "kube=1.35", "1.36", "kube=1.36", ""}, Why: "no older version is emulated"},
	"emulation-forward-compatible":                {Values: []string{"false"}, Why: "no older version is emulated"},
	"runtime-config-emulation-forward-compatible": {Values: []string{"false"}, Why: "no older version is emulated"},
	"permit-port-sharing":                         {Values: []string{"false"}, Why: "one server listens on a port"},
	"permit-address-sharing":                      {Values: []string{"true", "false"}, Why: "the port of a server that has ended can be used at once always"},
	"shutdown-watch-termination-grace-period":     {Values: []string{"0", "0s"}, Why: "watches are closed when the server stops accepting requests: clients begin again at another server"},
	"livez-grace-period":                          {Values: []string{"0", "0s"}, Why: "livez does not wait for the start: it fails only while the store cannot be read"},
	"max-connection-bytes-per-sec":                {Values: []string{"0"}, Why: "connections of exec, attach and port-forward are not slowed down"},
	"kubernetes-service-node-port":                {Values: []string{"0"}, Why: "the service kubernetes is of type ClusterIP: create another service for it"},
}

// ignoredFlags are flags of kube-apiserver that are accepted and have no effect.
var ignoredFlags = map[string]string{
	"default-watch-cache-size":       "the watch cache keeps what watchers need",
	"watch-cache-sizes":              "the watch cache keeps what watchers need",
	"delete-collection-workers":      "the objects of a collection are deleted one after the other",
	"etcd-count-metric-poll-period":  "objects are counted as they change",
	"etcd-db-metric-poll-interval":   "the size of the store is read when the metrics are",
	"etcd-healthcheck-timeout":       "health checks wait 2s, and share a result of the last second",
	"etcd-readycheck-timeout":        "health checks wait 2s, and share a result of the last second",
	"storage-initialization-timeout": "the server waits for its storage without a limit, and is not ready meanwhile",
	"lease-reuse-duration-seconds":   "keys that expire at about the same time share a lease of etcd",
	"kubelet-port":                   "the status of a node has the port of its kubelet",
	"kubelet-read-only-port":         "the read-only port of kubelets is not used",
}

// refusedFlags are flags of kube-apiserver that this server does not have.
var refusedFlags = map[string]string{
	"admission-control":                "it is deprecated: use --enable-admission-plugins and --disable-admission-plugins",
	"allow-metric-labels":              "the labels of metrics are bounded in number: drop those you do not want when you scrape",
	"allow-metric-labels-manifest":     "the labels of metrics are bounded in number: drop those you do not want when you scrape",
	"disabled-metrics":                 "metrics cannot be disabled: drop those you do not want when you scrape",
	"show-hidden-metrics-for-version":  "no metrics are hidden",
	"debug-socket-path":                "profiles are served at /debug/pprof/ of the secure port, see --profiling",
	"egress-selector-config-file":      "nodes, pods and webhooks are reached directly: run the server where they can be",
	"etcd-servers-overrides":           "all objects are in one store, whose revisions order them: use --etcd-servers",
	"service-account-signing-endpoint": "tokens are signed with a key in a file: use --service-account-signing-key-file",
}

// otherFlags registers what is left of kube-apiserver's flags.
func otherFlags(f *pflag.FlagSet) {
	component.Fix(f, fixedFlags)
	component.NoEffect(f, ignoredFlags)
	component.Refuse(f, refusedFlags)
}
