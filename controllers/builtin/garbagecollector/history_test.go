package garbagecollector_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/internal/calls"
)

// Histories: random objects that own each other, rightly and wrongly, in kinds that come and go, before
// collectors that are restarted and whose server does not serve a resource for a while. The rules below are
// written from the documentation of owner references, on the state in the store, and know nothing of graphs,
// queues or caches. They are checked at each write of a collector:
//
//  1. An object is deleted only if it has owners, none lives, and no reference is one that cannot be
//     followed.
//  2. A reference is removed only if its owner is absent, or is being orphaned, or waits for its dependents
//     while another reference holds the object.
//  3. An owner is released from foreground deletion only when nothing blocks it, but what waits for its own
//     dependents in turn.
//  4. An owner is released from orphaning only when nothing refers to it.
//
// and in the end, when all is served and no other finalizer holds anything:
//
//  5. Nothing is left whose owners are all absent, and nothing waits.

// worldKind is one kind of the histories.
type worldKind struct {
	client.Resource
}

var worldKinds = []worldKind{
	{client.Resource{GVR: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespaced: true}},
	{client.Resource{GVR: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespaced: true}},
	{client.Resource{GVR: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
		GVK: schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}}},
	{client.Resource{GVR: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"},
		GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, Namespaced: true}},
}

func (k worldKind) api(conn client.Conn) *client.Client[*metav1.Unstructured] {
	return client.ForResource[*metav1.Unstructured](conn, k.Resource)
}

var definitions = client.Resource{GVR: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	GVK: schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}}

const widgets = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{
"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`

// entry is one object of the world.
type entry struct {
	kind worldKind
	obj  *metav1.Unstructured
}

// history is one run.
type history struct {
	t    *testing.T
	c    *controllertest.Cluster
	seed uint64
	rnd  *rand.Rand
	conn *flaky
	stop func()
	made int

	mu sync.Mutex
	// touched is when the references of an object changed last: a watch takes its time.
	touched map[types.UID]time.Time
	existed map[types.UID]bool
	// waited are the owners that were deleted in the foreground: that what they own goes is decided then.
	waited map[types.UID]bool
	// turned is when an owner that was being deleted in one way was deleted in another, or was gone.
	turned map[types.UID]time.Time
	log    []string
	failed bool
}

func (h *history) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, fmt.Sprintf("%s ", time.Now().Format("15:04:05.000"))+fmt.Sprintf(format, args...))
}

// violated reports a broken rule. It is called by the collectors' goroutines.
func (h *history) violated(format string, args ...any) {
	h.note("VIOLATED: "+format, args...)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = true
}

func (h *history) all() []entry {
	var list []entry
	for _, k := range worldKinds {
		l, err := k.api(h.c.Admin()).List(context.Background(), client.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // not defined at the moment
		}
		require.NoError(h.t, err)
		for _, o := range l.Items {
			if o.Labels["history"] == "" {
				continue
			}
			list = append(list, entry{k, o})
			if o.DeletionTimestamp != nil && slices.Contains(o.Finalizers, metav1.FinalizerDeleteDependents) {
				h.mu.Lock()
				h.waited[o.UID] = true
				h.mu.Unlock()
			}
		}
	}
	return list
}

// truth is what became of the owner that a reference of an object names: "lives", "waits", "orphans",
// "absent", or "unclear" if the reference cannot be followed.
func (h *history) truth(namespace string, ref metav1.OwnerReference) string {
	at := slices.IndexFunc(worldKinds, func(k worldKind) bool { return k.GVK.Kind == ref.Kind })
	k := worldKinds[at]
	if k.Namespaced && namespace == "" {
		return "unclear"
	}
	key := types.NamespacedName{Name: ref.Name}
	if k.Namespaced {
		key.Namespace = namespace
	}
	o, err := k.api(h.c.Admin()).Get(context.Background(), key)
	switch {
	case apierrors.IsNotFound(err):
		h.mu.Lock()
		existed := h.existed[ref.UID]
		h.mu.Unlock()
		if status, _ := apierrors.StatusOf(err); status.Details.Name == "" && !existed {
			return "unclear"
		}
		return "absent"
	case err != nil:
		h.violated("read %v: %v", key, err)
		return "unclear"
	case o.UID != ref.UID:
		return "absent"
	case o.DeletionTimestamp == nil:
		return "lives"
	case slices.Contains(o.Finalizers, metav1.FinalizerDeleteDependents), h.hasWaited(o.UID):
		return "waits"
	case slices.Contains(o.Finalizers, metav1.FinalizerOrphanDependents):
		return "orphans"
	}
	return "lives"
}

// before checks rules 1 to 4 on what a collector is about to write, as far as the server will let it.
func (h *history) before(r *client.Request) {
	at := slices.IndexFunc(worldKinds, func(k worldKind) bool { return k.GVR == r.Resource })
	if at < 0 {
		return
	}
	k := worldKinds[at]
	now, err := k.api(h.c.Admin()).Get(context.Background(), types.NamespacedName{Namespace: r.Namespace, Name: r.Name})
	if err != nil {
		return // nothing will be written
	}
	what := fmt.Sprintf("%s %s/%s", k.GVK.Kind, r.Namespace, r.Name)
	h.note("collector: %s %s %s", r.Method, what, r.Body)
	if r.Method == http.MethodDelete {
		var o metav1.DeleteOptions
		if json.Unmarshal(r.Body, &o) != nil || o.Preconditions == nil || o.Preconditions.ResourceVersion == nil || o.Preconditions.UID == nil {
			h.violated("a deletion of %s without preconditions: %s", what, r.Body)
			return
		}
		if *o.Preconditions.ResourceVersion == now.ResourceVersion && *o.Preconditions.UID == now.UID {
			h.mayDelete(what, now)
		}
		return
	}
	var next metav1.PartialObjectMetadata
	if err := json.Unmarshal(r.Body, &next); err != nil || next.ResourceVersion == "" || next.UID == "" {
		h.violated("a patch of %s without preconditions: %s", what, r.Body)
		return
	}
	if next.ResourceVersion != now.ResourceVersion || next.UID != now.UID {
		return
	}
	var sent struct{ Metadata map[string]json.RawMessage }
	_ = json.Unmarshal(r.Body, &sent)
	if sent.Metadata["finalizers"] != nil {
		h.mayRelease(what, k, now, next.Finalizers)
	}
	if sent.Metadata["ownerReferences"] != nil {
		h.mayRemove(what, now, next.OwnerReferences)
	}
}

// mayDelete is rule 1.
func (h *history) mayDelete(what string, now *metav1.Unstructured) {
	if len(now.OwnerReferences) == 0 {
		h.violated("%s has no owner", what)
	}
	for _, ref := range now.OwnerReferences {
		if state := h.truth(now.Namespace, ref); state == "lives" || state == "unclear" || state == "orphans" && !h.turnedNow(ref.UID) {
			h.violated("%s is deleted though its owner %s %s %s", what, ref.Kind, ref.Name, state)
		}
	}
}

func (h *history) hasWaited(uid types.UID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waited[uid]
}

// orphaned reports whether an object of that uid, wherever a reference says that it is, is being deleted
// without its dependents.
func (h *history) orphaned(uid types.UID) bool {
	return slices.ContainsFunc(h.all(), func(e entry) bool {
		return e.obj.UID == uid && e.obj.DeletionTimestamp != nil && slices.Contains(e.obj.Finalizers, metav1.FinalizerOrphanDependents)
	})
}

// underWay is how long a decision of a collector may be under way, from the reads that it is made of to the
// write.
const underWay = 20 * time.Millisecond

func (h *history) turn(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turned[uid] = time.Now()
}

// turnedNow reports whether an owner was in another state when a decision under way may have been made.
func (h *history) turnedNow(uid types.UID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, turned := h.turned[uid]
	return turned && time.Since(at) < underWay
}

// after notes what a write of a collector has removed.
func (h *history) after(r *client.Request, err error) {
	at := slices.IndexFunc(worldKinds, func(k worldKind) bool { return k.GVR == r.Resource })
	if at < 0 || err != nil {
		return
	}
	var sent struct {
		Metadata      struct{ UID types.UID }
		Preconditions struct{ UID types.UID }
	}
	require.NoError(h.t, json.Unmarshal(r.Body, &sent))
	_, err = worldKinds[at].api(h.c.Admin()).Get(context.Background(), types.NamespacedName{Namespace: r.Namespace, Name: r.Name})
	if apierrors.IsNotFound(err) {
		h.turn(cmp.Or(sent.Metadata.UID, sent.Preconditions.UID))
	}
}

// mayRemove is rule 2.
func (h *history) mayRemove(what string, now *metav1.Unstructured, left []metav1.OwnerReference) {
	// A collector cannot know that an owner is absent whose kind it cannot see.
	held := slices.ContainsFunc(left, func(r metav1.OwnerReference) bool {
		return r.Kind == "Widget" || h.conn.hides(r.Kind) || h.turnedNow(r.UID) || h.truth(now.Namespace, r) != "absent"
	})
	for _, ref := range now.OwnerReferences {
		if slices.ContainsFunc(left, func(r metav1.OwnerReference) bool { return r.UID == ref.UID }) {
			continue
		}
		state := h.truth(now.Namespace, ref)
		switch {
		case h.orphaned(ref.UID) || h.turnedNow(ref.UID) || state == "absent" || state == "waits" && held:
		default:
			h.violated("%s loses its owner %s %s that %s", what, ref.Kind, ref.Name, state)
		}
	}
}

// mayRelease is rules 3 and 4.
func (h *history) mayRelease(what string, k worldKind, now *metav1.Unstructured, left []string) {
	lost := func(f string) bool { return slices.Contains(now.Finalizers, f) && !slices.Contains(left, f) }
	for _, e := range h.all() {
		for _, ref := range e.obj.OwnerReferences {
			h.mu.Lock()
			fresh := time.Since(h.touched[e.obj.UID]) < time.Second
			h.mu.Unlock()
			if ref.UID != now.UID || fresh || ref.Kind != k.GVK.Kind || ref.Name != now.Name || now.Namespace != "" && e.obj.Namespace != now.Namespace {
				continue
			}
			waiting := e.obj.DeletionTimestamp != nil && slices.Contains(e.obj.Finalizers, metav1.FinalizerDeleteDependents)
			if lost(metav1.FinalizerDeleteDependents) && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion && !waiting {
				h.violated("%s is released while %s %s blocks it", what, e.kind.GVK.Kind, e.obj.Name)
			}
			if lost(metav1.FinalizerOrphanDependents) {
				h.violated("%s is released while %s %s refers to it", what, e.kind.GVK.Kind, e.obj.Name)
			}
		}
	}
}

// start starts a collector; it takes over from the last.
func (h *history) start() {
	h.conn = newFlaky(h.c.Conn())
	h.conn.before, h.conn.after = h.before, h.after
	h.conn.takes = func(call string) { calls.Take(h.seed, call) }
	h.stop = h.c.Run(h.c.ManagerOver(h.conn, "collector", add))
}

func (h *history) namespace() string { return []string{"default", "kube-system"}[h.rnd.IntN(2)] }

// refs are some random references, most of them right, for an object in namespace.
func (h *history) refs(all []entry, namespace string) []metav1.OwnerReference {
	var refs []metav1.OwnerReference
	for range h.rnd.IntN(4) {
		if len(all) == 0 {
			break
		}
		o := all[h.rnd.IntN(len(all))]
		if o.obj.Namespace != "" && o.obj.Namespace != namespace && h.rnd.IntN(5) > 0 {
			continue
		}
		ref := metav1.OwnerReference{APIVersion: o.kind.GVK.APIVersion(), Kind: o.kind.GVK.Kind, Name: o.obj.Name, UID: o.obj.UID}
		if h.rnd.IntN(4) > 0 {
			ref.BlockOwnerDeletion = new(true)
		}
		switch h.rnd.IntN(20) {
		case 0:
			ref.Name = "wrong"
		case 1:
			k := worldKinds[h.rnd.IntN(len(worldKinds))]
			ref.APIVersion, ref.Kind = k.GVK.APIVersion(), k.GVK.Kind
		case 2:
			ref.UID = types.UID(fmt.Sprintf("4d5ed5d3-0000-4000-8000-%012d", h.rnd.IntN(100)))
		}
		if !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == ref.UID }) {
			refs = append(refs, ref)
		}
	}
	return refs
}

func (h *history) create() {
	k := worldKinds[h.rnd.IntN(len(worldKinds))]
	obj := &metav1.Unstructured{}
	obj.SetGroupVersionKind(k.GVK)
	h.made++
	obj.Name, obj.Labels = fmt.Sprintf("%s-%d", k.GVR.Resource, h.made), map[string]string{"history": "yes"}
	if k.Namespaced {
		obj.Namespace = h.namespace()
	}
	obj.OwnerReferences = h.refs(h.all(), obj.Namespace)
	if h.rnd.IntN(8) == 0 {
		obj.Finalizers = []string{"example.com/hold"}
	}
	made, err := k.api(h.c.Admin()).Create(h.t.Context(), obj)
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsForbidden(err) {
		return // not defined at the moment, or its definition is being deleted
	}
	require.NoError(h.t, err)
	h.note("create %s %s/%s %s of %v", k.GVK.Kind, made.Namespace, made.Name, made.UID, names(made.OwnerReferences))
	h.mu.Lock()
	h.existed[made.UID], h.touched[made.UID] = true, time.Now()
	h.mu.Unlock()
}

func names(refs []metav1.OwnerReference) (out []string) {
	for _, r := range refs {
		s := r.Kind + " " + r.Name
		if r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion {
			s += " (blocks)"
		}
		out = append(out, s)
	}
	return out
}

// edit changes a random object.
func (h *history) edit(change func(e entry, obj *metav1.Unstructured)) {
	all := h.all()
	if len(all) == 0 {
		return
	}
	e := all[h.rnd.IntN(len(all))]
	change(e, e.obj)
	h.mu.Lock()
	h.touched[e.obj.UID] = time.Now()
	h.mu.Unlock()
	_, err := e.kind.api(h.c.Admin()).Update(h.t.Context(), e.obj)
	h.note("update %s %s/%s: owners %v, finalizers %v: %v", e.kind.GVK.Kind, e.obj.Namespace, e.obj.Name, names(e.obj.OwnerReferences), e.obj.Finalizers, err)
}

func (h *history) delete() {
	all := h.all()
	if len(all) == 0 {
		return
	}
	e := all[h.rnd.IntN(len(all))]
	policy := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}[h.rnd.IntN(3)]
	if e.obj.DeletionTimestamp != nil {
		h.turn(e.obj.UID)
	}
	err := e.kind.api(h.c.Admin()).Delete(h.t.Context(), metav1.KeyOf(e.obj), client.DeleteOptions{PropagationPolicy: policy})
	h.all() // notes what waits now
	h.note("delete %s %s/%s %s: %v", e.kind.GVK.Kind, e.obj.Namespace, e.obj.Name, policy, err)
}

func (h *history) define() {
	obj := &metav1.Unstructured{}
	require.NoError(h.t, codec.Unmarshal([]byte(widgets), obj))
	_, err := client.ForResource[*metav1.Unstructured](h.c.Admin(), definitions).Create(h.t.Context(), obj)
	require.True(h.t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
}

// act does one random thing.
func (h *history) act() {
	switch n := h.rnd.IntN(100); {
	case n < 35:
		h.create()
	case n < 45:
		h.edit(func(e entry, obj *metav1.Unstructured) { obj.OwnerReferences = h.refs(h.all(), obj.Namespace) })
	case n < 50:
		h.edit(func(e entry, obj *metav1.Unstructured) {
			if len(obj.Finalizers) > 0 {
				obj.Finalizers = slices.DeleteFunc(obj.Finalizers, func(f string) bool { return f == "example.com/hold" })
			} else if obj.DeletionTimestamp == nil {
				obj.Finalizers = []string{"example.com/hold"}
			}
		})
	case n < 67:
		h.delete()
	case n < 77:
		gr := worldKinds[h.rnd.IntN(len(worldKinds))].GVR.GroupResource()
		if h.rnd.IntN(2) == 0 {
			h.note("hide %v", gr)
			h.conn.hide(gr)
		} else {
			h.note("show %v", gr)
			h.conn.show(gr)
		}
	case n < 80:
		h.conn.cut(worldKinds[h.rnd.IntN(len(worldKinds))].GVR.GroupResource())
	case n < 85:
		h.note("the collector is restarted")
		h.stop()
		time.Sleep(time.Duration(h.rnd.IntN(3)) * 10 * time.Second)
		h.start()
	case n < 88:
		h.note("define widgets")
		h.define()
	case n < 90:
		err := client.ForResource[*metav1.Unstructured](h.c.Admin(), definitions).Delete(h.t.Context(), types.NamespacedName{Name: "widgets.example.com"})
		h.note("undefine widgets: %v", err)
	default:
		time.Sleep([]time.Duration{time.Millisecond, time.Second, 20 * time.Second, time.Minute, 10 * time.Minute}[h.rnd.IntN(5)])
	}
	if h.rnd.IntN(2) == 0 {
		h.c.Settle()
	}
}

// end checks rule 5.
func (h *history) end() {
	for _, k := range worldKinds {
		h.conn.show(k.GVR.GroupResource())
	}
	h.c.Sleep(time.Minute)
	for _, e := range h.all() {
		if slices.Contains(e.obj.Finalizers, "example.com/hold") {
			_, err := client.Update(h.t.Context(), e.kind.api(h.c.Admin()), metav1.KeyOf(e.obj), func(o *metav1.Unstructured) error {
				o.Finalizers = slices.DeleteFunc(o.Finalizers, func(f string) bool { return f == "example.com/hold" })
				return nil
			})
			require.True(h.t, err == nil || apierrors.IsNotFound(err), "%v", err)
		}
	}
	h.c.Sleep(time.Minute)
	h.define()
	h.note("the end")
	h.c.Sleep(3 * time.Hour)
	for _, e := range h.all() {
		if e.obj.DeletionTimestamp != nil {
			h.violated("%s %s/%s waits for ever with %v", e.kind.GVK.Kind, e.obj.Namespace, e.obj.Name, e.obj.Finalizers)
		}
		if len(e.obj.OwnerReferences) > 0 && !slices.ContainsFunc(e.obj.OwnerReferences, func(r metav1.OwnerReference) bool { return h.truth(e.obj.Namespace, r) != "absent" }) {
			h.violated("%s %s/%s is left, of %v", e.kind.GVK.Kind, e.obj.Namespace, e.obj.Name, names(e.obj.OwnerReferences))
		}
	}
}

func TestHistories(t *testing.T) {
	for _, seed := range seeds.Slow(t, 2, 53, 91) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runHistory(t, seed, 120) })
		})
	}
}

func runHistory(t *testing.T, seed uint64, steps int) {
	h := &history{t: t, seed: seed, c: controllertest.Start(t, controllertest.Options{Seed: seed}), rnd: seeds.Stream(seed, 1),
		touched: map[types.UID]time.Time{}, existed: map[types.UID]bool{}, waited: map[types.UID]bool{}, turned: map[types.UID]time.Time{}}
	h.define()
	h.start()
	for range steps {
		h.act()
	}
	h.end()
	if h.failed {
		for _, line := range h.log {
			t.Log(line)
		}
		t.Fatalf("history %d breaks a rule", seed)
	}
}
