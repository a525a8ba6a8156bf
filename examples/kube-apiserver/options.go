package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/builtin"
)

// options are the flags, named as upstream's.
type options struct {
	bindAddress, advertiseAddress string
	securePort                    int
	tls                           component.TLS
	logging                       component.Logging
	clientCAFile, tokenFile       string
	bootstrapTokens               bool
	authentication                authentication
	authorization                 authorization
	proxies                       requestHeader
	tokenWebhook                  tokenWebhook
	audit                         auditing
	encryption                    encrypting
	traces                        traces
	aggregation                   aggregating
	bookkeeping                   bookkeeping
	peering                       peering
	coordination                  coordination
	maxTokenLife                  time.Duration
	extendTokens, lookupAccounts  bool

	backend                               string
	storageDir                            string
	etcdServers                           []string
	etcdPrefix                            string
	etcdCAFile, etcdCertFile, etcdKeyFile string
	etcdCompaction                        time.Duration
	leaseGranted                          func(keys int) // by etcd, for some keys

	serviceCIDR        string
	issuers, audiences []string
	jwksURI            string
	keyFiles           []string
	signingKeyFile     string
	generateKey        bool
	keys               *component.Reloaded[[]any] // of service accounts, once the server is made
	admission          admissionPlugins
	allowPrivileged    bool
	runtimeConfig      map[string]string
	features           *featuregate.Gate

	nodes                            nodeClient
	externalHost                     string
	noHTTP2, contention, logsHandler bool
	maxStreams                       int
	given                            func(flag string) bool // set by flagSet
	set                              *pflag.FlagSet
	maxInFlight, maxMutating         int
	priorityAndFairness, profiling   bool
	requestTimeout, shutdownDelay    time.Duration
	shutdownRetryAfter               bool
	minWatch                         int
	eventTTL                         time.Duration
	nodePorts                        string
	corsOrigins, hsts                []string
	goawayChance                     float64
	gogc                             component.GOGC
}

func parse(args []string) (*options, error) {
	gates, err := features()
	if err != nil {
		return nil, err
	}
	o := newOptions(gates)
	if err := component.Parse(o.flagSet(), "Serves the Kubernetes API from etcd, or from memory.", args); err != nil {
		return nil, err
	}
	return o, o.check()
}

func newOptions(gates *featuregate.Gate) *options {
	return &options{features: gates, tls: component.TLS{CertName: "apiserver"}, leaseGranted: func(int) {}}
}

// flagSet registers the flags. It is called once.
func (o *options) flagSet() *pflag.FlagSet {
	f := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	o.given, o.set = f.Changed, f
	o.servingFlags(f)
	o.authentication.flags(f)
	o.authorization.flags(f)
	o.proxies.flags(f)
	o.tokenWebhook.flags(f)
	o.audit.flags(f)
	o.encryption.flags(f)
	o.traces.flags(f)
	o.aggregation.flags(f)
	o.bookkeeping.flags(f)
	o.peering.flags(f)
	o.coordination.flags(f)
	o.admission.flags(f)
	o.nodes.flags(f)
	o.logging.Flags(f)
	o.accountFlags(f)
	o.storageFlags(f)
	o.apiFlags(f)
	o.limitFlags(f)
	otherFlags(f)
	return f
}

func (o *options) servingFlags(f *pflag.FlagSet) {
	f.StringVar(&o.bindAddress, "bind-address", "0.0.0.0", "address to listen on")
	f.StringVar(&o.advertiseAddress, "advertise-address", "", "address others reach this server at (empty: the bind address, or this machine's if that is all or loopback)")
	f.IntVar(&o.securePort, "secure-port", 6443, "port to serve HTTPS on")
	o.tls.Flags(f)
	f.StringVar(&o.clientCAFile, "client-ca-file", "", "authorities of client certificates")
	f.StringSliceVar(&o.corsOrigins, "cors-allowed-origins", nil, "regular expressions of origins whose pages may use the API")
	f.StringSliceVar(&o.hsts, "strict-transport-security-directives", nil, "directives of the header Strict-Transport-Security")
	f.StringVar(&o.externalHost, "external-hostname", "", "host in addresses that clients get, such as that of the keys of service account tokens (empty: --advertise-address)")
	f.BoolVar(&o.noHTTP2, "disable-http2-serving", false, "serve HTTP/1.1 only")
	f.IntVar(&o.maxStreams, "http2-max-streams-per-connection", 0, "requests at a time of an HTTP/2 connection; 0: 1000")
}

func (o *options) accountFlags(f *pflag.FlagSet) {
	f.StringVar(&o.tokenFile, "token-auth-file", "", "CSV file of static bearer tokens: token,user,uid[,groups]")
	f.BoolVar(&o.bootstrapTokens, "enable-bootstrap-token-auth", false, "accept the bootstrap tokens in secrets of kube-system")
	f.DurationVar(&o.maxTokenLife, "service-account-max-token-expiration", 0, "longest life of requested service account tokens, from 1h; 0: as requested")
	f.BoolVar(&o.extendTokens, "service-account-extend-token-expiration", true, "let the tokens of pods live for a year, for clients that do not read them again")
	f.BoolVar(&o.lookupAccounts, "service-account-lookup", true, "refuse tokens of deleted service accounts (only true is supported)")
	f.StringArrayVar(&o.issuers, "service-account-issuer", nil, "issuer of service account tokens; the first is put into new ones")
	f.StringVar(&o.jwksURI, "service-account-jwks-uri", "", "https URL of the keys in the discovery document of the issuer (empty: at this server's --advertise-address)")
	f.StringSliceVar(&o.audiences, "api-audiences", nil, "audiences of tokens this server accepts (empty: the issuers)")
	f.StringArrayVar(&o.keyFiles, "service-account-key-file", nil, "PEM files of keys that verify service account tokens")
	f.StringVar(&o.signingKeyFile, "service-account-signing-key-file", "", "PEM file of the key that signs service account tokens; required except with --storage-backend=memory, whose tokens end with the process")
	f.BoolVar(&o.generateKey, "generate-service-account-key", false, "for development: without --service-account-signing-key-file sign tokens with a generated key; they are not valid after a restart or on other servers")
}

func (o *options) storageFlags(f *pflag.FlagSet) {
	f.StringVar(&o.backend, "storage-backend", "etcd3", "where objects are kept: etcd3, memory, file (this server alone, without etcd)")
	f.StringVar(&o.storageDir, "storage-dir", "", "folder of --storage-backend=file")
	f.StringSliceVar(&o.etcdServers, "etcd-servers", nil, "URLs of etcd, as http[s]://host:port,...")
	f.StringVar(&o.etcdPrefix, "etcd-prefix", "/registry", "prefix of all keys in etcd")
	f.StringVar(&o.etcdCAFile, "etcd-cafile", "", "authority of etcd's certificates")
	f.StringVar(&o.etcdCertFile, "etcd-certfile", "", "client certificate for etcd")
	f.StringVar(&o.etcdKeyFile, "etcd-keyfile", "", "key of --etcd-certfile")
	f.DurationVar(&o.etcdCompaction, "etcd-compaction-interval", 5*time.Minute, "how often old revisions are compacted; 0 means never")
}

func (o *options) apiFlags(f *pflag.FlagSet) {
	f.StringVar(&o.serviceCIDR, "service-cluster-ip-range", "10.0.0.0/24", "range of service addresses")
	f.StringVar(&o.nodePorts, "service-node-port-range", "30000-32767", "range of node ports of services, as first-last")
	f.DurationVar(&o.eventTTL, "event-ttl", time.Hour, "how long events are kept")
	f.BoolVar(&o.allowPrivileged, "allow-privileged", true, "allow privileged containers (only true is supported)")
	f.StringToStringVar(&o.runtimeConfig, "runtime-config", nil, "API versions to switch on, as group/version=true, or api/alpha, api/beta or api/all: "+gatedUsage()+"; the others here are always on")
	f.Var(o.features, "feature-gates", "features to switch, as name=false,...: AllowUnsafeMalformedObjectDeletion (off), APIResponseCompression, APIServerIdentity, CBORServingAndStorage (off), DetectCacheInconsistency, UnknownVersionInteroperabilityProxy, WatchList, and, off, those of kinds that --runtime-config switches on, TopologyAwareWorkloadScheduling and GangScheduling; others are locked as they are")
}

func (o *options) limitFlags(f *pflag.FlagSet) {
	f.IntVar(&o.maxInFlight, "max-requests-inflight", 400, "reads served at a time")
	f.IntVar(&o.maxMutating, "max-mutating-requests-inflight", 200, "writes served at a time")
	f.BoolVar(&o.priorityAndFairness, "enable-priority-and-fairness", true, "limit concurrency by FlowSchema and PriorityLevelConfiguration objects")
	f.DurationVar(&o.requestTimeout, "request-timeout", time.Minute, "time limit of requests other than watches and streams")
	f.IntVar(&o.minWatch, "min-request-timeout", 1800, "minimum number of seconds before a watch is ended")
	f.DurationVar(&o.shutdownDelay, "shutdown-delay-duration", 0, "how long to continue serving, not ready, after SIGTERM")
	f.BoolVar(&o.shutdownRetryAfter, "shutdown-send-retry-after", false, "after --shutdown-delay-duration, go on listening while requests are being served, but reject new ones with 429")
	f.BoolVar(&o.profiling, "profiling", true, "serve profiles at /debug/pprof/")
	f.Float64Var(&o.goawayChance, "goaway-chance", 0, "share of HTTP/2 requests, up to 0.02, whose clients are asked to reconnect")
	o.gogc = 65
	o.gogc.Flags(f)
	f.BoolVar(&o.contention, "contention-profiling", false, "with --profiling, profile how long goroutines wait for locks and channels too, which takes CPU time")
	f.BoolVar(&o.logsHandler, "enable-logs-handler", false, "serve the files of /var/log at /logs/")
}

// check refuses what does not go together.
func (o *options) check() error {
	return errors.Join(o.validate(), o.tls.Validate(), o.logging.Validate(), o.nodes.validate(), o.authentication.validate(o.given), o.authorization.validate(o.given),
		o.tokenWebhook.validate(), o.audit.validate(), o.encryption.validate(), o.aggregation.validate(), o.peering.validate(o))
}

func (o *options) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch o.backend {
	case "memory", "file":
		if len(o.etcdServers) > 0 {
			bad("--etcd-servers does not go with --storage-backend=%s", o.backend)
		}
	case "etcd3":
		if len(o.etcdServers) == 0 {
			bad("--etcd-servers is required (or give --storage-backend=memory)")
		}
	default:
		bad("--storage-backend=%s: want etcd3, memory or file", o.backend)
	}
	if (o.backend == "file") != (o.storageDir != "") {
		bad("--storage-backend=file and --storage-dir belong together")
	}
	if o.securePort < 1 || o.securePort > 65535 {
		bad("--secure-port=%d: want 1 to 65535", o.securePort)
	}
	for cidr := range strings.SplitSeq(o.serviceCIDR, ",") {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			bad("--service-cluster-ip-range: %v", err)
		}
	}
	if _, err := o.portRange(); err != nil {
		bad("--service-node-port-range: %v", err)
	}
	if o.eventTTL < time.Second {
		bad("--event-ttl=%v: want a second or more", o.eventTTL)
	}
	if err := o.gogc.Validate(); err != nil {
		errs = append(errs, err)
	}
	if err := o.proxies.validate(); err != nil {
		errs = append(errs, err)
	}
	if err := o.coordination.validate(); err != nil {
		errs = append(errs, err)
	}
	if err := o.bookkeeping.validate(o.advertise(), o.serviceCIDR); err != nil {
		errs = append(errs, err)
	}
	if d := o.maxTokenLife; d != 0 && (d < time.Hour || d > 1<<32*time.Second) {
		bad("--service-account-max-token-expiration=%v: want 1h to 2^32 seconds", d)
	}
	if !o.lookupAccounts {
		bad("--service-account-lookup=false is not supported: tokens of deleted accounts, pods and secrets are always refused")
	}
	if !o.allowPrivileged {
		bad("--allow-privileged=false is not supported: refuse privileged pods by Pod Security, with labels of namespaces or with --admission-control-config-file")
	}
	if u, err := url.Parse(o.jwksURI); o.jwksURI != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
		bad("--service-account-jwks-uri: %q is not an https URL", o.jwksURI)
	}
	if len(o.issuers) == 0 && (len(o.keyFiles) > 0 || o.signingKeyFile != "") {
		bad("--service-account-issuer is required with service account keys")
	}
	if o.signingKeyFile == "" && o.backend != "memory" && !o.generateKey {
		bad("--service-account-signing-key-file is required, with --service-account-issuer (or give, for development, --generate-service-account-key)")
	}
	if o.signingKeyFile != "" && o.generateKey {
		bad("--generate-service-account-key does not go with --service-account-signing-key-file")
	}
	errs = append(errs, o.features.CheckNeeds(needs))
	errs = append(errs, o.checkRuntimeConfig()...)
	if o.etcdCompaction == 0 {
		o.etcdCompaction = -1
	}
	return errors.Join(errs...)
}

// advertise returns the address at which others reach this server: the configured one, the one it listens on,
// or the source address of the default route.
func (o *options) advertise() string {
	a := o.advertiseAddress
	if a == "" {
		a = o.bindAddress
	}
	if ip, err := netip.ParseAddr(a); err == nil && !ip.IsUnspecified() && (o.advertiseAddress != "" || !ip.IsLoopback()) {
		return a
	}
	// No packet is sent: the address is reserved for documentation, and the kernel selects its source
	// address.
	conn, err := net.Dial("udp", "192.0.2.1:9")
	if err != nil {
		return "127.0.0.1"
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP.String()
}

// local reports whether only this machine can reach the server, so that its nodes are on this machine too.
func (o *options) local() bool {
	ip, err := netip.ParseAddr(o.bindAddress)
	return err == nil && ip.IsLoopback()
}

// portRange reads --service-node-port-range: first-last, or first+count as older manifests have it.
func (o *options) portRange() (builtin.PortRange, error) {
	var r builtin.PortRange
	if n, err := fmt.Sscanf(o.nodePorts, "%d-%d", &r.First, &r.Last); err == nil && n == 2 && r.First <= r.Last {
		return r, nil
	}
	if n, err := fmt.Sscanf(o.nodePorts, "%d+%d", &r.First, &r.Last); err == nil && n == 2 && r.Last >= 0 {
		r.Last += r.First
		return r, nil
	}
	return r, fmt.Errorf("%q is not of the form 30000-32767", o.nodePorts)
}

// firstAddress returns the address of the service kubernetes: the first one of the first range.
func firstAddress(cidrs string) (string, error) {
	cidr, _, _ := strings.Cut(cidrs, ",")
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return "", err
	}
	return p.Masked().Addr().Next().String(), nil
}
