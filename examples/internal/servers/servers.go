// Package servers starts a control plane for a measurement: our programs or Kubernetes' own, from a folder.
// The tests of examples/loadtest and the benchmarks of examples/cluster run it.
package servers

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/certs"
)

// startup is how long a server may take to be ready.
const startup = 2 * time.Minute

// Options choose what is started.
type Options struct {
	// Dir is the folder of the programs: kube-apiserver, kube-scheduler and, where they are there, etcd and
	// kube-controller-manager. Without etcd, the store is memory, which only ours has.
	Dir string
	// Flags are further flags of a program.
	Flags map[string][]string
	// Scheduler are fields of the KubeSchedulerConfiguration.
	Scheduler map[string]any
	// Controllers are those that run, as --controllers has them.
	Controllers string
}

// Servers are a control plane made for one measurement, without limits of its clients' requests.
type Servers struct {
	Config  rest.Config // of the API server, as an administrator
	Metrics rest.Config // of the scheduler
	Names   []string    // of the programs
	PIDs    []int       // of the programs, in the order of Names

	o       Options
	temp    string
	stop    context.CancelCauseFunc
	running sync.WaitGroup
}

const token = "servers"

// Start starts the programs and returns when they are ready. The context that it returns ends when one of the
// programs does, with its last line as the cause.
func Start(ctx context.Context, o Options) (_ context.Context, _ *Servers, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	s := &Servers{o: o, stop: stop}
	defer func() {
		if err != nil {
			s.End()
		}
	}()
	if s.temp, err = os.MkdirTemp("", "servers-"); err != nil {
		return nil, nil, err
	}
	if err := s.api(ctx); err != nil {
		return nil, nil, err
	}
	if err := s.scheduler(ctx); err != nil {
		return nil, nil, err
	}
	if Has(o.Dir, "kube-controller-manager") {
		err = s.Run(ctx, "kube-controller-manager", "--kubeconfig="+s.Kubeconfig(), "--leader-elect=false", "--controllers="+o.Controllers,
			"--secure-port="+freePort(), "--kube-api-qps=5000", "--kube-api-burst=5000")
	}
	return ctx, s, err
}

func (s *Servers) path(name string) string { return filepath.Join(s.temp, name) }

// Kubeconfig is the path of a kubeconfig file of the API server, as an administrator.
func (s *Servers) Kubeconfig() string { return s.path("kubeconfig") }

// Has reports whether a folder has a program.
func Has(dir, program string) bool {
	_, err := os.Stat(filepath.Join(dir, program))
	return err == nil
}

// api starts the API server and its store.
func (s *Servers) api(ctx context.Context) error {
	port := freePort()
	store := []string{"--storage-backend=memory"}
	if Has(s.o.Dir, "etcd") {
		clients, peers := "http://127.0.0.1:"+freePort(), "http://127.0.0.1:"+freePort()
		if err := s.Run(ctx, "etcd", "--data-dir="+s.path("etcd"), "--listen-client-urls="+clients, "--advertise-client-urls="+clients,
			"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers, "--unsafe-no-fsync",
			"--quota-backend-bytes=8589934592", "--log-level=warn"); err != nil {
			return err
		}
		store = []string{"--etcd-servers=" + clients}
	}
	ca, err := certs.NewAuthority("servers")
	if err != nil {
		return err
	}
	serving, err := ca.Serving("kube-apiserver", "127.0.0.1", "localhost")
	if err != nil {
		return err
	}
	signer, err := ca.Client("signer")
	if err != nil {
		return err
	}
	s.Config = rest.Config{Host: "https://127.0.0.1:" + port, BearerToken: token, UserAgent: "servers", TLS: rest.TLSConfig{CAData: ca.CertPEM()}}
	err = s.write(map[string][]byte{
		"tokens": []byte(token + ",servers,1,system:masters\n"), "api.crt": serving.CertPEM(), "api.key": serving.KeyPEM(), "signer.key": signer.KeyPEM(),
		"kubeconfig": fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]\n"+
			"users: [{name: c, user: {token: %s}}]\ncontexts: [{name: c, context: {cluster: c, user: c}}]\n", s.Config.Host, base64.StdEncoding.EncodeToString(ca.CertPEM()), token),
	})
	if err != nil {
		return err
	}
	// Pods have no service accounts here, set their priority themselves, and nodes are ready from the start.
	err = s.Run(ctx, "kube-apiserver", append(store, "--bind-address=127.0.0.1", "--secure-port="+port,
		"--tls-cert-file="+s.path("api.crt"), "--tls-private-key-file="+s.path("api.key"), "--token-auth-file="+s.path("tokens"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+s.path("signer.key"),
		"--service-account-signing-key-file="+s.path("signer.key"), "--service-cluster-ip-range=10.96.0.0/16", "--endpoint-reconciler-type=none",
		"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority")...)
	if err != nil {
		return err
	}
	return s.ready(ctx, s.Config)
}

// scheduler starts the scheduler, without limits of its requests.
func (s *Servers) scheduler(ctx context.Context) error {
	config := map[string]any{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
	maps.Copy(config, s.o.Scheduler)
	config["clientConnection"] = map[string]any{"kubeconfig": s.Kubeconfig(), "qps": 5000, "burst": 5000}
	config["leaderElection"] = map[string]any{"leaderElect": false}
	data, err := codec.Marshal(config)
	if err != nil {
		return err
	}
	if err := s.write(map[string][]byte{"scheduler.yaml": data}); err != nil {
		return err
	}
	port := freePort()
	if err := s.Run(ctx, "kube-scheduler", "--config="+s.path("scheduler.yaml"), "--bind-address=127.0.0.1", "--secure-port="+port,
		"--authentication-kubeconfig="+s.Kubeconfig(), "--authorization-kubeconfig="+s.Kubeconfig()); err != nil {
		return err
	}
	s.Metrics = rest.Config{Host: "https://127.0.0.1:" + port, BearerToken: token, TLS: rest.TLSConfig{Insecure: true}}
	return s.ready(ctx, s.Metrics)
}

func (s *Servers) write(files map[string][]byte) error {
	var errs []error
	for name, data := range files {
		errs = append(errs, os.WriteFile(s.path(name), data, 0o600))
	}
	return errors.Join(errs...)
}

// Run runs a program of the folder, with its further flags, until the servers end.
func (s *Servers) Run(ctx context.Context, program string, args ...string) error {
	log, err := os.Create(s.path(program + ".log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(s.o.Dir, program), append(args, s.o.Flags[program]...)...)
	cmd.Stdout, cmd.Stderr = log, log
	component.EndWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	ended := make(chan struct{})
	s.running.Go(func() {
		err := cmd.Wait()
		_ = log.Close()
		data, _ := os.ReadFile(log.Name())
		s.stop(fmt.Errorf("%s has ended (%v): %s", program, err, LastLine(data)))
		close(ended)
	})
	s.running.Go(func() {
		select {
		case <-ctx.Done():
			_ = cmd.Process.Kill()
		case <-ended:
		}
	})
	s.Names, s.PIDs = append(s.Names, program), append(s.PIDs, cmd.Process.Pid)
	return nil
}

// ready waits until a server says that it is.
func (s *Servers) ready(ctx context.Context, cfg rest.Config) error {
	conn, err := rest.New(cfg, rest.Options{})
	if err != nil {
		return err
	}
	defer conn.Close()
	waiting, cancel := context.WithTimeout(ctx, startup)
	defer cancel()
	for {
		_, err := conn.Do(waiting, &client.Request{Path: "/readyz"})
		if err == nil {
			return nil
		}
		if sleep := backoff.Sleep(waiting, 100*time.Millisecond); sleep != nil {
			return fmt.Errorf("%s is not ready: %w", cfg.Host, errors.Join(context.Cause(ctx), err))
		}
	}
}

// End ends the programs and deletes their files.
func (s *Servers) End() {
	s.stop(nil)
	s.running.Wait()
	_ = os.RemoveAll(s.temp)
}

// LastLine returns the last line that is not empty: what a program said before it ended.
func LastLine(text []byte) string {
	lines := strings.Split(string(bytes.TrimSpace(text)), "\n")
	return lines[len(lines)-1]
}

// freePort returns a port that was free.
func freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "0" // the program that listens says why
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
