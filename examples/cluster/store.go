package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/etcd"
	"github.com/keelson-dev/keelson/store/memory"
)

// openStore opens the store that the flags select.
func (c *cluster) openStore(ctx context.Context) (store.Store, func(), error) {
	switch {
	case len(c.etcdServers) > 0:
		st, err := etcd.New(ctx, etcd.Options{Endpoints: c.etcdServers, Logger: c.log})
		if err != nil {
			return nil, nil, fmt.Errorf("etcd at %s: %w", strings.Join(c.etcdServers, ","), err)
		}
		c.say("using etcd at %s", strings.Join(c.etcdServers, ","))
		return st, c.runStore(ctx, st), nil
	case c.dataDir != "":
		return c.embeddedStore(ctx)
	}
	st := memory.New(memory.Options{})
	return st, func() { _ = st.Close() }, nil
}

// embeddedStore returns a store on an etcd in this process.
func (c *cluster) embeddedStore(ctx context.Context) (store.Store, func(), error) {
	c.say("starting the embedded etcd in %s", c.dataDir)
	endpoint, closeEtcd, err := embeddedEtcd(ctx, filepath.Join(c.dataDir, "etcd"))
	if err != nil {
		return nil, nil, err
	}
	st, err := etcd.New(ctx, etcd.Options{Endpoints: []string{endpoint}, Logger: c.log})
	if err != nil {
		closeEtcd()
		return nil, nil, err
	}
	closeStore := c.runStore(ctx, st)
	return st, func() { closeStore(); closeEtcd() }, nil
}

// embeddedEtcd runs etcd in this process with its data in dir, and returns its address when it answers.
func embeddedEtcd(ctx context.Context, dir string) (endpoint string, end func(), err error) {
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = "default", dir
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	client, cleanup, err := etcdURL()
	if err != nil {
		return "", nil, err
	}
	// The only member listens to no peers, and its client is this process: the advertised addresses are mere
	// names, of which the peer's must stay the same.
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:2380"}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{{Scheme: "http", Host: "127.0.0.1:2379"}}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = nil, []url.URL{peer}
	cfg.InitialCluster = cfg.Name + "=" + peer.String()
	cfg.QuotaBackendBytes = 8 << 30
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		cleanup()
		return "", nil, fmt.Errorf("embedded etcd: %w", err)
	}
	end = func() { e.Close(); cleanup() }
	select {
	case <-e.Server.ReadyNotify():
		return client.String(), end, nil
	case err = <-e.Err():
		err = fmt.Errorf("embedded etcd: %w", err)
	case <-time.After(time.Minute):
		err = errors.New("embedded etcd did not become ready within a minute")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	end()
	return "", nil, err
}

// runStore runs the loops of the backend, such as compaction, and returns a function that ends them and
// closes it.
func (c *cluster) runStore(ctx context.Context, st *etcd.Store) (end func()) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := st.Run(ctx); err != nil && ctx.Err() == nil {
			c.log.Error("etcd maintenance ended", "err", err)
		}
	}()
	return func() {
		stop()
		<-done
		_ = st.Close() // nothing is buffered
	}
}

// etcdURL returns the address for the embedded etcd: a unix socket in a folder that only this user can open,
// or on Windows a free loopback port. The path of a socket must be short, so it is not in the data folder.
func etcdURL() (client url.URL, cleanup func(), err error) {
	if runtime.GOOS == "windows" {
		port, err := freePort()
		return url.URL{Scheme: "http", Host: "127.0.0.1:" + port}, func() {}, err
	}
	dir, err := os.MkdirTemp("", "keelson-etcd-")
	if err != nil {
		return url.URL{}, nil, err
	}
	return url.URL{Scheme: "unix", Path: filepath.Join(dir, "client")}, func() { _ = os.RemoveAll(dir) }, nil
}

// lockDir locks a data folder, so that one process at a time uses it; the error names the process that does.
func lockDir(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		owner, _ := io.ReadAll(f)
		_ = f.Close()
		return nil, fmt.Errorf("%s is in use by process %s; end it first or choose another --data-dir", dir, strings.TrimSpace(string(owner)))
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	// Closing releases the lock, and so does any end of the process.
	return func() { _ = f.Close() }, nil
}

// freePort returns a free port.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
