// Command cluster runs a whole Kubernetes cluster in one process: API server over memory or embedded etcd,
// controllers, scheduler, and nodes that are simulated or, with root and containerd, real.
//
//	go run ./examples/cluster
//
// It prints a kubeconfig path and commands to try, and ends on ctrl-C without leaving anything behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/examples/internal/flagname"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// config holds the values of the flags.
type config struct {
	dataDir         string
	etcdServers     []string
	runtime         string
	nodes           int
	nodeDir         string
	imageDir        string
	manifestDir     string
	securePort      int
	bindAddress     string
	writeKubeconfig string
	serviceCIDR     string
	podCIDR         string
	authorization   []string
	tokenFile       string
	enable, disable []string
	verbosity       int
}

func flags(args []string) (*config, error) {
	c := &config{}
	f := pflag.NewFlagSet("cluster", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&c.dataDir, "data-dir", "", "keep everything in this folder, in an embedded etcd that survives restarts (empty: in memory)")
	f.StringSliceVar(&c.etcdServers, "etcd-servers", nil, "use this etcd instead, as http[s]://host:port,...")
	f.StringVar(&c.runtime, "runtime", "auto", "how pods run: fake (simulated), cri (containerd; needs root), auto (cri if it is there, else fake)")
	f.IntVar(&c.nodes, "nodes", 1, "number of fake nodes")
	f.StringVar(&c.nodeDir, "node-dir", "", "folder of the real node's containers and volumes (empty: in the data folder, else "+defaultNodeDir+")")
	f.StringVar(&c.imageDir, "image-dir", "", "folder of image archives (docker or OCI *.tar) the real node imports")
	f.StringVar(&c.manifestDir, "pod-manifest-path", "", "folder of static pods of the real node")
	f.IntVar(&c.securePort, "secure-port", 6443, "port of the API server; 0 picks a free one")
	f.StringVar(&c.bindAddress, "bind-address", "127.0.0.1", "address the API server listens on")
	f.StringVar(&c.writeKubeconfig, "write-kubeconfig", "", "write the admin kubeconfig here (empty: into the data folder, or a temporary file)")
	f.StringVar(&c.serviceCIDR, "service-cluster-ip-range", "10.96.0.0/16", "range of service addresses")
	f.StringVar(&c.podCIDR, "cluster-cidr", "10.244.0.0/16", "range of pod addresses")
	f.StringSliceVar(&c.authorization, "authorization-mode", []string{"Node", "RBAC"}, "authorizers, in order: Node, RBAC, AlwaysAllow, AlwaysDeny")
	f.StringVar(&c.tokenFile, "token-auth-file", "", "CSV file of static bearer tokens: token,user,uid[,groups]")
	f.StringSliceVar(&c.enable, "enable-admission-plugins", []string{"NodeRestriction"}, "admission plugins to run besides the default ones")
	f.StringSliceVar(&c.disable, "disable-admission-plugins", nil, "default admission plugins not to run")
	f.IntVarP(&c.verbosity, "v", "v", 0, "log verbosity: 0 warnings, 2 information, 4 debugging")
	f.Usage = func() {
		fmt.Printf("Runs a Kubernetes cluster in one process.\n\nUsage: cluster [flags]\n\n%s", f.FlagUsages())
	}
	if err := f.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w; see --help", flagname.Closest(f, err))
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; see --help", f.Arg(0))
	}
	switch {
	case c.runtime != "auto" && c.runtime != "cri" && c.runtime != "fake":
		return nil, fmt.Errorf("--runtime=%s: want auto, cri or fake", c.runtime)
	case c.nodes < 1 || c.nodes > 1<<16:
		return nil, fmt.Errorf("--nodes=%d: want 1 to %d", c.nodes, 1<<16)
	case c.securePort < 0 || c.securePort > 65535:
		return nil, fmt.Errorf("--secure-port=%d: want 0 to 65535", c.securePort)
	case c.dataDir != "" && len(c.etcdServers) > 0:
		return nil, errors.New("--data-dir and --etcd-servers exclude each other: with an etcd of your own, keys and certificates are generated at each start")
	}
	return c, nil
}

func run() error {
	c, err := flags(os.Args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	level := slog.LevelWarn
	switch {
	case c.verbosity >= 4:
		level = slog.LevelDebug
	case c.verbosity >= 2:
		level = slog.LevelInfo
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	began := time.Now()
	cl := &cluster{config: c, log: log, say: func(format string, args ...any) {
		fmt.Printf("%6.2fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}}
	return cl.run(ctx, func() {
		cl.say("the cluster is ready")
		fmt.Printf("\nexport KUBECONFIG=%s\n\nTry:\n  kubectl get nodes\n  kubectl create deployment web --image=%s --replicas=3\n  kubectl get pods -o wide --watch\n\nctrl-C ends it%s.\n",
			cl.kubeconfig, cl.sampleImage(), map[bool]string{true: "; --data-dir " + c.dataDir + " brings it back", false: " and forgets everything"}[c.dataDir != ""])
	})
}

// sampleImage returns an image that the runtime can run.
func (c *cluster) sampleImage() string {
	if c.real() {
		return "busybox"
	}
	return "nginx"
}
