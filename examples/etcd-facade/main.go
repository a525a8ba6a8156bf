// Command etcd-facade is an etcd of one member without etcd: its v3 API over store/memory or store/file. It
// accepts the flags of etcd that apply to a single member, so it can replace the program etcd, as in
// envtest's KUBEBUILDER_ASSETS:
//
//	go build -o $KUBEBUILDER_ASSETS/etcd github.com/keelson-dev/keelson/examples/etcd-facade
//
// It serves some milliseconds after it was started. Package store/etcdserver documents what it supports and
// its limits.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/etcdserver"
	"github.com/keelson-dev/keelson/store/file"
	"github.com/keelson-dev/keelson/store/memory"
)

func main() { component.Exit("etcd-facade", run(os.Args[1:])) }

type options struct {
	server                    etcdserver.Options
	dataDir                   string
	noSync                    bool
	listen                    []string
	certFile, keyFile, caFile string
	clientCerts               bool
	verbosity                 int
}

// ofPeers are flags of etcd about peers: they are accepted and have no effect.
var ofPeers = []string{"listen-peer-urls", "initial-advertise-peer-urls", "initial-cluster-token", "initial-cluster-state", "heartbeat-interval",
	"election-timeout", "snapshot-count", "log-level", "logger", "log-outputs"}

func parse(args []string) (*options, error) {
	o := &options{}
	f := pflag.NewFlagSet("etcd-facade", pflag.ContinueOnError)
	f.StringVar(&o.server.Name, "name", "default", "name of the member")
	f.StringVar(&o.dataDir, "data-dir", "", "directory of the data (empty: in memory, lost when the process ends)")
	f.BoolVar(&o.noSync, "unsafe-no-fsync", false, "do not wait for the disk: data survives the process, not the machine")
	f.StringSliceVar(&o.listen, "listen-client-urls", []string{"http://localhost:2379"}, "where to listen")
	f.StringSliceVar(&o.server.ClientURLs, "advertise-client-urls", nil, "URLs to advertise (empty: those of --listen-client-urls)")
	f.StringVar(&o.certFile, "cert-file", "", "certificate for https")
	f.StringVar(&o.keyFile, "key-file", "", "its key")
	f.StringVar(&o.caFile, "trusted-ca-file", "", "authority of clients' certificates")
	f.BoolVar(&o.clientCerts, "client-cert-auth", false, "clients need a certificate")
	f.IntVar(&o.server.MaxRequestBytes, "max-request-bytes", 3<<19, "largest request")
	f.DurationVar(&o.server.ProgressInterval, "watch-progress-notify-interval", 10*time.Minute, "how often idle watches that request it get a progress notification")
	f.DurationVar(&o.server.ProgressInterval, "experimental-watch-progress-notify-interval", 10*time.Minute, "the former name of --watch-progress-notify-interval")
	f.IntVarP(&o.verbosity, "v", "v", 0, "log verbosity: 0 warnings, 2 information, 4 debugging")
	cluster := f.StringSlice("initial-cluster", nil, "may name one member")
	for _, name := range ofPeers {
		f.String(name, "", "changes nothing: there are no peers")
	}
	if err := component.Parse(f, "Serves etcd's v3 API out of memory or a file.", args); err != nil {
		return nil, err
	}
	if len(*cluster) > 1 {
		return nil, errors.New("--initial-cluster: there can be one member only")
	}
	if len(o.server.ClientURLs) == 0 {
		o.server.ClientURLs = o.listen
	}
	return o, nil
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	ctx, stop := component.Context()
	defer stop()
	o.server.Logger = component.Logger(o.verbosity)
	st, err := o.open(o.server.Logger)
	if err != nil {
		return err
	}
	return errors.Join(o.serve(ctx, st), st.Close())
}

// open opens the store. A DeleteRange may find as many keys as there are, and requests have the server's
// limit.
func (o *options) open(log *slog.Logger) (store.Store, error) {
	mo := memory.Options{TxnOps: 1 << 30, MaxBytes: -1}
	if o.dataDir == "" {
		return memory.New(mo), nil
	}
	return file.Open(o.dataDir, file.Options{Memory: mo, NoSync: o.noSync, Logger: log})
}

func (o *options) serve(ctx context.Context, st store.Store) error {
	var listeners []net.Listener
	for _, text := range o.listen {
		l, err := o.listener(ctx, text)
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			return err
		}
		listeners = append(listeners, l)
	}
	return etcdserver.New(st, o.server).Serve(ctx, listeners...)
}

// listener listens at a URL. All URLs must have the scheme of the first.
func (o *options) listener(ctx context.Context, text string) (net.Listener, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("--listen-client-urls: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("--listen-client-urls: %q is not http[s]://host:port", text)
	case !strings.HasPrefix(o.listen[0], u.Scheme+"://"):
		return nil, errors.New("--listen-client-urls: http and https together are not supported")
	case u.Scheme == "https" && o.server.TLS == nil:
		if o.server.TLS, err = o.tls(); err != nil {
			return nil, err
		}
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", u.Host)
}

func (o *options) tls() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(o.certFile, o.keyFile)
	if err != nil {
		return nil, fmt.Errorf("--cert-file, --key-file: %w", err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if o.clientCerts {
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if o.caFile != "" {
		data, err := os.ReadFile(o.caFile)
		if err != nil {
			return nil, fmt.Errorf("--trusted-ca-file: %w", err)
		}
		cfg.ClientCAs = x509.NewCertPool()
		if !cfg.ClientCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("--trusted-ca-file: no certificate in %s", o.caFile)
		}
		if !o.clientCerts {
			cfg.ClientAuth = tls.VerifyClientCertIfGiven
		}
	}
	return cfg, nil
}
