// Command kube-apiserver serves the Kubernetes API from etcd, from memory, or from a file.
//
//	kube-apiserver --storage-backend=memory --secure-port=6443 --token-auth-file=tokens.csv
//
// serves its first request some milliseconds after it was started. With --etcd-servers any number of servers
// work side by side. Unlike kube-apiserver's, the default of --authorization-mode is RBAC, so that a server
// without further flags serves its version and health only.
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
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime/debug"
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
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(o.gogc)
	}
	ctx, stop := component.Context()
	defer stop()
	log := component.Logger(o.verbosity)
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
	serving, err := o.servingConfig(log)
	if err != nil {
		return err
	}
	log.Info("serving", "address", l.Addr().String())
	ctx, end := context.WithCancel(ctx)
	defer end()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer end()
	tasks.Go(func() { followKeys(ctx, o.keys, cp.Tokens(), log) })
	served := make(chan error, 1)
	go func() {
		served <- cp.Serve(ctx, l, serving)
		end()
	}()
	err = cp.Run(ctx)
	end()
	return errors.Join(err, <-served)
}

// opened is a store with how to end it.
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
	eo := etcd.Options{Endpoints: o.etcdServers, Prefix: o.etcdPrefix, CompactInterval: o.etcdCompaction, Logger: log}
	if o.etcdCAFile != "" || o.etcdCertFile != "" {
		files, err := newClientTLS(log, o.etcdCAFile, o.etcdCertFile, o.etcdKeyFile)
		if err != nil {
			return nil, fmt.Errorf("etcd: %w", err)
		}
		eo.TLS = files.config
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

// connect waits for etcd for as long as it takes.
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
	metrics.Features(o.features)
	co := controlplane.Options{
		Server: apiserver.Options{
			Store: st, Scheme: served,
			Registry:         registry.Options{Cache: o.caches()},
			Builtin:          builtin.Options{ServiceCIDR: o.serviceCIDR, NodePorts: ports, EventTTL: o.eventTTL},
			AdvertiseAddress: o.advertise(), AdvertisePort: o.securePort, Local: o.local(),
			MaxInFlight: o.maxInFlight, MaxMutatingInFlight: o.maxMutating, NoPriorityAndFairness: !o.priorityAndFairness,
			RequestTimeout: o.requestTimeout, CompactInterval: o.etcdCompaction, MinWatch: time.Duration(o.minWatch) * time.Second, ShutdownDelay: o.shutdownDelay, ShutdownSendRetryAfter: o.shutdownRetryAfter,
			CORSOrigins: o.corsOrigins, HSTS: o.hsts, GoawayChance: o.goawayChance,
			NoCompression: !o.features.Enabled(apiResponseCompression), NoWatchList: !o.features.Enabled(watchList),
			UnsafeDelete: o.features.Enabled(unsafeDeletion), CBOR: o.features.Enabled(cborServingAndStorage),
			Handlers: o.handlers(),
		},
		BootstrapTokens: o.bootstrapTokens, Anonymous: o.anonymous, AuthorizationModes: o.authorization, Decided: metrics.Decided, ServiceAccountIssuers: o.issuers, JWKSURI: o.jwksURI, Audiences: o.audiences,
		EnableAdmission: o.enable, DisableAdmission: o.disable, Logger: log,
	}
	metrics.Measure(&co.Server)
	if o.clientCAFile != "" {
		authorities, err := newReloaded(log, readAuthorities, o.clientCAFile)
		if err != nil {
			return nil, fmt.Errorf("--client-ca-file: %w", err)
		}
		co.ClientCAs = func() *x509.CertPool { return authorities.get().pool }
		co.ClientCAFile = func() []byte { return authorities.get().text }
	}
	if o.tokenFile != "" {
		f, err := os.Open(o.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-auth-file: %w", err)
		}
		defer f.Close()
		if co.StaticTokens, err = authn.TokenFile(f); err != nil {
			return nil, fmt.Errorf("--token-auth-file: %w", err)
		}
	}
	keys, err := o.accountKeys(log)
	if err != nil {
		return nil, err
	}
	o.keys, co.ServiceAccountKeys = keys, keys.get()
	if co.Server.Nodes, err = o.kubeletTransport(log); err != nil {
		return nil, err
	}
	cp, err := controlplane.New(co)
	if err != nil {
		return nil, err
	}
	return cp, metrics.Watch(cp.Server)
}

// caches are the options of watch caches.
func (o *options) caches() cache.Options {
	if o.features.Enabled(detectInconsistency) {
		return cache.Options{}
	}
	return cache.Options{CheckEvery: -1}
}

// handlers are the paths beside the API. Who may use them is up to authorization, as for all others.
func (o *options) handlers() map[string]http.Handler {
	h := map[string]http.Handler{}
	if o.profiling {
		h["/debug/pprof"] = http.RedirectHandler("/debug/pprof/", http.StatusFound)
		h["/debug/pprof/"] = http.HandlerFunc(pprof.Index)
		h["/debug/pprof/cmdline"] = http.HandlerFunc(pprof.Cmdline)
		h["/debug/pprof/profile"] = http.HandlerFunc(pprof.Profile)
		h["/debug/pprof/symbol"] = http.HandlerFunc(pprof.Symbol)
		h["/debug/pprof/trace"] = http.HandlerFunc(pprof.Trace)
	}
	return h
}

// authorities are those of client certificates.
type authorities struct {
	pool *x509.CertPool
	text []byte
}

func readAuthorities(contents [][]byte) (authorities, error) {
	a := authorities{x509.NewCertPool(), contents[0]}
	if !a.pool.AppendCertsFromPEM(a.text) {
		return a, errors.New("there is no certificate in it")
	}
	return a, nil
}

// readPair reads a certificate and its key.
func readPair(contents [][]byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(contents[0], contents[1])
	return &pair, err
}

// accountKeys are the signing key, which comes first, and the keys that verify. Without a signing key one is
// made that dies with the process.
func (o *options) accountKeys(log *slog.Logger) (*reloaded[[]any], error) {
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
	return newReloaded(log, func(contents [][]byte) ([]any, error) {
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

// followKeys gives changed keys to the server until ctx ends.
func followKeys(ctx context.Context, keys *reloaded[[]any], tokens *authn.Tokens, log *slog.Logger) {
	used := keys.get()
	_ = backoff.Poll(ctx, reloadEvery, func(context.Context) (bool, error) { // ends with ctx
		now := keys.get()
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

// servingCertificate returns the certificate to serve with: the given one, the one in --cert-dir, or one made
// and put there.
func (o *options) servingCertificate(log *slog.Logger) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	certFile, keyFile := o.certFile, o.keyFile
	if certFile == "" {
		certFile, keyFile = filepath.Join(o.certDir, "apiserver.crt"), filepath.Join(o.certDir, "apiserver.key")
		if _, err := os.Stat(certFile); o.certDir == "" || errors.Is(err, os.ErrNotExist) {
			pair, err := o.makeCertificate()
			if err != nil {
				return nil, err
			}
			return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair, nil }, nil
		}
	}
	pair, err := newReloaded(log, readPair, certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.get(), nil }, nil
}

func (o *options) makeCertificate() (*tls.Certificate, error) {
	ca, err := certs.NewAuthority("kube-apiserver-ca")
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // one name less if it is unknown
	first, err := firstAddress(o.serviceCIDR)
	if err != nil {
		return nil, err
	}
	pair, err := ca.Serving(o.advertise(), o.advertise(), o.bindAddress, host, first, "localhost", "127.0.0.1",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	if err != nil {
		return nil, err
	}
	chain := append(pair.CertPEM(), ca.CertPEM()...)
	if o.certDir != "" {
		if err := certs.WriteFile(filepath.Join(o.certDir, "apiserver.key"), pair.KeyPEM()); err != nil {
			return nil, err
		}
		if err := certs.WriteFile(filepath.Join(o.certDir, "apiserver.crt"), chain); err != nil {
			return nil, err
		}
	}
	out, err := tls.X509KeyPair(chain, pair.KeyPEM())
	return &out, err
}
