package aggregation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/registry"
)

const (
	checkEvery = 30 * time.Second // while it is available
	// retryEvery is the time until the first check after one that failed, and retryMost bounds its doubling.
	retryEvery = time.Second
	retryMost  = 30 * time.Second
	// checkTimeout bounds one check, as upstream. checkAttempts requests are made at the same time, of which
	// one must succeed: a service may have an endpoint that stalls.
	checkTimeout  = 6 * time.Second
	checkAttempts = 3
	// maxDocument bounds the documents of other servers, in bytes.
	maxDocument = 32 << 20
)

// checker is the user of checks, and aggregator the one that reads documents; both as upstream.
var (
	checker    = &authn.User{Name: "system:kube-aggregator", Groups: []string{authn.GroupMasters}}
	aggregator = &authn.User{Name: "system:aggregator"}
)

// condition is why a server is available or not.
type condition struct {
	ok              bool
	reason, message string
	unknown         bool // that is not known, as what it depends on could not be read
}

// run checks the server until ctx ends, and at once after its service or its endpoints have changed.
func (b *backend) run(ctx context.Context) {
	var watches sync.WaitGroup
	defer watches.Wait()
	if b.aggregator.opts.Dial == nil {
		watches.Go(func() { b.follow(ctx, servicesResource) })
		watches.Go(func() { b.follow(ctx, slicesResource) })
	}
	wait := retryEvery
	for ctx.Err() == nil {
		c := b.check(ctx)
		if ctx.Err() != nil {
			return
		}
		if b.setAvailable(c) {
			b.aggregator.opts.Logger.Info("availability of an API version changed", "version", b.gv.String(), "available", c.ok, "reason", c.reason, "message", c.message)
		}
		err := b.report(ctx, c)
		if err != nil && ctx.Err() == nil {
			b.aggregator.opts.Logger.Warn("update status of APIService failed", "name", b.name, "err", err)
		}
		next := checkEvery
		switch {
		case !c.ok || err != nil:
			next, wait = wait, min(2*wait, retryMost)
		default:
			wait = retryEvery
			b.readDocuments(ctx)
		}
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-b.suspect:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

var (
	servicesResource = corev1.GroupVersion.WithResource("services")
	slicesResource   = discoveryv1.GroupVersion.WithResource("endpointslices")
)

// follow requests a check when the service, or an EndpointSlice of it, has changed. It returns
// when ctx has ended.
func (b *backend) follow(ctx context.Context, resource schema.GroupVersionResource) {
	_ = backoff.Retry(ctx, backoff.Policy{Max: retryMost}, nil, func(ctx context.Context) error {
		return b.aggregator.access.Watch(ctx, resource, b.service.Namespace, func(e registry.Event) error {
			if e.Object == nil {
				return nil
			}
			m := metav1.MetaOf(e.Object)
			if resource == servicesResource && m.Name == b.service.Name || resource == slicesResource && m.Labels[discoveryv1.LabelServiceName] == b.service.Name {
				b.suspected()
			}
			return nil
		})
	})
}

// setAvailable reports whether that is a change.
func (b *backend) setAvailable(c condition) bool {
	b.mu.Lock()
	changed := b.available != c.ok
	b.available = c.ok
	b.mu.Unlock()
	if changed {
		b.aggregator.publishState()
		if failed := b.aggregator.opts.Metrics.Failed; failed != nil && !c.ok {
			failed(b.name, c.reason)
		}
	}
	return changed
}

// check returns the condition of the server, and takes over its resources.
func (b *backend) check(ctx context.Context) condition {
	if b.aggregator.opts.Dial == nil {
		if c := b.checkService(ctx); !c.ok {
			return c
		}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var (
		attempts sync.WaitGroup
		mu       sync.Mutex
		first    *metav1.APIResourceList
		err      error
	)
	for range checkAttempts {
		attempts.Go(func() {
			list, failure := b.list(ctx)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case failure == nil && first == nil:
				first = list
				cancel() // the others are not needed
			case failure != nil && err == nil:
				err = failure
			}
		})
	}
	attempts.Wait()
	if first != nil {
		b.setResources(first)
		return condition{ok: true, reason: "Passed", message: "all checks passed"}
	}
	return failed("FailedDiscoveryCheck", "failing or missing response from https://%s/apis/%s: %v", b.host, b.gv, err)
}

// failed is the condition of a server that is not available.
func failed(reason, message string, args ...any) condition {
	return condition{reason: reason, message: fmt.Sprintf(message, args...)}
}

// checkService returns why the service cannot be used.
func (b *backend) checkService(ctx context.Context) condition {
	s := &b.service
	obj, err := b.aggregator.access.View(ctx, servicesResource, types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
	if apierrors.IsNotFound(err) {
		return failed("ServiceNotFound", "service/%s in %q is not present", s.Name, s.Namespace)
	} else if err != nil {
		return condition{unknown: true, reason: "ServiceAccessError", message: fmt.Sprintf("service/%s in %q cannot be checked due to: %v", s.Name, s.Namespace, err)}
	}
	spec := &obj.(*corev1.Service).Spec
	if spec.Type != corev1.ServiceTypeClusterIP && spec.Type != "" {
		return condition{ok: true}
	}
	i := slices.IndexFunc(spec.Ports, func(p corev1.ServicePort) bool { return p.Port == s.Port })
	if i < 0 {
		return failed("ServicePortError", "service/%s in %q is not listening on port %d", s.Name, s.Namespace, s.Port)
	}
	found, err := b.aggregator.access.List(ctx, slicesResource, s.Namespace,
		labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: s.Name}))
	switch {
	case err != nil:
		return condition{unknown: true, reason: "EndpointsAccessError", message: fmt.Sprintf("service/%s in %q cannot be checked due to: %v", s.Name, s.Namespace, err)}
	case len(found) == 0:
		return failed("EndpointsNotFound", "cannot find endpointslices for service/%s in %q", s.Name, s.Namespace)
	case !hasEndpoint(found, spec.Ports[i].Name):
		return failed("MissingEndpoints", "endpointslices for service/%s in %q have no addresses with port name %q", s.Name, s.Namespace, spec.Ports[i].Name)
	}
	return condition{ok: true}
}

// hasEndpoint reports whether an endpoint of a port is ready.
func hasEndpoint(all []metav1.Object, port string) bool {
	for _, obj := range all {
		slice := obj.(*discoveryv1.EndpointSlice)
		named := slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool {
			return p.Name == nil && port == "" || p.Name != nil && *p.Name == port
		})
		if named && slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
			return len(e.Addresses) > 0 && (e.Conditions.Ready == nil || *e.Conditions.Ready)
		}) {
			return true
		}
	}
	return false
}

// report writes the condition, if the object has another one.
func (b *backend) report(ctx context.Context, c condition) error {
	want := apiregistrationv1.APIServiceCondition{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse, Reason: c.reason, Message: c.message}
	switch {
	case c.ok:
		want.Status = apiregistrationv1.ConditionTrue
	case c.unknown:
		want.Status = apiregistrationv1.ConditionUnknown
	}
	key := types.NamespacedName{Name: b.name}
	if obj, err := b.aggregator.access.View(ctx, Resource, key); err == nil {
		have := obj.(*apiregistrationv1.APIService).Status.Conditions
		if i := indexAvailable(have); i >= 0 && have[i].Status == want.Status && have[i].Reason == want.Reason && have[i].Message == want.Message {
			return nil
		}
	}
	_, err := b.aggregator.access.Update(authn.AsServer(ctx), Resource, key, func(obj metav1.Object) error {
		o := obj.(*apiregistrationv1.APIService)
		if o.UID != b.uid {
			return errReplaced
		}
		want.LastTransitionTime = metav1.Now().Truncated()
		i := indexAvailable(o.Status.Conditions)
		if i < 0 {
			o.Status.Conditions = append(o.Status.Conditions, want)
			return nil
		}
		if o.Status.Conditions[i].Status == want.Status {
			want.LastTransitionTime = o.Status.Conditions[i].LastTransitionTime
		}
		o.Status.Conditions[i] = want
		return nil
	}, registry.Write{Subresource: "status", FieldManager: "kube-apiserver"})
	if errors.Is(err, errReplaced) || apierrors.IsNotFound(err) {
		return nil // the watch delivers it
	}
	return err
}

var errReplaced = errors.New("aggregation: the object is another one")

func indexAvailable(all []apiregistrationv1.APIServiceCondition) int {
	return slices.IndexFunc(all, func(c apiregistrationv1.APIServiceCondition) bool { return c.Type == apiregistrationv1.Available })
}

// get reads a document as a user.
func (b *backend) get(ctx context.Context, path string, u *authn.User, header http.Header) (*http.Response, []byte, error) {
	if b.broken != nil {
		return nil, nil, b.broken
	}
	return b.client.Get(ctx, u, &url.URL{Scheme: "https", Host: b.host, Path: path}, header, maxDocument)
}

// list reads the list of the version's resources.
func (b *backend) list(ctx context.Context) (*metav1.APIResourceList, error) {
	_, body, err := b.get(ctx, "/apis/"+b.gv.String(), checker, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return nil, err
	}
	list := &metav1.APIResourceList{}
	if err := codec.Unmarshal(body, list); err != nil {
		return nil, fmt.Errorf("the response is no list of resources: %w", err)
	}
	return list, nil
}

// setResources takes over the list of resources for discovery.
func (b *backend) setResources(list *metav1.APIResourceList) {
	found := discovered(list)
	b.mu.Lock()
	changed := !equalResources(b.resources, found)
	b.resources = found
	b.mu.Unlock()
	if changed {
		b.aggregator.publishState()
	}
}

func equalResources(a, b []apidiscoveryv2.APIResourceDiscovery) bool {
	x, errX := codec.Marshal(&apidiscoveryv2.APIVersionDiscovery{Resources: a})
	y, errY := codec.Marshal(&apidiscoveryv2.APIVersionDiscovery{Resources: b})
	return errX == nil && errY == nil && string(x) == string(y)
}

// discovered is the list of resources in the newer form, which holds subresources in their resource.
func discovered(list *metav1.APIResourceList) []apidiscoveryv2.APIResourceDiscovery {
	var out []apidiscoveryv2.APIResourceDiscovery
	at := map[string]int{}
	for i := range list.APIResources {
		r := &list.APIResources[i]
		if strings.Contains(r.Name, "/") {
			continue
		}
		scope := apidiscoveryv2.ScopeCluster
		if r.Namespaced {
			scope = apidiscoveryv2.ScopeNamespace
		}
		at[r.Name] = len(out)
		out = append(out, apidiscoveryv2.APIResourceDiscovery{Resource: r.Name, Scope: scope, SingularResource: r.SingularName, Verbs: r.Verbs,
			ShortNames: r.ShortNames, Categories: r.Categories, ResponseKind: &metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}})
	}
	for i := range list.APIResources {
		r := &list.APIResources[i]
		name, sub, ok := strings.Cut(r.Name, "/")
		to, known := at[name]
		if !ok || !known {
			continue
		}
		out[to].Subresources = append(out[to].Subresources, apidiscoveryv2.APISubresourceDiscovery{Subresource: sub, Verbs: r.Verbs,
			ResponseKind: &metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}})
	}
	return out
}
