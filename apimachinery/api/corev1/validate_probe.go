package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func (c *containerChecks) probes(ctr *Container, p *path) validation.ErrorList {
	var r check.Report
	r.Add(c.probe(ctr.LivenessProbe, p.Child("livenessProbe")))
	if l := ctr.LivenessProbe; l != nil && l.SuccessThreshold != 1 {
		r.Invalid(p.Child("livenessProbe", "successThreshold"), l.SuccessThreshold, "must be 1")
	}
	r.Add(c.probe(ctr.ReadinessProbe, p.Child("readinessProbe")))
	if rp := ctr.ReadinessProbe; rp != nil && rp.TerminationGracePeriodSeconds != nil {
		r.Invalid(p.Child("readinessProbe", "terminationGracePeriodSeconds"), *rp.TerminationGracePeriodSeconds,
			"must not be set for readiness probes")
	}
	r.Add(c.probe(ctr.StartupProbe, p.Child("startupProbe")))
	if s := ctr.StartupProbe; s != nil && s.SuccessThreshold != 1 {
		r.Invalid(p.Child("startupProbe", "successThreshold"), s.SuccessThreshold, "must be 1")
	}
	return r.List()
}

func (c *containerChecks) probe(probe *Probe, p *path) validation.ErrorList {
	var r check.Report
	if probe == nil {
		return nil
	}
	r.Add(c.handler(handler{exec: probe.Exec, http: probe.HTTPGet, tcp: probe.TCPSocket, grpc: probe.GRPC}, p))
	check.NonNegative(&r, p.Child("initialDelaySeconds"), probe.InitialDelaySeconds)
	check.NonNegative(&r, p.Child("timeoutSeconds"), probe.TimeoutSeconds)
	check.NonNegative(&r, p.Child("periodSeconds"), probe.PeriodSeconds)
	check.NonNegative(&r, p.Child("successThreshold"), probe.SuccessThreshold)
	check.NonNegative(&r, p.Child("failureThreshold"), probe.FailureThreshold)
	if g := probe.TerminationGracePeriodSeconds; g != nil && *g <= 0 {
		r.Invalid(p.Child("terminationGracePeriodSeconds"), *g, "must be greater than 0")
	}
	return r.List()
}

func (c *containerChecks) lifecycle(l *Lifecycle, p *path) validation.ErrorList {
	var r check.Report
	if l == nil {
		return nil
	}
	for _, h := range []struct {
		name string
		h    *LifecycleHandler
	}{{"postStart", l.PostStart}, {"preStop", l.PreStop}} {
		if h.h != nil {
			r.Add(c.handler(handler{exec: h.h.Exec, http: h.h.HTTPGet, tcp: h.h.TCPSocket, sleep: h.h.Sleep}, p.Child(h.name)))
		}
	}
	if l.StopSignal != nil {
		r.Add(validateStopSignal(*l.StopSignal, c.spec.OS, p.Child("stopSignal")))
	}
	return r.List()
}

func validateStopSignal(s Signal, os *PodOS, p *path) validation.ErrorList {
	var r check.Report
	switch {
	case os == nil:
		r.Forbidden(p, "may not be set for containers with empty `spec.os.name`")
	case os.Name == Windows:
		check.OneOf(&r, p, s, SIGTERM, SIGKILL)
	default:
		check.OneOf(&r, p, s, linuxSignals()...)
	}
	return r.List()
}

func linuxSignals() []Signal {
	return []Signal{
		SIGABRT, SIGALRM, SIGBUS, SIGCHLD, SIGCLD, SIGCONT, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGIO, SIGIOT, SIGKILL,
		SIGPIPE, SIGPOLL, SIGPROF, SIGPWR, SIGQUIT, SIGSEGV, SIGSTKFLT, SIGSTOP, SIGSYS, SIGTERM, SIGTRAP, SIGTSTP,
		SIGTTIN, SIGTTOU, SIGURG, SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
		SIGRTMIN, SIGRTMINPLUS1, SIGRTMINPLUS2, SIGRTMINPLUS3, SIGRTMINPLUS4, SIGRTMINPLUS5, SIGRTMINPLUS6,
		SIGRTMINPLUS7, SIGRTMINPLUS8, SIGRTMINPLUS9, SIGRTMINPLUS10, SIGRTMINPLUS11, SIGRTMINPLUS12, SIGRTMINPLUS13,
		SIGRTMINPLUS14, SIGRTMINPLUS15, SIGRTMAXMINUS14, SIGRTMAXMINUS13, SIGRTMAXMINUS12, SIGRTMAXMINUS11,
		SIGRTMAXMINUS10, SIGRTMAXMINUS9, SIGRTMAXMINUS8, SIGRTMAXMINUS7, SIGRTMAXMINUS6, SIGRTMAXMINUS5,
		SIGRTMAXMINUS4, SIGRTMAXMINUS3, SIGRTMAXMINUS2, SIGRTMAXMINUS1, SIGRTMAX,
	}
}

// handler is the action of a probe or lifecycle hook.
type handler struct {
	exec  *ExecAction
	http  *HTTPGetAction
	tcp   *TCPSocketAction
	grpc  *GRPCAction
	sleep *SleepAction
}

// handler checks that exactly one way is given, and that one.
func (c *containerChecks) handler(h handler, p *path) validation.ErrorList {
	var r check.Report
	n := 0
	one := func(name string, set bool, body func(q *path)) {
		if !set {
			return
		}
		q := p.Child(name)
		if n++; n > 1 {
			r.Forbidden(q, "may not specify more than 1 handler type")
			return
		}
		body(q)
	}
	one("exec", h.exec != nil, func(q *path) {
		if len(h.exec.Command) == 0 {
			r.Required(q.Child("command"), "")
		}
	})
	one("httpGet", h.http != nil, func(q *path) {
		r.NonEmpty(q.Child("path"), h.http.Path)
		r.Add(validatePort(h.http.Port, q.Child("port")))
		check.OneOf(&r, q.Child("scheme"), h.http.Scheme, URISchemeHTTP, URISchemeHTTPS)
		for _, header := range h.http.HTTPHeaders {
			r.Each(q.Child("httpHeaders"), header.Name, validation.IsHTTPHeaderName(header.Name))
		}
	})
	one("tcpSocket", h.tcp != nil, func(q *path) { r.Add(validatePort(h.tcp.Port, q.Child("port"))) })
	one("grpc", h.grpc != nil, func(q *path) { r.Add(validatePort(intstr.FromInt32(h.grpc.Port), q.Child("port"))) })
	one("sleep", h.sleep != nil, func(q *path) {
		if h.sleep.Seconds < 0 || h.sleep.Seconds > c.grace {
			r.Invalid(q, h.sleep.Seconds, "must be non-negative and at most terminationGracePeriodSeconds")
		}
	})
	if n == 0 {
		r.Required(p, "must specify a handler type")
	}
	return r.List()
}

// validatePort checks a port given as a number or by name.
func validatePort(v intstr.IntOrString, p *path) validation.ErrorList {
	if v.Type == intstr.Int {
		return validation.InvalidEach(p, v.IntVal, validation.IsPortNumber(int64(v.IntVal)))
	}
	return validation.InvalidEach(p, v.StrVal, validation.IsPortName(v.StrVal))
}
