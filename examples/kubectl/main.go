// Command kubectl is a small kubectl over Keelson's client packages: get, describe, apply, delete, logs,
// exec, scale and rollout status, with the flags and the output of their upstream namesakes. Tables come from
// the server, kinds from discovery, so custom resources work like built-in ones.
//
//	go run ./examples/kubectl --kubeconfig FILE get pods -A -o wide
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/client/stream"
	"github.com/keelson-dev/keelson/examples/internal/flagname"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command is one verb.
type command struct {
	name  string
	usage string // what follows the name
	short string
	long  string
	// flags registers the command's own flags and returns the function that runs it.
	flags func(f *pflag.FlagSet) func(ctx context.Context, k *kubectl, args []string) error
}

// commands returns all commands in the order of the help.
func commands() []command {
	return []command{getCommand(), describeCommand(), applyCommand(), deleteCommand(), logsCommand(), execCommand(), scaleCommand(),
		rolloutCommand(), apiResourcesCommand(), versionCommand()}
}

// kubectl is the state shared by all commands.
type kubectl struct {
	global
	in       io.Reader
	out, err io.Writer
	conn     *rest.Conn
	find     *discovery.Client
	// dash is the number of arguments before "--", or -1.
	dash int
}

// global are the flags of all commands.
type global struct {
	config    kubeconfig.Options
	namespace string
	server    string
	token     string
	ca        string
	cert, key string
	insecure  bool
	as        string
	asGroups  []string
	timeout   time.Duration
	verbosity int
}

func (g *global) flags(f *pflag.FlagSet) {
	f.StringVar(&g.config.Path, "kubeconfig", g.config.Path, "path of the kubeconfig file (default $KUBECONFIG, ~/.kube/config)")
	f.StringVar(&g.config.Context, "context", g.config.Context, "context of the kubeconfig to use")
	f.StringVar(&g.config.Cluster, "cluster", g.config.Cluster, "cluster of the kubeconfig to use")
	f.StringVar(&g.config.User, "user", g.config.User, "user of the kubeconfig to use")
	f.StringVarP(&g.namespace, "namespace", "n", g.namespace, "namespace of the request (default that of the context)")
	f.StringVarP(&g.server, "server", "s", g.server, "address of the API server")
	f.StringVar(&g.token, "token", g.token, "bearer token")
	f.StringVar(&g.ca, "certificate-authority", g.ca, "file of the authority's certificate")
	f.StringVar(&g.cert, "client-certificate", g.cert, "file of the client's certificate")
	f.StringVar(&g.key, "client-key", g.key, "file of the client's key")
	f.BoolVar(&g.insecure, "insecure-skip-tls-verify", g.insecure, "do not verify the server's certificate")
	f.StringVar(&g.as, "as", g.as, "user to act as")
	f.StringArrayVar(&g.asGroups, "as-group", g.asGroups, "group to act as, may be repeated")
	f.DurationVar(&g.timeout, "request-timeout", g.timeout, "time limit of a request (0: none)")
	f.IntVarP(&g.verbosity, "v", "v", g.verbosity, "log verbosity: from 6 on every request is shown")
}

// connect creates the connection that the flags describe.
func (k *kubectl) connect() error {
	k.config.Edit = func(c *kubeconfig.Cluster, u *kubeconfig.User) {
		set := func(p *string, v string) {
			if v != "" {
				*p = v
			}
		}
		set(&c.Server, k.server)
		if k.ca != "" {
			c.CertificateAuthority, c.CertificateAuthorityData = k.ca, nil
		}
		if k.insecure {
			c.InsecureSkipTLSVerify, c.CertificateAuthority, c.CertificateAuthorityData = true, "", nil
		}
		if k.cert != "" || k.key != "" {
			u.ClientCertificate, u.ClientKey, u.ClientCertificateData, u.ClientKeyData = k.cert, k.key, nil, nil
		}
		if k.token != "" {
			u.Token, u.TokenFile = k.token, ""
		}
		set(&u.Impersonate, k.as)
		if len(k.asGroups) > 0 {
			u.ImpersonateGroups = k.asGroups
		}
	}
	cfg, err := kubeconfig.Load(k.config)
	if errors.Is(err, kubeconfig.ErrNoConfig) && k.server != "" {
		cfg, err = rest.Config{Host: k.server, BearerToken: k.token, TLS: rest.TLSConfig{CAFile: k.ca, CertFile: k.cert, KeyFile: k.key, Insecure: k.insecure}}, nil
	}
	if err != nil {
		return err
	}
	cfg.UserAgent, cfg.Timeout = "kubectl", k.timeout
	if k.namespace == "" {
		if k.namespace, err = kubeconfig.Namespace(k.config); err != nil {
			k.namespace = "default"
		}
	}
	o := rest.Options{Warnings: func(w rest.Warning) { fmt.Fprintln(k.err, "Warning:", w.Text) }}
	if k.verbosity >= 6 {
		o.Metrics.Request = func(to rest.Target, code int, took time.Duration) {
			fmt.Fprintf(k.err, "%s %s: %d in %v\n", to.Verb, to.Resource, code, took.Round(time.Microsecond))
		}
	}
	k.conn, err = rest.New(cfg, o)
	if err != nil {
		return err
	}
	k.find = discovery.New(k.conn, discovery.Options{})
	return nil
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run is the program: it returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	err := dispatch(ctx, args, in, out, errOut)
	var exit *stream.ExitError
	switch {
	case err == nil || errors.Is(err, pflag.ErrHelp):
		return 0
	case errors.As(err, &exit):
		fmt.Fprintln(errOut, "command terminated with exit code", exit.Code)
		return exit.Code
	case ctx.Err() != nil:
		return 130
	}
	var status *apierrors.StatusError
	switch {
	case errors.As(err, &usageError{}):
		fmt.Fprintf(errOut, "error: %v\nSee 'kubectl --help' for usage.\n", err)
	case errors.As(err, &status) && status.ErrStatus.Reason != "":
		fmt.Fprintf(errOut, "Error from server (%s): %v\n", status.ErrStatus.Reason, err)
	default:
		fmt.Fprintf(errOut, "error: %v\n", err)
	}
	return 1
}

func dispatch(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) error {
	k := &kubectl{in: in, out: out, err: errOut}
	before := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	before.SetOutput(errOut)
	before.SetInterspersed(false)
	k.flags(before)
	before.Usage = func() { help(out, before) }
	if err := before.Parse(args); err != nil {
		return asUsage(flagname.Closest(before, err))
	}
	args = before.Args()
	if len(args) == 0 {
		help(out, before)
		return nil
	}
	if args[0] == "help" {
		if args = args[1:]; len(args) == 0 {
			help(out, before)
			return nil
		}
		args = []string{args[0], "--help"}
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		f := pflag.NewFlagSet("kubectl "+c.name, pflag.ContinueOnError)
		f.SetOutput(errOut)
		run := c.flags(f)
		own := f.FlagUsages()
		k.flags(f)
		f.Usage = func() {
			fmt.Fprintf(out, "%s\n\nUsage:\n  kubectl %s %s\n", c.long, c.name, c.usage)
			if own != "" {
				fmt.Fprintf(out, "\nFlags:\n%s", own)
			}
			fmt.Fprintln(out, "\nUse 'kubectl --help' for the flags of all commands.")
		}
		if err := f.Parse(args[1:]); err != nil {
			return asUsage(flagname.Closest(f, err))
		}
		k.dash = f.ArgsLenAtDash()
		if err := k.connect(); err != nil {
			return err
		}
		defer k.conn.Close()
		return run(ctx, k, f.Args())
	}
	return usagef("unknown command %q", args[0])
}

func asUsage(err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	return usageError{err}
}

func help(w io.Writer, f *pflag.FlagSet) {
	var b strings.Builder
	b.WriteString("kubectl talks to a Kubernetes API server.\n\nUsage:\n  kubectl COMMAND [flags]\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-14s %s\n", c.name, c.short)
	}
	fmt.Fprintf(&b, "\nFlags of all commands:\n%s\nUse 'kubectl COMMAND --help' for more about one.\n", f.FlagUsages())
	_, _ = io.WriteString(w, b.String())
}
