// Package resourcequota maintains the status of ResourceQuotas: the limits and their usage.
//
// Admission adds the usage of every creation immediately. This controller recalculates the usage when a quota
// changes, when objects are deleted or pods terminate, and every few minutes, which corrects the usage of
// objects that were never stored.
package resourcequota

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of quotas recalculated concurrently; 0 means 5.
	Concurrency int
	// ResyncPeriod is the time between recalculations of a quota; 0 means 5 minutes.
	ResyncPeriod time.Duration
}

// settling is how long after giving something back a quota is counted again: what is being created just now
// is charged already but not seen yet.
const settling = 5 * time.Second

type quotas struct {
	list      informers.Lister[*corev1.ResourceQuota]
	client    *client.Client[*corev1.ResourceQuota]
	conn      client.Conn
	set       *informers.Set
	discovery *discovery.Client
	period    time.Duration
	enqueue   func(reconcile.Request)

	pods     informers.Lister[*corev1.Pod]
	services informers.Lister[*corev1.Service]
	claims   informers.Lister[*corev1.PersistentVolumeClaim]

	tally   tally
	devices devices

	mu      sync.Mutex
	counted map[schema.GroupResource]*informers.Informer[*metav1.PartialObjectMetadata]
	looked  map[reconcile.Request]time.Time // when the objects of a quota were counted one by one
}

// The kinds whose objects use more than their number.
const (
	pods         = "pods"
	services     = "services"
	claims       = "persistentvolumeclaims"
	deviceClaims = "resourceclaims.resource.k8s.io"
)

// byNamespace files objects of which nothing but the number matters.
var byNamespace = informers.DefineIndex("resourcequota.namespace", func(o *metav1.PartialObjectMetadata) []string { return []string{o.Namespace} })

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 5
	}
	if opts.ResyncPeriod == 0 {
		opts.ResyncPeriod = 5 * time.Minute
	}
	set := m.Informers()
	q := &quotas{
		list: informers.For[*corev1.ResourceQuota](set).Lister(), client: client.For[*corev1.ResourceQuota](m.Conn()), conn: m.Conn(), set: set,
		discovery: discovery.New(m.Conn(), discovery.Options{}), period: opts.ResyncPeriod,
		pods: informers.For[*corev1.Pod](set).Lister(), services: informers.For[*corev1.Service](set).Lister(),
		claims: informers.For[*corev1.PersistentVolumeClaim](set).Lister(), counted: map[schema.GroupResource]*informers.Informer[*metav1.PartialObjectMetadata]{},
		tally: tally{of: map[string]*account{}}, looked: map[reconcile.Request]time.Time{},
	}
	c, err := controllers.Add(m, "resourcequota", reconcile.Func(q.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.For(func(e informers.Event[*corev1.ResourceQuota]) bool {
			return e.Type == informers.Added || e.Type == informers.Updated && !codec.Equal(new(e.New().Spec.Hard), new(e.New().Status.Hard))
		}),
		controllers.Watches(tallied[*corev1.Pod](&q.tally, pods, q.of)),
		controllers.Watches(tallied[*corev1.Service](&q.tally, services, q.of)),
		controllers.Watches(tallied[*corev1.PersistentVolumeClaim](&q.tally, claims, q.of)))
	if err != nil {
		return err
	}
	q.enqueue = c.Enqueue
	return nil
}

// of names the quotas of a namespace.
func (q *quotas) of(namespace string) []reconcile.Request {
	// Before the quotas have been read there are none to look at again: each is reconciled when it is read.
	keys, _ := q.list.Keys(informers.ListOptions{Namespace: namespace})
	return keys
}

func (q *quotas) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	// Read live: the version guards the write against charges that come between. The controller's role may
	// list, but not get.
	live, err := q.client.List(ctx, client.ListOptions{Namespace: req.Namespace, FieldSelector: fields.OneEqual("metadata.name", req.Name)})
	if err != nil || len(live.Items) == 0 {
		if err == nil {
			q.forget(req)
		}
		return reconcile.Result{}, err
	}
	rq := live.Items[0]
	used, err := q.count(ctx, rq)
	if err != nil {
		return reconcile.Result{}, err
	}
	again := q.period
	for name, n := range used {
		if before, ok := rq.Status.Used[name]; ok && n.Cmp(before) < 0 {
			again = settling
		}
	}
	status := corev1.ResourceQuotaStatus{Hard: rq.Spec.Hard, Used: used}
	if !codec.Equal(&status, &rq.Status) {
		rq.Status = status
		if _, err := q.client.UpdateStatus(ctx, rq); err != nil && !apierrors.IsNotFound(err) {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// count adds up what the objects in a quota's scope use of what it limits.
func (q *quotas) count(ctx context.Context, rq *corev1.ResourceQuota) (corev1.ResourceList, error) {
	used, needs := corev1.ResourceList{}, map[schema.GroupResource]bool{}
	for name := range rq.Spec.Hard {
		used[name] = resource.Quantity{} // reported even if nothing is used
		needs[resourceOf(name)] = true
		if request, ok := strings.CutPrefix(string(name), corev1.DefaultResourceRequestsPrefix); ok && resourcev1.MayHaveClass(corev1.ResourceName(request)) {
			needs[resourceClaims] = true
		}
	}
	var inUse *quota.Claims
	if needs[resourceClaims] {
		var err error
		if inUse, err = q.claimsOf(ctx, rq.Namespace); err != nil {
			return nil, err
		}
	}
	if err := q.sum(rq, needs, inUse, used); err != nil {
		return nil, err
	}
	for gr := range needs {
		if slices.Contains(summed, gr.String()) {
			continue
		}
		if err := q.countObjects(ctx, gr, rq, used); err != nil {
			return nil, err
		}
	}
	return used, nil
}

// summed are the kinds of which the tally has sums.
var summed = []string{pods, services, claims, deviceClaims}

// charge adds to used, of what it has, the usage of an object that is in the scopes of a quota.
func charge(rq *corev1.ResourceQuota, used corev1.ResourceList, obj metav1.Object, usage corev1.ResourceList) {
	if !quota.Matches(rq, obj) {
		return
	}
	for name, n := range usage {
		if sum, limited := used[name]; limited {
			sum.Add(n)
			used[name] = sum
		}
	}
}

// sum adds to used what pods, services and claims use: by the tally or, once in a period and while that does
// not hold, one by one. The usage of ResourceClaims is that of inUse; if it is nil they are not served.
func (q *quotas) sum(rq *corev1.ResourceQuota, needs map[schema.GroupResource]bool, inUse *quota.Claims, used corev1.ResourceList) error {
	by := func(each func(namespace, kind string, f func(metav1.Object, corev1.ResourceList)) error, used corev1.ResourceList) error {
		for _, kind := range summed {
			if !needs[schema.ParseGroupResource(kind)] || kind == deviceClaims && inUse == nil {
				continue
			}
			err := each(rq.Namespace, kind, func(obj metav1.Object, usage corev1.ResourceList) {
				claim, ofDevices := obj.(*resourcev1.ResourceClaim)
				switch {
				case ofDevices && usage == nil:
					usage = inUse.Usage(claim)
				case ofDevices:
					usage = inUse.Extend(usage)
				case usage == nil:
					usage = quota.Usage(kind, obj)
				}
				charge(rq, used, obj, usage)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if q.tally.holds(rq.Namespace) && !q.isDue(rq.Key()) {
		return by(q.tally.each, used)
	}
	sums := maps.Clone(used)
	if err := errors.Join(by(q.tally.each, sums), by(q.each, used)); err != nil {
		return err
	}
	q.tally.compared(rq.Namespace, sameUsage(sums, used))
	q.mu.Lock()
	defer q.mu.Unlock()
	q.looked[rq.Key()] = time.Now()
	return nil
}

// each calls f with the objects of a kind, one by one, without what they use.
func (q *quotas) each(namespace, kind string, f func(obj metav1.Object, used corev1.ResourceList)) error {
	in := informers.ListOptions{Namespace: namespace}
	switch kind {
	case pods:
		return viewAll(q.pods, in, f)
	case services:
		return viewAll(q.services, in, f)
	case claims:
		return viewAll(q.claims, in, f)
	}
	return viewAll(q.devices.claims, in, f)
}

func viewAll[T metav1.Object](list informers.Lister[T], in informers.ListOptions, f func(obj metav1.Object, used corev1.ResourceList)) error {
	return list.ViewAll(in, func(obj T) bool { f(obj, nil); return true })
}

// isDue reports whether the objects of a quota are to be counted one by one.
func (q *quotas) isDue(rq reconcile.Request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at, ok := q.looked[rq]
	return !ok || time.Since(at) >= q.period
}

// forget ends with a quota.
func (q *quotas) forget(rq reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.looked, rq)
}

// resourceOf is the resource whose objects count for a limit.
func resourceOf(name corev1.ResourceName) schema.GroupResource {
	text := string(name)
	if rest, ok := strings.CutPrefix(text, "count/"); ok {
		r, g, _ := strings.Cut(rest, ".")
		return schema.GroupResource{Group: g, Resource: r}
	}
	switch {
	case slices.Contains([]string{"configmaps", "secrets", "replicationcontrollers", "resourcequotas"}, text):
		return schema.GroupResource{Resource: text}
	case text == "services" || strings.HasPrefix(text, "services."):
		return schema.GroupResource{Resource: services}
	case text == "persistentvolumeclaims" || text == "requests.storage" || strings.Contains(text, ".storageclass.storage.k8s.io/"):
		return schema.GroupResource{Resource: claims}
	case strings.HasSuffix(text, corev1.ResourceClaimsPerClass):
		return resourceClaims
	}
	return schema.GroupResource{Resource: pods}
}

var resourceClaims = resourcev1.GroupVersion.WithResource("resourceclaims").GroupResource()

// countObjects counts objects of a resource of which nothing but the number matters.
func (q *quotas) countObjects(ctx context.Context, gr schema.GroupResource, rq *corev1.ResourceQuota, used corev1.ResourceList) error {
	if len(rq.Spec.Scopes) > 0 || rq.Spec.ScopeSelector != nil {
		return nil // scopes are about pods
	}
	inf, err := q.informer(ctx, gr)
	if err != nil || inf == nil {
		return err
	}
	if err := inf.WaitForSync(ctx); err != nil {
		return err
	}
	n := int64(inf.Index(byNamespace).Len(rq.Namespace))
	for _, name := range []corev1.ResourceName{corev1.ResourceName(gr.Resource), corev1.ResourceName("count/" + gr.String())} {
		if _, limited := used[name]; limited {
			used[name] = resource.NewQuantity(n, resource.DecimalSI)
		}
	}
	return nil
}

// informer returns the metadata informer of a resource; nil if it is not served.
func (q *quotas) informer(ctx context.Context, gr schema.GroupResource) (*informers.Informer[*metav1.PartialObjectMetadata], error) {
	q.mu.Lock()
	inf := q.counted[gr]
	q.mu.Unlock()
	if inf != nil {
		return inf, nil
	}
	served, err := q.served(ctx, gr)
	if served == nil {
		return nil, err
	}
	res := served.Client()
	res.Metadata = true
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.counted[gr] == nil {
		inf := informers.ForResource[*metav1.PartialObjectMetadata](q.set, res)
		inf.AddHandler(func(e informers.Event[*metav1.PartialObjectMetadata]) {
			if e.Type == informers.Deleted {
				for _, req := range q.of(e.Key.Namespace) {
					q.enqueue(req)
				}
			}
		}, informers.HandlerOptions{})
		q.counted[gr] = inf
	}
	return q.counted[gr], nil
}

// served returns a resource of namespaces that can be listed and watched; nil if it is not served.
func (q *quotas) served(ctx context.Context, gr schema.GroupResource) (*discovery.Resource, error) {
	catalog, err := q.discovery.Catalog(ctx)
	if catalog == nil {
		return nil, err
	}
	for _, r := range catalog.Preferred() {
		if r.GVR.GroupResource() == gr && r.Namespaced && r.HasVerb("list") && r.HasVerb("watch") {
			return &r, nil
		}
	}
	return nil, nil
}
