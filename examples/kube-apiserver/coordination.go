package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/builtin/leaseelection"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// coordination elects the holders of leases among LeaseCandidates. One of the servers over one store does it.
type coordination struct {
	lease, renew, retry time.Duration
	token               string // of the server's own client; empty: it does not elect
}

func (c *coordination) flags(f *pflag.FlagSet) {
	const of = ", with the feature CoordinatedLeaderElection"
	f.DurationVar(&c.lease, "coordinated-leadership-lease-duration", leaderelection.DefaultLeaseDuration, "how long servers wait for the one that elects leaders, after its last renewal"+of)
	f.DurationVar(&c.renew, "coordinated-leadership-renew-deadline", leaderelection.DefaultRenewDeadline, "how long the server that elects leaders continues without a renewal"+of)
	f.DurationVar(&c.retry, "coordinated-leadership-retry-period", leaderelection.DefaultRetryPeriod, "how often the server that elects leaders renews its lease"+of)
}

func (c *coordination) election(log *slog.Logger) leaderelection.Options {
	return leaderelection.Options{LeaseDuration: c.lease, RenewDeadline: c.renew, RetryPeriod: c.retry, Logger: log}
}

// validate checks the flags.
func (c *coordination) validate() error {
	if c.retry <= 0 || c.renew < c.retry*6/5 || c.lease <= c.renew {
		return fmt.Errorf("--coordinated-leadership-lease-duration=%v must be longer than -renew-deadline, %v, and that longer than 1.2 times -retry-period, %v", c.lease, c.renew, c.retry)
	}
	return nil
}

// apply lets the server's own client in, if the kinds of coordinated leader election are served.
func (c *coordination) apply(co *controlplane.Options, served *scheme.Scheme) error {
	if served.ForKind(coordinationv1beta1.GroupVersion.WithKind("LeaseCandidate")) == nil {
		return nil
	}
	c.token = rand.Text()
	own, err := authn.TokenFile(strings.NewReader(c.token + "," + authn.APIServerUser + ",," + authn.GroupMasters))
	if err != nil {
		return err
	}
	if co.StaticTokens != nil {
		own = authn.UnionTokens(own, co.StaticTokens)
	}
	co.StaticTokens = own
	return nil
}

// run elects until ctx ends, over a connection in memory.
func (c *coordination) run(ctx context.Context, cp *controlplane.ControlPlane, log *slog.Logger) error {
	if c.token == "" {
		return nil
	}
	const name = "kube-apiserver.internal"
	authority, err := certs.NewAuthority(name)
	if err != nil {
		return err
	}
	pair, err := authority.Serving(name, name)
	if err != nil {
		return err
	}
	l := pipenet.New()
	serving := make(chan error, 1)
	go func() {
		serving <- cp.Serve(ctx, l, &tls.Config{Certificates: []tls.Certificate{pair.TLS()}, MinVersion: tls.VersionTLS12})
	}()
	conn, err := rest.New(rest.Config{Host: "https://" + name, TLS: rest.TLSConfig{CAData: authority.CertPEM()}, BearerToken: c.token, Dial: l.Dial,
		UserAgent: "kube-apiserver/" + leaseelection.Name, Scheme: cp.Scheme()}, rest.Options{Logger: log})
	if err != nil {
		return errors.Join(err, <-serving)
	}
	select {
	case <-ctx.Done():
	case <-cp.Ready():
	}
	for ctx.Err() == nil {
		m := manager.New(conn, manager.Options{Logger: log, Lease: types.NamespacedName{Namespace: "kube-system", Name: leaseelection.Name}, Election: c.election(log)})
		err := leaseelection.Add(m, leaseelection.Options{})
		if err == nil {
			err = m.Run(ctx)
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("this server elects no leaders now", "err", err)
			_ = backoff.Sleep(ctx, c.retry) // its end ends the loop
		}
	}
	return errors.Join(conn.Close(), <-serving)
}

// start runs it beside the server.
func (c *coordination) start(ctx context.Context, cp *controlplane.ControlPlane, log *slog.Logger, tasks *sync.WaitGroup) {
	tasks.Go(func() {
		if err := c.run(ctx, cp, log); err != nil {
			log.Error("this server elects no leaders", "err", err)
		}
	})
}
