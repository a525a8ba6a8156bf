// Command kube-apiserver serves the Kubernetes API from etcd, from memory, or from a file.
//
//	kube-apiserver --storage-backend=memory --secure-port=6443 --token-auth-file=tokens.csv
//
// serves its first request some milliseconds after it was started. With --etcd-servers any number of servers
// can share the storage. Unlike kube-apiserver's, the default of --authorization-mode is RBAC, so that a
// server without further flags serves only its version and health to unauthenticated users.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/etcd"
	"github.com/keelson-dev/keelson/store/file"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

func main() { component.Exit("kube-apiserver", run(os.Args[1:])) }

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.contention && o.profiling {
		runtime.SetBlockProfileRate(1)
		runtime.SetMutexProfileFraction(1)
	}
	o.gogc.Apply()
	ctx, stop := component.Context()
	defer stop()
	log := o.logging.Logger()
	if err := o.traces.open(log); err != nil {
		return err
	}
	defer o.traces.close(log)
	st, err := o.openStore(ctx, log)
	if err != nil {
		return err
	}
	defer st.close()
	l, err := net.Listen("tcp", net.JoinHostPort(o.bindAddress, strconv.Itoa(o.securePort)))
	if err != nil {
		return err
	}
	defer l.Close()
	cp, err := o.controlPlane(st.Store, log)
	if err != nil {
		return err
	}
	defer o.encryption.close()
	serving, err := o.servingConfig(log)
	if err != nil {
		return err
	}
	recording, endRecording := context.WithCancel(context.WithoutCancel(ctx))
	var recorder sync.WaitGroup
	defer recorder.Wait()
	defer endRecording() // after the last request
	recorder.Go(func() { o.audit.run(recording) })
	log.Info("serving", "address", l.Addr().String())
	ctx, end := context.WithCancel(ctx)
	defer end()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer end()
	tasks.Go(func() { followKeys(ctx, o.keys, cp.Tokens(), log) })
	tasks.Go(func() { o.authentication.follow(ctx) })
	tasks.Go(func() { o.authorization.follow(ctx, cp, log) })
	tasks.Go(func() { o.encryption.follow(ctx) })
	o.coordination.start(ctx, cp, log, &tasks)
	served := make(chan error, 1)
	go func() {
		served <- cp.Serve(ctx, l, serving)
		end()
	}()
	err = cp.Run(ctx)
	end()
	return errors.Join(err, <-served)
}

// opened is a store and the function that closes it.
type opened struct {
	store.Store
	close func()
}

func (o *options) openStore(ctx context.Context, log *slog.Logger) (*opened, error) {
	if o.backend == "memory" {
		st := memory.New(memory.Options{})
		return &opened{st, func() { _ = st.Close() }}, nil
	}
	if o.backend == "file" {
		st, err := file.Open(o.storageDir, file.Options{Logger: log})
		if err != nil {
			return nil, err
		}
		return &opened{st, func() { _ = st.Close() }}, nil // every acknowledged write is synced
	}
	eo := etcd.Options{Endpoints: o.etcdServers, Prefix: o.etcdPrefix, CompactInterval: o.etcdCompaction, Logger: log,
		LeaseGranted: func(keys int) { o.leaseGranted(keys) }}
	if o.traces.tracer != nil {
		eo.Calls = o.traces.tracer.Calls()
	}
	if o.etcdCAFile != "" || o.etcdCertFile != "" {
		files, err := component.NewClientTLS(log, o.etcdCAFile, o.etcdCertFile, o.etcdKeyFile)
		if err != nil {
			return nil, fmt.Errorf("etcd: %w", err)
		}
		eo.TLS = files.Config
	}
	st, err := connect(ctx, eo, log)
	if err != nil {
		return nil, err
	}
	loops, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := st.Run(loops); err != nil && loops.Err() == nil {
			log.Error("etcd maintenance ended", "err", err)
		}
	})
	return &opened{st, func() {
		stop()
		wg.Wait()
		_ = st.Close() // nothing is buffered
	}}, nil
}

// connect waits for etcd without a time limit.
func connect(ctx context.Context, o etcd.Options, log *slog.Logger) (st *etcd.Store, err error) {
	away := func(err error) bool { _, ok := errors.AsType[*store.UnavailableError](err); return ok }
	err = backoff.Retry(ctx, backoff.Policy{Max: time.Second}, away, func(ctx context.Context) error {
		st, err = etcd.New(ctx, o)
		if away(err) {
			log.Warn("waiting for etcd", "servers", o.Endpoints, "err", err)
		}
		return err
	})
	return st, err
}

func (o *options) controlPlane(st store.Store, log *slog.Logger) (*controlplane.ControlPlane, error) {
	ports, err := o.portRange()
	if err != nil {
		return nil, err
	}
	served, err := o.scheme(log)
	if err != nil {
		return nil, err
	}
	metrics := apimetrics.New()
	o.leaseGranted = metrics.LeaseGranted // before the first write
	metrics.Features(o.features)
	co := controlplane.Options{
		Server: apiserver.Options{
			Store: st, Scheme: served,
			Registry: registry.Options{Cache: o.caches()},
			Builtin: builtin.Options{ServiceCIDR: o.serviceCIDR, NodePorts: ports, EventTTL: o.eventTTL,
				TopologyConstraints: o.features.Enabled(topologyConstraints), GroupPriority: o.features.Enabled(groupPriority), NoTrustBundleVolumes: !o.features.Enabled(trustBundleVolumes)},
			AdvertiseAddress: o.advertise(), AdvertisePort: o.securePort, Local: o.local(),
			MaxInFlight: o.maxInFlight, MaxMutatingInFlight: o.maxMutating, NoPriorityAndFairness: !o.priorityAndFairness,
			RequestTimeout: o.requestTimeout, CompactInterval: o.etcdCompaction, MinWatch: time.Duration(o.minWatch) * time.Second, ShutdownDelay: o.shutdownDelay, ShutdownSendRetryAfter: o.shutdownRetryAfter,
			CORSOrigins: o.corsOrigins, HSTS: o.hsts, GoawayChance: o.goawayChance,
			NoCompression: !o.features.Enabled(apiResponseCompression), NoWatchList: !o.features.Enabled(watchList),
			UnsafeDelete: o.features.Enabled(unsafeDeletion), CBOR: o.features.Enabled(cborServingAndStorage),
			Handlers: o.handlers(), NodeAddressTypes: o.nodes.preferred(), MaxStreams: o.maxStreams,
		},
		BootstrapTokens: o.bootstrapTokens, Decided: metrics.Decided, NodeGraphChanged: metrics.NodeGraphChanged, TokenUsed: metrics.TokenUsed, ServiceAccountIssuers: o.issuers, JWKSURI: o.keysURI(), Audiences: o.audiences,
		Logger: log,
	}
	co.MaxTokenExpiration, co.NoExtendedTokens = o.maxTokenLife, !o.extendTokens
	for _, apply := range []func() error{
		func() error { return o.proxies.apply(&co, log) },
		func() error { return o.aggregation.apply(&co, log) },
		func() error {
			return o.bookkeeping.apply(&co, o.features.Enabled(apiServerIdentity), o.features.Enabled(storageVersions))
		},
		func() error { return o.peering.apply(&co, o, metrics, log) },
		func() error { metrics.Identify(co.Bookkeeping.IdentityName()); return nil },
		func() error { return o.authentication.apply(&co, metrics, log) },
		func() error { return o.tokenWebhook.apply(&co, metrics, log) },
		func() error { return o.authorization.apply(&co, metrics, log) },
		func() error { return o.admission.apply(&co, metrics, log) },
		func() error { return o.credentials(&co, log) },
		func() error { return o.coordination.apply(&co, served) },
	} {
		if err := apply(); err != nil {
			return nil, err
		}
	}
	if err := o.encryption.apply(&co.Server, o.etcdPrefix, metrics, log); err != nil {
		return nil, err
	}
	metrics.Measure(&co.Server)
	co.Aggregation.Metrics = metrics.Aggregation()
	if co.Server.Audit, err = o.audit.open(log, metrics); err != nil {
		return nil, err
	}
	co.Server.Audit.Metrics = metrics.Audit()
	o.nodes.read = metrics.AuthoritiesRead
	if co.Server.Nodes, co.Server.NodesUnverified, err = o.nodes.transports(log); err != nil {
		return nil, err
	}
	o.traces.apply(&co)
	cp, err := controlplane.New(co)
	if err != nil {
		return nil, err
	}
	return cp, metrics.Watch(cp.Server)
}

// credentials reads the authorities of client certificates, the static tokens and the keys of service
// accounts.
func (o *options) credentials(co *controlplane.Options, log *slog.Logger) error {
	if o.clientCAFile != "" {
		authorities, err := component.Reload(log, component.ReadAuthorities, o.clientCAFile)
		if err != nil {
			return fmt.Errorf("--client-ca-file: %w", err)
		}
		co.ClientCAs = func() *x509.CertPool { return authorities.Get().Pool }
		co.ClientCAFile = func() []byte { return authorities.Get().Text }
	}
	if o.tokenFile != "" {
		f, err := os.Open(o.tokenFile)
		if err != nil {
			return fmt.Errorf("--token-auth-file: %w", err)
		}
		defer f.Close()
		if co.StaticTokens, err = authn.TokenFile(f); err != nil {
			return fmt.Errorf("--token-auth-file: %s: %w", o.tokenFile, err)
		}
	}
	keys, err := o.accountKeys(log)
	if err != nil {
		return err
	}
	o.keys, co.ServiceAccountKeys = keys, keys.Get()
	return nil
}

// caches returns the options of watch caches.
func (o *options) caches() cache.Options {
	if o.features.Enabled(detectInconsistency) {
		return cache.Options{}
	}
	return cache.Options{CheckEvery: -1}
}

// handlers returns the handlers of paths outside of the API. Access to them is authorized like that to all
// others.
func (o *options) handlers() map[string]http.Handler {
	h := map[string]http.Handler{}
	pages := component.Pages{Name: "kube-apiserver", Flags: o.set, Profiles: o.profiling,
		Paths: []string{"/healthz", "/livez", "/metrics", "/readyz", "/version"}}
	maps.Copy(h, pages.Handlers())
	if o.logsHandler {
		h["/logs/"] = http.StripPrefix("/logs/", http.FileServer(http.Dir("/var/log")))
	}
	return h
}

// accountKeys returns the signing key, which comes first, and the keys that verify. Without a signing key one
// is generated for the lifetime of the process.
func (o *options) accountKeys(log *slog.Logger) (*component.Reloaded[[]any], error) {
	var made []any
	files := o.keyFiles
	if o.signingKeyFile != "" {
		files = append([]string{o.signingKeyFile}, files...)
	} else {
		log.Warn("no --service-account-signing-key-file: tokens will not outlive this process")
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		made = []any{key}
	}
	return component.Reload(log, func(contents [][]byte) ([]any, error) {
		keys := slices.Clone(made)
		for i, data := range contents {
			read, err := authn.ParseKeys(data)
			if err != nil {
				return nil, err
			}
			if i == 0 && o.signingKeyFile != "" {
				read = read[:1] // one key signs
			}
			keys = append(keys, read...)
		}
		return keys, nil
	}, files...)
}

// followKeys applies changed keys to the server until ctx ends.
func followKeys(ctx context.Context, keys *component.Reloaded[[]any], tokens *authn.Tokens, log *slog.Logger) {
	used := keys.Get()
	_ = backoff.Poll(ctx, component.ReloadEvery, func(context.Context) (bool, error) { // ends with ctx
		now := keys.Get()
		if &now[0] == &used[0] {
			return false, nil
		}
		used = now
		if err := tokens.SetKeys(now); err != nil {
			log.Error("the service account keys are not used as they are now", "err", err)
		}
		return false, nil
	})
}

// servingConfig is the configuration for connections of clients.
func (o *options) servingConfig(log *slog.Logger) (*tls.Config, error) {
	cfg, err := o.tls.Config(log, o.generate)
	if err == nil && o.noHTTP2 {
		cfg.NextProtos = []string{"http/1.1"}
	}
	return cfg, err
}

// keysURI is the address of the keys of service account tokens; empty for that at --advertise-address.
func (o *options) keysURI() string {
	if o.jwksURI == "" && o.externalHost != "" {
		return "https://" + net.JoinHostPort(o.externalHost, strconv.Itoa(o.securePort)) + "/openid/v1/jwks"
	}
	return o.jwksURI
}

// generate makes the certificate of a server that has none.
func (o *options) generate() (*certs.Pair, []byte, error) {
	host, _ := os.Hostname() // if it is unknown the certificate lacks this name
	first, err := firstAddress(o.serviceCIDR)
	if err != nil {
		return nil, nil, err
	}
	return component.Generated("kube-apiserver", o.advertise(), o.bindAddress, host, first, "localhost", "127.0.0.1",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")()
}
