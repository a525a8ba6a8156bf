package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/clusterdns"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/noderuntime"
	"github.com/keelson-dev/keelson/controllers/proxy"
)

// defaultNodeDir holds the real node's containers when there is no data folder. It is the same for every run,
// so that a run finds what a killed run left.
const defaultNodeDir = "/var/lib/keelson/node"

// chooseRuntime decides between real containers and simulation.
func (c *cluster) chooseRuntime() error {
	c.runtimeName = "fake"
	if c.runtime == "fake" {
		return nil
	}
	missing := noderuntime.Missing()
	switch {
	case missing == nil:
		c.runtimeName = "cri"
	case c.runtime == "cri":
		return fmt.Errorf("--runtime=cri: %w", missing)
	default:
		c.say("pods are simulated: %v", missing)
	}
	return nil
}

func (c *cluster) real() bool { return c.runtimeName != "fake" }

// podRange returns the real node's part of --cluster-cidr: its first /24.
func (c *cluster) podRange() (netip.Prefix, error) {
	p, err := netip.ParsePrefix(c.podCIDR)
	if err != nil {
		return p, fmt.Errorf("--cluster-cidr: %w", err)
	}
	if p.Bits() < 24 {
		p = netip.PrefixFrom(p.Masked().Addr(), 24)
	}
	return p.Masked(), nil
}

func (c *cluster) nodeFolder() string {
	switch {
	case c.nodeDir != "":
		return c.nodeDir
	case c.dataDir != "":
		return filepath.Join(c.dataDir, "node")
	}
	return defaultNodeDir
}

// startRealNode starts containerd, a kubelet on it, the proxy and cluster DNS.
func (c *cluster) startRealNode(ctx context.Context, start starter, fail func(error), wg *sync.WaitGroup) bool {
	if err := c.tryRealNode(ctx, start, fail, wg); err != nil {
		fail(fmt.Errorf("node: %w", err))
		return false
	}
	return true
}

func (c *cluster) tryRealNode(ctx context.Context, start starter, fail func(error), wg *sync.WaitGroup) (err error) {
	pods, err := c.podRange()
	if err != nil {
		return err
	}
	services, err := netip.ParsePrefix(c.serviceCIDR)
	if err != nil {
		return fmt.Errorf("--service-cluster-ip-range: %w", err)
	}
	dir, err := filepath.Abs(c.nodeFolder())
	if err != nil {
		return err
	}
	c.say("starting containerd in %s", dir)
	rt, err := noderuntime.Start(ctx, noderuntime.Options{Dir: filepath.Join(dir, "containerd"), PodCIDR: pods, ServiceCIDR: services,
		ImageDir: c.imageDir, Busybox: true, Logger: c.log})
	if err != nil {
		return err
	}
	running := false
	defer func() {
		if !running {
			err = errors.Join(err, rt.Close())
		}
	}()
	c.runtimeName = "cri (" + rt.Version() + ")"
	c.say("real pods on %s", rt.Version())
	gateway := rt.Gateway()
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	name = strings.ToLower(name)
	ip := nodeAddress(gateway)
	dnsIP, err := serviceAddress(c.serviceCIDR, 10)
	if err != nil {
		return err
	}
	if err := c.serveOnGateway(ctx, gateway, fail, wg); err != nil {
		return err
	}
	if err := c.grant(ctx, rightsOnKubelets); err != nil {
		return err
	}
	k, conn, err := c.newKubelet(rt, dir, name, ip, dnsIP, pods)
	if err != nil {
		return err
	}
	ok := start(c.pki.proxy, "kube-proxy", func(m *manager.Manager) error {
		return proxy.Add(m, proxy.Options{NodeName: name, DetectLocal: proxy.DetectLocal{CIDRs: []netip.Prefix{pods}}, ServiceCIDRs: []netip.Prefix{services},
			MinSyncPeriod: 100 * time.Millisecond})
	}) && start(c.pki.program, "cluster-dns", func(m *manager.Manager) error { return c.addDNS(m, gateway, dnsIP) })
	if !ok {
		return errors.Join(conn.Close(), errors.New("proxy or DNS did not start"))
	}
	running = true
	wg.Go(func() {
		if err := k.Run(ctx); err != nil && ctx.Err() == nil {
			fail(fmt.Errorf("kubelet: %w", err))
		}
		if err := errors.Join(conn.Close(), rt.Close()); err != nil {
			c.log.Error("the node left something behind; the next start removes it", "err", err)
		}
	})
	wg.Go(func() {
		select {
		case <-ctx.Done():
		case <-rt.Done():
			if ctx.Err() == nil {
				fail(errors.New("containerd ended"))
			}
		}
	})
	return nil
}

func (c *cluster) newKubelet(rt *noderuntime.Runtime, dir, name string, ip netip.Addr, dnsIP string, pods netip.Prefix) (*kubelet.Kubelet, *rest.Conn, error) {
	serving, err := c.pki.ca.Serving("system:node:"+name, name, ip.String())
	if err != nil {
		return nil, nil, err
	}
	client, err := c.pki.ca.Client("system:node:"+name, "system:nodes")
	if err != nil {
		return nil, nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(ip.String(), "0"))
	if err != nil {
		return nil, nil, err
	}
	conn, err := rest.New(c.restConfig(client, "kubelet"), rest.Options{Logger: c.log})
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	k, err := kubelet.New(conn, kubelet.Options{
		NodeName: name, NodeIPs: []netip.Addr{ip}, RootDir: filepath.Join(dir, "kubelet"), LogDir: filepath.Join(dir, "logs"), RuntimeEndpoint: rt.Endpoint(),
		ClusterDNS: []string{dnsIP}, ClusterDomain: "cluster.local", PodCIDR: pods.String(), PullFallback: true, StopPods: true,
		StaticPodDir: c.manifestDir, Listener: l,
		TLS:    &tls.Config{Certificates: []tls.Certificate{serving.TLS()}, ClientCAs: c.pki.ca.Pool(), MinVersion: tls.VersionTLS12},
		Logger: c.log.With("component", "kubelet"),
		// The disk is the user's, who may have filled it for reasons of their own.
		Eviction: kubelet.EvictionPolicy{Hard: map[string]string{"memory.available": "100Mi"}}, ImageGC: kubelet.ImageGCPolicy{HighPercent: 100},
	})
	if err != nil {
		return nil, nil, errors.Join(err, l.Close(), conn.Close())
	}
	return k, conn, nil
}

// addDNS serves cluster DNS on the pods' gateway and publishes it under the tenth service address.
func (c *cluster) addDNS(m *manager.Manager, gateway netip.Addr, dnsIP string) error {
	pc, err := net.ListenPacket("udp", net.JoinHostPort(gateway.String(), "0"))
	if err != nil {
		return err
	}
	port := pc.LocalAddr().(*net.UDPAddr).Port
	l, err := net.Listen("tcp", net.JoinHostPort(gateway.String(), strconv.Itoa(port)))
	if err != nil {
		return errors.Join(err, pc.Close())
	}
	// Other names go to the resolvers of this machine; without any they are refused.
	upstreams, err := clusterdns.ResolvConf("/etc/resolv.conf", net.JoinHostPort(dnsIP, "53"))
	if err != nil {
		c.log.Warn("configure upstream of cluster DNS failed", "err", err)
	}
	if err := clusterdns.Add(m, clusterdns.Options{PacketConns: []net.PacketConn{pc}, Listeners: []net.Listener{l}, Upstreams: upstreams}); err != nil {
		return errors.Join(err, pc.Close(), l.Close())
	}
	cluster, err := netip.ParseAddr(dnsIP)
	if err != nil {
		return err
	}
	return clusterdns.AddPublication(m, clusterdns.Publication{ClusterIPs: []netip.Addr{cluster}, Addresses: []netip.Addr{gateway}, Port: uint16(port)})
}

// serveOnGateway serves the API to pods too, which cannot reach the loopback address.
func (c *cluster) serveOnGateway(ctx context.Context, gateway netip.Addr, fail func(error), wg *sync.WaitGroup) error {
	if bind, err := netip.ParseAddr(c.bindAddress); err != nil || !bind.IsLoopback() {
		return nil // pods use the same address as others
	}
	l, err := net.Listen("tcp", net.JoinHostPort(gateway.String(), strconv.Itoa(c.port())))
	if err != nil {
		return err
	}
	wg.Go(func() {
		if err := c.server.Serve(ctx, l, c.tlsConfig()); err != nil {
			fail(fmt.Errorf("API server on %v: %w", l.Addr(), err))
		}
	})
	return nil
}

// nodeAddress returns the address of the machine's default route, or without one the pods' gateway. It sends
// no packet.
func nodeAddress(gateway netip.Addr) netip.Addr {
	conn, err := net.Dial("udp", "192.0.2.1:9") // an address reserved for documentation
	if err != nil {
		return gateway
	}
	defer conn.Close()
	ip, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil || ip.Addr().IsLoopback() {
		return gateway
	}
	return ip.Addr().Unmap()
}
