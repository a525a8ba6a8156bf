package main

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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/examples/internal/workload"
	"github.com/keelson-dev/keelson/store/certs"
)

// startup is how long a server may take to be ready.
const startup = 2 * time.Minute

// servers are a control plane that is made for one workload: kube-apiserver over etcd, or over memory where
// the folder has no etcd, kube-scheduler, and kube-controller-manager with the controllers that workloads
// rely on, where the folder has it.
type servers struct {
	dir, temp string
	config    rest.Config
	metrics   rest.Config
	names     []string
	pids      []int
	stop      context.CancelCauseFunc
	running   sync.WaitGroup
}

const token = "loadtest"

// startServers starts the programs of a folder as the workload wants them. The context that it returns ends
// when one of the programs does.
func startServers(ctx context.Context, dir string, w *workload.Selected, ignored []string) (_ context.Context, _ *servers, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	s := &servers{dir: dir, stop: stop}
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	if s.temp, err = os.MkdirTemp("", "loadtest-"); err != nil {
		return nil, nil, err
	}
	gates, err := s.gates(ctx, w, ignored)
	if err != nil {
		return nil, nil, err
	}
	flags := gates["kube-apiserver"]
	if all := w.Gates(); all["DynamicResourceAllocation"] || all["GenericWorkload"] {
		flags = append(flags, "--runtime-config=api/beta=true,api/alpha=true")
	}
	if err := s.api(ctx, flags); err != nil {
		return nil, nil, err
	}
	if err := s.scheduler(ctx, w, gates["kube-scheduler"]); err != nil {
		return nil, nil, err
	}
	if s.has("kube-controller-manager") {
		err = s.start(ctx, "kube-controller-manager", append(gates["kube-controller-manager"], "--kubeconfig="+s.path("kubeconfig"), "--leader-elect=false",
			"--controllers=garbage-collector-controller,namespace-controller,resourceclaim-controller",
			"--secure-port="+freePort(), "--kube-api-qps=5000", "--kube-api-burst=5000")...)
	}
	return ctx, s, err
}

func (s *servers) path(name string) string { return filepath.Join(s.temp, name) }

func (s *servers) has(program string) bool {
	_, err := os.Stat(filepath.Join(s.dir, program))
	return err == nil
}

// gates returns the flag --feature-gates of each program: the gates of the workload that it has. A gate must
// be accepted by one of them.
func (s *servers) gates(ctx context.Context, w *workload.Selected, ignored []string) (map[string][]string, error) {
	flags := map[string][]string{}
	all := w.Gates()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(ignored, name) {
			continue
		}
		setting := fmt.Sprintf("%s=%v", name, all[name])
		accepted, refusal := false, ""
		for _, program := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
			if !s.has(program) {
				continue
			}
			out, err := exec.CommandContext(ctx, filepath.Join(s.dir, program), "--feature-gates="+setting, "--version").CombinedOutput()
			if err != nil {
				refusal = program + ": " + lastLine(out)
				continue
			}
			accepted = true
			if flags[program] == nil {
				flags[program] = []string{"--feature-gates=" + setting}
			} else {
				flags[program][0] += "," + setting
			}
		}
		if !accepted {
			return nil, w.RefuseGate(name, errors.New(refusal))
		}
	}
	return flags, nil
}

// api starts the API server and its store.
func (s *servers) api(ctx context.Context, flags []string) error {
	port := freePort()
	store := []string{"--storage-backend=memory"}
	if s.has("etcd") {
		clients, peers := "http://127.0.0.1:"+freePort(), "http://127.0.0.1:"+freePort()
		if err := s.start(ctx, "etcd", "--data-dir="+s.path("etcd"), "--listen-client-urls="+clients, "--advertise-client-urls="+clients,
			"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers, "--unsafe-no-fsync",
			"--quota-backend-bytes=8589934592", "--log-level=warn"); err != nil {
			return err
		}
		store = []string{"--etcd-servers=" + clients}
	}
	ca, err := certs.NewAuthority("loadtest")
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
	s.config = rest.Config{Host: "https://127.0.0.1:" + port, BearerToken: token, UserAgent: "loadtest", TLS: rest.TLSConfig{CAData: ca.CertPEM()}}
	err = s.write(map[string][]byte{
		"tokens": []byte(token + ",loadtest,1,system:masters\n"), "api.crt": serving.CertPEM(), "api.key": serving.KeyPEM(), "signer.key": signer.KeyPEM(),
		"kubeconfig": fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]\n"+
			"users: [{name: c, user: {token: %s}}]\ncontexts: [{name: c, context: {cluster: c, user: c}}]\n", s.config.Host, base64.StdEncoding.EncodeToString(ca.CertPEM()), token),
	})
	if err != nil {
		return err
	}
	// Pods have no service accounts here, set their priority themselves, and nodes are ready from the start.
	err = s.start(ctx, "kube-apiserver", slices.Concat(flags, store, []string{"--bind-address=127.0.0.1", "--secure-port=" + port,
		"--tls-cert-file=" + s.path("api.crt"), "--tls-private-key-file=" + s.path("api.key"), "--token-auth-file=" + s.path("tokens"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + s.path("signer.key"),
		"--service-account-signing-key-file=" + s.path("signer.key"), "--service-cluster-ip-range=10.96.0.0/16", "--endpoint-reconciler-type=none",
		"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority"})...)
	if err != nil {
		return err
	}
	return s.ready(ctx, s.config)
}

// scheduler starts the scheduler with the configuration of the workload, without limits of its requests.
func (s *servers) scheduler(ctx context.Context, w *workload.Selected, flags []string) error {
	config := map[string]any{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
	if given := w.SchedulerConfig(); given != "" {
		data, err := os.ReadFile(given)
		if err == nil {
			_, err = codec.UnmarshalYAML(data, &config, codec.DecodeOptions{})
		}
		if err != nil {
			return w.RefuseConfig(err)
		}
	}
	config["clientConnection"] = map[string]any{"kubeconfig": s.path("kubeconfig"), "qps": 5000, "burst": 5000}
	config["leaderElection"] = map[string]any{"leaderElect": false}
	data, err := codec.Marshal(config)
	if err != nil {
		return err
	}
	if err := s.write(map[string][]byte{"scheduler.yaml": data}); err != nil {
		return err
	}
	port := freePort()
	if err := s.start(ctx, "kube-scheduler", append(flags, "--config="+s.path("scheduler.yaml"), "--bind-address=127.0.0.1", "--secure-port="+port,
		"--authentication-kubeconfig="+s.path("kubeconfig"), "--authorization-kubeconfig="+s.path("kubeconfig"))...); err != nil {
		return err
	}
	s.metrics = rest.Config{Host: "https://127.0.0.1:" + port, BearerToken: token, TLS: rest.TLSConfig{Insecure: true}}
	return s.ready(ctx, s.metrics)
}

func (s *servers) write(files map[string][]byte) error {
	var errs []error
	for name, data := range files {
		errs = append(errs, os.WriteFile(s.path(name), data, 0o600))
	}
	return errors.Join(errs...)
}

// start runs a program until the servers end.
func (s *servers) start(ctx context.Context, program string, args ...string) error {
	log, err := os.Create(s.path(program + ".log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(s.dir, program), args...)
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
		s.stop(fmt.Errorf("%s has ended (%v): %s", program, err, lastLine(data)))
		close(ended)
	})
	s.running.Go(func() {
		select {
		case <-ctx.Done():
			_ = cmd.Process.Kill()
		case <-ended:
		}
	})
	s.names, s.pids = append(s.names, program), append(s.pids, cmd.Process.Pid)
	return nil
}

// ready waits until a server says that it is.
func (s *servers) ready(ctx context.Context, cfg rest.Config) error {
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

// end ends the programs and deletes their files.
func (s *servers) end() {
	s.stop(nil)
	s.running.Wait()
	_ = os.RemoveAll(s.temp)
}

// lastLine returns the last line that is not empty: what a program said before it ended.
func lastLine(text []byte) string {
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
