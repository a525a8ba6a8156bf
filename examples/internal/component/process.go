package component

import (
	"runtime"
	"strconv"

	"github.com/spf13/pflag"
)

// process are the flags that all programs share and that are not about their work.
type process struct{ contention, noHTTP2 bool }

// switchOff is a flag that is on unless it is set to false.
type switchOff struct{ off *bool }

// String implements pflag.Value.
func (s switchOff) String() string { return strconv.FormatBool(s.off == nil || !*s.off) }

// Type implements pflag.Value.
func (switchOff) Type() string { return "bool" }

// Set implements pflag.Value.
func (s switchOff) Set(text string) error {
	on, err := strconv.ParseBool(text)
	*s.off = !on
	return err
}

// OnUnless registers a flag that is on by default and sets off if it is false.
func OnUnless(f *pflag.FlagSet, off *bool, name, usage string) {
	f.Var(switchOff{off}, name, usage)
	f.Lookup(name).NoOptDefVal = "true"
}

const (
	noOlderVersion = "no older version is emulated"
	manyLabels     = "the labels of metrics are bounded in number: drop those you do not want when you scrape"
)

func (o *Options) processFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.process.contention, "contention-profiling", false, "with --profiling, profile how long goroutines wait for locks and channels too, which takes CPU time")
	f.BoolVar(&o.process.noHTTP2, "disable-http2-serving", false, "serve the program's own pages by HTTP/1.1 only")
	OnUnless(f, &o.NoProfiling, "profiling", "serve profiles at /debug/pprof/ of the program's own port")
	Fix(f, map[string]Fixed{
		"leader-elect-resource-lock":       {Values: []string{"leases"}, Why: "the lock is a Lease"},
		"kube-api-content-type":            {Values: []string{"application/vnd.kubernetes.protobuf", ""}, Why: "built-in kinds are transferred in protobuf"},
		"http2-max-streams-per-connection": {Values: []string{"0"}, Why: "the limit is that of net/http, 250 streams"},
		"permit-port-sharing":              {Values: []string{"false"}, Why: "one server listens on a port"},
		"permit-address-sharing":           {Values: []string{"true", "false"}, Why: "the port of a program that has ended can be used at once always"},
		"emulated-version":                 {Values: []string{"1.36", "kube=1.36", ""}, Why: noOlderVersion},
		"min-compatibility-version":        {Values: []string{"1.35", "kube=1.35", "1.36", "kube=1.36", ""}, Why: noOlderVersion},
	})
	Refuse(f, map[string]string{
		"allow-metric-labels":             manyLabels,
		"allow-metric-labels-manifest":    manyLabels,
		"disabled-metrics":                "metrics cannot be disabled: drop those you do not want when you scrape",
		"show-hidden-metrics-for-version": "no metrics are hidden",
	})
}

// profile turns on what is profiled beside the use of CPU and memory.
func (o *Options) profile() {
	if o.process.contention && !o.NoProfiling {
		runtime.SetBlockProfileRate(1)
		runtime.SetMutexProfileFraction(1)
	}
}
