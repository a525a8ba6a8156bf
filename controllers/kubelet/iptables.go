package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// IPTables changes the packet filter of the machine; see [SystemIPTables].
type IPTables interface {
	// Run runs a program of the family, iptables or ip6tables, with arguments. The error is that of its exit.
	Run(ctx context.Context, program string, args ...string) error
}

// SystemIPTables runs the programs iptables and ip6tables, in the network namespace of this process.
type SystemIPTables struct{}

// Run implements IPTables.
func (SystemIPTables) Run(ctx context.Context, program string, args ...string) error {
	out, err := exec.CommandContext(ctx, program, append([]string{"-w", "5"}, args...)...).CombinedOutput() //nolint:gosec // constants
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// filter keeps the chains that show others which variant of iptables is in use, and the rule that drops
// packets from elsewhere to addresses of the loopback device, which kube-proxy may have made reachable. They
// are those of k8s.io/kubernetes/pkg/kubelet/kubelet_network_linux.go, v1.36.3.
type filter struct {
	k       *Kubelet
	tables  IPTables
	program string
}

const (
	chainHint     = "KUBE-IPTABLES-HINT"
	chainFirewall = "KUBE-FIREWALL"
	chainCanary   = "KUBE-KUBELET-CANARY"
	// filterInterval is how often the canary is looked at, filterTime how long a program may take.
	filterInterval = time.Minute
	filterTime     = 30 * time.Second
)

// canaryTables are those with a canary: a chain that is gone when others have flushed the table.
var canaryTables = []string{"mangle", "nat", "filter"}

// run keeps the chains until ctx ends, and then removes the canaries. Without the program it does nothing.
func (f *filter) run(ctx context.Context) {
	if err := f.call(ctx, "-t", "nat", "-S", "POSTROUTING"); err != nil {
		f.k.log.Info("no chains for others are made", "program", f.program, "err", err)
		return
	}
	defer f.leave(context.WithoutCancel(ctx))
	for last := ""; ; {
		if !f.has(ctx) {
			err := f.restore(ctx)
			if ctx.Err() != nil {
				return
			}
			if err == nil {
				last = ""
			} else if text := err.Error(); text != last { // one that stays is logged once
				f.k.log.Warn("make chains for others failed", "err", err)
				last = text
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(filterInterval):
		}
	}
}

func (f *filter) call(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, filterTime)
	defer cancel()
	return f.tables.Run(ctx, f.program, args...)
}

// has reports whether all canaries are there.
func (f *filter) has(ctx context.Context) bool {
	return !slices.ContainsFunc(canaryTables, func(table string) bool {
		return f.call(ctx, "-t", table, "-S", chainCanary, "1") != nil
	})
}

// restore makes what is missing, the canaries last, so that an error is tried again.
func (f *filter) restore(ctx context.Context) error {
	if err := f.chain(ctx, "mangle", chainHint); err != nil {
		return err
	}
	if f.program == "iptables" {
		if err := f.firewall(ctx); err != nil {
			return err
		}
	}
	for _, table := range canaryTables {
		if err := f.chain(ctx, table, chainCanary); err != nil {
			return err
		}
	}
	return nil
}

// firewall drops packets to addresses of the loopback device from elsewhere.
func (f *filter) firewall(ctx context.Context) error {
	if err := f.chain(ctx, "filter", chainFirewall); err != nil {
		return err
	}
	for _, from := range []string{"OUTPUT", "INPUT"} {
		if err := f.rule(ctx, "-I", from, "-j", chainFirewall); err != nil {
			return err
		}
	}
	return f.rule(ctx, "-A", chainFirewall, "-m", "comment", "--comment", "block incoming localnet connections", "--dst", "127.0.0.0/8", "!", "--src", "127.0.0.0/8",
		"-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED,DNAT", "-j", "DROP")
}

// chain makes a chain if it is not there.
func (f *filter) chain(ctx context.Context, table, name string) error {
	made := f.call(ctx, "-t", table, "-N", name)
	if made == nil || f.call(ctx, "-t", table, "-S", name, "1") == nil {
		return nil
	}
	return made
}

// rule adds a rule of the table filter if it is not there.
func (f *filter) rule(ctx context.Context, add, chain string, spec ...string) error {
	if f.call(ctx, slices.Concat([]string{"-t", "filter", "-C", chain}, spec)...) == nil {
		return nil
	}
	return f.call(ctx, slices.Concat([]string{"-t", "filter", add, chain}, spec)...)
}

// leave removes the canaries; the rest stays, since others rely on it.
func (f *filter) leave(ctx context.Context) {
	var errs []error
	for _, table := range canaryTables {
		if f.call(ctx, "-t", table, "-S", chainCanary, "1") == nil {
			errs = append(errs, f.call(ctx, "-t", table, "-X", chainCanary))
		}
	}
	if err := errors.Join(errs...); err != nil {
		f.k.log.Info("remove chains failed", "err", err)
	}
}
