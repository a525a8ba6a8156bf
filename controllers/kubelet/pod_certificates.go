package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/informers"
)

type podCertificateRequest = certificatesv1beta1.PodCertificateRequest

// podCertificates requests the certificates of projected volumes and renews them for as long as their pods
// have volumes: one [podCertificate] per source. They are kept in memory and in the volumes only, so that
// another process of the kubelet requests new ones. Safe for concurrent use; a nil one has none.
type podCertificates struct {
	k        *Kubelet
	requests *informers.Informer[*podCertificateRequest] // of this node
	accounts *client.Client[*corev1.ServiceAccount]

	mu    sync.Mutex
	byPod map[types.UID]map[projection]*podCertificate
}

// projection is a source of a pod's projected volume.
type projection struct {
	volume string
	source int
}

// newPodCertificates returns the certificates of the node's pods. The informer of requests is of the
// kubelet's manager, which runs it.
func newPodCertificates(k *Kubelet) *podCertificates {
	c := &podCertificates{k: k, accounts: client.For[*corev1.ServiceAccount](k.m.Conn()), byPod: map[types.UID]map[projection]*podCertificate{}}
	gv := certificatesv1beta1.GroupVersion
	c.requests = informers.ForResource(k.m.Informers(), client.Resource{GVR: gv.WithResource("podcertificaterequests"), GVK: gv.WithKind("PodCertificateRequest"), Namespaced: true},
		informers.Options[*podCertificateRequest]{FieldSelector: fields.OneEqual("spec.nodeName", k.opts.NodeName)})
	c.requests.AddHandler(func(e informers.Event[*podCertificateRequest]) {
		for _, one := range c.of(e.Object().Spec.PodUID) {
			one.look()
		}
	}, informers.HandlerOptions{Name: "pod certificates"})
	return c
}

// use requests the certificates of a pod that have not been requested yet. It does not wait. They are renewed
// until [podCertificates.forget] is called, also after ctx has ended.
func (c *podCertificates) use(ctx context.Context, pod *corev1.Pod) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Projected == nil {
			continue
		}
		for n := range v.Projected.Sources {
			source, at := v.Projected.Sources[n].PodCertificate, projection{v.Name, n}
			if source == nil || c.byPod[pod.UID][at] != nil {
				continue
			}
			if c.byPod[pod.UID] == nil {
				c.byPod[pod.UID] = map[projection]*podCertificate{}
			}
			running, cancel := context.WithCancel(context.WithoutCancel(ctx))
			one := &podCertificate{all: c, pod: pod, at: at, source: source, cancel: cancel, done: make(chan struct{}), nudge: make(chan struct{}, 1), err: errNotIssued}
			c.byPod[pod.UID][at] = one
			go func() {
				defer close(one.done)
				one.run(running)
			}()
		}
	}
}

// forget drops the certificates of a pod and waits until nothing is done for them any more.
func (c *podCertificates) forget(uid types.UID) {
	if c == nil {
		return
	}
	c.mu.Lock()
	all := c.byPod[uid]
	delete(c.byPod, uid)
	c.mu.Unlock()
	for _, one := range all {
		one.cancel()
	}
	for _, one := range all {
		<-one.done
	}
}

// of returns the certificates of a pod.
func (c *podCertificates) of(uid types.UID) []*podCertificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.byPod[uid]))
}

// files are those of a source of a pod's projected volume. It does not wait.
func (c *podCertificates) files(pod *corev1.Pod, at projection, s *corev1.PodCertificateProjection, mode *int32) (map[string]file, error) {
	if c == nil {
		return nil, errors.New("podCertificate projection is not supported: it takes an API server and the feature PodCertificateRequest")
	}
	c.mu.Lock()
	one := c.byPod[pod.UID][at]
	c.mu.Unlock()
	if one == nil {
		return nil, errNotIssued
	}
	key, chain, err := one.credentials()
	if err != nil {
		return nil, err
	}
	files := map[string]file{}
	for path, data := range map[string][]byte{s.CredentialBundlePath: slices.Concat(key, chain), s.KeyPath: key, s.CertificateChainPath: chain} {
		if path != "" {
			files[path] = privateFile(pod, data, mode)
		}
	}
	return files, nil
}

// podCertificate is the certificate of one source of a projected volume, and its private key.
type podCertificate struct {
	all    *podCertificates
	pod    *corev1.Pod // as it was when the volume was made
	at     projection
	source *corev1.PodCertificateProjection
	cancel context.CancelFunc
	done   chan struct{}
	nudge  chan struct{} // capacity 1; requests of the pod have changed
	// warnings belong to the goroutine.
	warnings []*time.Timer

	mu         sync.Mutex
	key, chain []byte // PEM
	renew      time.Time
	expires    time.Time
	// refused is the type of the condition of the request that was refused for good; empty before.
	refused string
	// err is why there is no certificate.
	err error
}

var errNotIssued = errors.New("credential bundle is not issued yet")

// The times of renewals, as in k8s.io/kubernetes/pkg/kubelet/podcertificate/podcertificatemanager.go,
// v1.36.3.
const (
	// renewalSpread is how much later than the signer says a certificate is renewed at most, and than
	// requestPatience a request repeated, so that pods which start together do not stay in step.
	renewalSpread = 5 * time.Minute
	// requestPatience is how old a request is at least when it is taken for deleted and repeated.
	requestPatience = 10 * time.Minute
	// renewalGrace is how long a renewal may take before the pod has an event.
	renewalGrace = 10 * time.Minute
)

// requestRetries are the waits after a request that could not be made.
var requestRetries = backoff.Policy{Max: time.Minute, Jitter: .5}

// run requests the certificate and then the next ones, until ctx ends or one is refused.
func (c *podCertificate) run(ctx context.Context) {
	defer c.quiet()
	for ctx.Err() == nil {
		key, r := c.request(ctx)
		if r == nil {
			return
		}
		if r = c.answer(ctx, r); r == nil {
			continue
		}
		if !c.settle(ctx, r, key) {
			return
		}
		// The clock of the machine counts, which may be set, and goes on while the machine sleeps.
		for wait := time.Until(c.renew); wait > 0; wait = time.Until(c.renew) {
			if backoff.Sleep(ctx, min(wait, time.Minute)) != nil {
				return
			}
		}
	}
}

// request makes a request for a new key; nil if ctx ends first.
func (c *podCertificate) request(ctx context.Context) (key *podKey, r *podCertificateRequest) {
	for range backoff.Attempts(ctx, requestRetries) {
		var err error
		if key == nil {
			key, err = newPodKey(c.source.KeyType)
		}
		if err == nil {
			r, err = c.create(ctx, key)
		}
		if err == nil {
			c.waits(nil)
			return key, r
		}
		if ctx.Err() == nil {
			c.all.k.log.Warn("request of a pod's certificate failed", "namespace", c.pod.Namespace, "name", c.pod.Name, "volume", c.at.volume, "source", c.at.source, "err", err)
			c.waits(err)
		}
	}
	return nil, nil
}

// create makes a request for a key.
func (c *podCertificate) create(ctx context.Context, key *podKey) (*podCertificateRequest, error) {
	account := accountOf(c.pod)
	sa, err := c.all.accounts.Get(ctx, account)
	if err != nil {
		return nil, fmt.Errorf("while fetching service account: %w", err)
	}
	node := c.all.k.node.object()
	if node == nil {
		return nil, fmt.Errorf("node %q is not registered yet", c.all.k.opts.NodeName)
	}
	r := &podCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.pod.Namespace, GenerateName: "req-",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: c.pod.Name, UID: c.pod.UID}}},
		Spec: certificatesv1beta1.PodCertificateRequestSpec{SignerName: c.source.SignerName, PodName: c.pod.Name, PodUID: c.pod.UID,
			ServiceAccountName: account.Name, ServiceAccountUID: sa.UID, NodeName: node.Name, NodeUID: node.UID,
			MaxExpirationSeconds: c.source.MaxExpirationSeconds, StubPKCS10Request: key.stub, UnverifiedUserAnnotations: c.source.UserAnnotations},
	}
	if r, err = c.all.requests.Client().Create(ctx, r); err != nil {
		return nil, fmt.Errorf("while creating PodCertificateRequest: %w", err)
	}
	return r, nil
}

// answer waits until a request has a result and returns it; nil if ctx ends or the request is gone.
func (c *podCertificate) answer(ctx context.Context, made *podCertificateRequest) *podCertificateRequest {
	patience := time.NewTimer(time.Until(made.CreationTimestamp.Add(requestPatience)) + backoff.Spread(ctx, renewalSpread))
	defer patience.Stop()
	patient := true
	for {
		switch r, err := c.all.requests.Lister().Get(types.NamespacedName{Namespace: made.Namespace, Name: made.Name}); {
		case err == nil && r.UID == made.UID:
			if r.Result() != nil {
				return r
			}
		case !patient:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.nudge:
		case <-patience.C:
			patient = false
		}
	}
}

// settle takes up the result of a request for a key. It reports whether that is a certificate.
func (c *podCertificate) settle(ctx context.Context, r *podCertificateRequest, key *podKey) bool {
	defer c.all.k.contentChanged(c.pod.UID)
	c.quiet()
	result, name := r.Result(), r.Namespace+"/"+r.Name
	switch result.Type {
	case certificatesv1beta1.PodCertificateDenied:
		c.refuse(result.Type, fmt.Errorf("PodCertificateRequest was permanently denied: reason=%q message=%q", result.Reason, result.Message),
			fmt.Sprintf("PodCertificateRequest %s was denied, reason=%q, message=%q", name, result.Reason, result.Message))
		return false
	case certificatesv1beta1.PodCertificateFailed:
		c.refuse(result.Type, fmt.Errorf("PodCertificateRequest was permanently failed: reason=%q message=%q", result.Reason, result.Message),
			fmt.Sprintf("PodCertificateRequest %s failed, reason=%q, message=%q", name, result.Reason, result.Message))
		return false
	}
	chain := certificatesPEM(pemBlocks(r.Status.CertificateChain))
	_, err := tls.X509KeyPair(chain, key.text)
	if err == nil && (r.Status.BeginRefreshAt == nil || r.Status.NotAfter == nil) {
		err = errors.New("the status has no times")
	}
	if err != nil { // no server accepts such a status
		err = fmt.Errorf("PodCertificateRequest %s has a certificate that cannot be used: %w", name, err)
		c.refuse(certificatesv1beta1.PodCertificateFailed, err, err.Error())
		return false
	}
	c.mu.Lock()
	c.key, c.chain, c.err = key.text, chain, nil
	c.renew, c.expires = r.Status.BeginRefreshAt.Add(backoff.Spread(ctx, renewalSpread)), r.Status.NotAfter.Time
	late, over := time.Until(c.renew.Add(renewalGrace)), time.Until(c.expires)
	c.mu.Unlock()
	c.warnings = []*time.Timer{
		time.AfterFunc(late, func() { c.warn("CertificateOverdueForRefresh", "PodCertificate refresh overdue") }),
		time.AfterFunc(over, func() { c.warn("CertificateExpired", "PodCertificate expired") }),
	}
	return true
}

// refuse ends the attempts for good.
func (c *podCertificate) refuse(kind string, err error, message string) {
	c.mu.Lock()
	c.refused, c.err = kind, err
	c.mu.Unlock()
	c.warn(kind, message)
}

// warn records an event of the pod.
func (c *podCertificate) warn(reason, message string) {
	c.all.k.recorder.Event(c.pod, events.Warning, reason, message)
}

// quiet takes the warnings about the current certificate back.
func (c *podCertificate) quiet() {
	for _, t := range c.warnings {
		t.Stop()
	}
	c.warnings = nil
}

// look lets the goroutine look at its request.
func (c *podCertificate) look() {
	select {
	case c.nudge <- struct{}{}:
	default:
	}
}

// waits notes why there is no certificate yet, if there is none.
func (c *podCertificate) waits(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.key != nil:
	case why == nil:
		c.err = errNotIssued
	default:
		c.err = fmt.Errorf("%w: %w", errNotIssued, why)
	}
}

// credentials returns the private key and the certificates, both PEM, or why there are none.
func (c *podCertificate) credentials() (key, chain []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.key, c.chain, c.err
}

// state is what the metrics show.
func (c *podCertificate) state(now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.refused == certificatesv1beta1.PodCertificateDenied:
		return "denied"
	case c.refused != "":
		return "failed"
	case c.key == nil:
		return "not_yet_issued"
	case now.After(c.expires):
		return "expired"
	case now.After(c.renew.Add(renewalGrace)):
		return "overdue_for_refresh"
	}
	return "fresh"
}

// certificateStates is how many sources of volumes have a certificate.
var certificateStates = prometheus.NewDesc("kubelet_podcertificate_states", "Certificates of projected volumes, by their signer and whether they are issued and valid.", []string{"signer_name", "state"}, nil)

// Describe implements prometheus.Collector.
func (*podCertificates) Describe(ch chan<- *prometheus.Desc) { ch <- certificateStates }

// Collect implements prometheus.Collector.
func (c *podCertificates) Collect(ch chan<- prometheus.Metric) {
	now, n := time.Now(), map[[2]string]int{}
	c.mu.Lock()
	for _, all := range c.byPod {
		for _, one := range all {
			n[[2]string{one.source.SignerName, one.state(now)}]++
		}
	}
	c.mu.Unlock()
	for labels, count := range n {
		ch <- prometheus.MustNewConstMetric(certificateStates, prometheus.GaugeValue, float64(count), labels[0], labels[1])
	}
}
