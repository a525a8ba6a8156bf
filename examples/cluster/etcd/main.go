// Command etcd is the etcd that the cluster embeds, as a separate program with etcd's flags: for tests
// against a newer version than the system's.
//
//	go build -o /tmp/etcd ./examples/cluster/etcd && KEELSON_ETCD=/tmp/etcd go test ./store/etcd
package main

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	cfg, err := config(args)
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer e.Close()
	select {
	case <-stop:
		return nil
	case <-e.Server.StopNotify():
		return errors.New("the member was removed from its cluster")
	case err := <-e.Err():
		return err
	}
}

// config reads etcd's flags. etcd declares the flags of addresses and of other lists, but its program must
// read them: this one reads the addresses that tests need and refuses the others.
func config(args []string) (*embed.Config, error) {
	cfg := embed.NewConfig()
	f := flag.NewFlagSet("etcd", flag.ContinueOnError)
	cfg.AddFlags(f)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	addresses := map[string]*[]url.URL{
		"listen-client-urls": &cfg.ListenClientUrls, "advertise-client-urls": &cfg.AdvertiseClientUrls,
		"listen-peer-urls": &cfg.ListenPeerUrls, "initial-advertise-peer-urls": &cfg.AdvertisePeerUrls,
		"listen-metrics-urls": &cfg.ListenMetricsUrls,
	}
	var unread error
	f.Visit(func(given *flag.Flag) {
		if t := reflect.TypeOf(given.Value); addresses[given.Name] == nil && strings.HasSuffix(t.Elem().PkgPath(), "/etcd/pkg/v3/flags") {
			unread = fmt.Errorf("--%s has no effect here: etcd leaves it to its program", given.Name)
		}
	})
	if unread != nil {
		return nil, unread
	}
	for name, to := range addresses {
		*to = nil
		if f.Lookup(name).Value.String() == "" {
			continue
		}
		for text := range strings.SplitSeq(f.Lookup(name).Value.String(), ",") {
			u, err := url.Parse(text)
			if err != nil {
				return nil, fmt.Errorf("--%s: %w", name, err)
			}
			*to = append(*to, *u)
		}
	}
	return cfg, cfg.Validate()
}
