package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/informers"
)

type clusterTrustBundle = certificatesv1beta1.ClusterTrustBundle

// trustBundles are the ClusterTrustBundles of the cluster, which are watched from when a volume first needs
// one. Safe for concurrent use; a nil one has none.
type trustBundles struct {
	k *Kubelet
	// seed is that of the order of certificates, which no program may depend on: it is another one in each
	// process, and stays the same in one.
	seed maphash.Seed

	mu       sync.Mutex
	informer *informers.Informer[*clusterTrustBundle] // nil before the first use
}

func newTrustBundles(k *Kubelet) *trustBundles { return &trustBundles{k: k, seed: maphash.MakeSeed()} }

// The limits of k8s.io/kubernetes/pkg/kubelet/clustertrustbundle/clustertrustbundle_manager.go, v1.36.3.
const (
	// bundlePatience is how long a volume waits for the first list of bundles.
	bundlePatience = 10 * time.Second
	// maxBundleSelector is the length of a label selector's text.
	maxBundleSelector = 100 << 10
)

// bundles returns the informer, which it starts if need be. It waits for the first list.
func (t *trustBundles) bundles(ctx context.Context) (*informers.Informer[*clusterTrustBundle], error) {
	t.mu.Lock()
	if t.informer == nil {
		gv := certificatesv1beta1.GroupVersion
		t.informer = informers.ForResource[*clusterTrustBundle](t.k.m.Informers(), client.Resource{GVR: gv.WithResource("clustertrustbundles"), GVK: gv.WithKind("ClusterTrustBundle")})
		t.informer.AddHandler(t.changed, informers.HandlerOptions{Name: "trust bundles"})
	}
	i := t.informer
	t.mu.Unlock()
	waiting, cancel := context.WithTimeout(ctx, bundlePatience)
	defer cancel()
	if err := i.WaitForSyncOrAbsent(waiting); err != nil {
		return nil, fmt.Errorf("ClusterTrustBundle informer has not yet synced: %w", err)
	}
	return i, nil
}

// changed refreshes the volumes that a bundle is or was part of.
func (t *trustBundles) changed(e informers.Event[*clusterTrustBundle]) {
	if e.Initial {
		return
	}
	bundle := e.Object()
	for _, w := range t.k.allWorkers() {
		if pod, _ := w.desired(); slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return concerns(s.ClusterTrustBundle, bundle) })
		}) {
			w.followContent()
		}
	}
}

// concerns reports whether the content of a source may depend on a bundle. Labels may have changed, so that
// they do not count.
func concerns(s *corev1.ClusterTrustBundleProjection, bundle *clusterTrustBundle) bool {
	switch {
	case s == nil:
		return false
	case s.Name != nil:
		return *s.Name == bundle.Name
	}
	return s.SignerName != nil && *s.SignerName == bundle.Spec.SignerName
}

// anchors returns the certificates of a source in PEM, each once.
func (t *trustBundles) anchors(ctx context.Context, s *corev1.ClusterTrustBundleProjection) ([]byte, error) {
	if t == nil {
		return nil, errors.New("ClusterTrustBundle projection is not supported: it takes an API server and the feature ClusterTrustBundleProjection")
	}
	informer, err := t.bundles(ctx)
	if err != nil {
		return nil, err
	}
	optional := s.Optional != nil && *s.Optional
	if s.Name != nil {
		var text string
		err := informer.Lister().View(types.NamespacedName{Name: *s.Name}, func(b *clusterTrustBundle) { text = b.Spec.TrustBundle })
		if err != nil && !(optional && apierrors.IsNotFound(err)) {
			return nil, fmt.Errorf("while getting ClusterTrustBundle: %w", err)
		}
		return t.merge(text), nil
	}
	if s.SignerName == nil {
		return nil, errors.New("ClusterTrustBundle projection requires either name or signerName to be set")
	}
	selector, err := s.LabelSelector.Selector()
	if err != nil {
		return nil, fmt.Errorf("while parsing label selector: %w", err)
	}
	if n := len(selector.String()); n > maxBundleSelector {
		return nil, fmt.Errorf("label selector length (%d) is larger than %d", n, maxBundleSelector)
	}
	var texts []string
	err = informer.Lister().ViewAll(informers.ListOptions{LabelSelector: selector}, func(b *clusterTrustBundle) bool {
		if b.Spec.SignerName == *s.SignerName {
			texts = append(texts, b.Spec.TrustBundle)
		}
		return true
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("while listing ClusterTrustBundles matching label selector %v: %w", selector, err)
	case texts == nil && !optional:
		return nil, errors.New("combination of signerName and labelSelector matched zero ClusterTrustBundles")
	}
	return t.merge(texts...), nil
}

// merge returns the certificates of texts in PEM, each once, in an order that depends on the process and on
// the certificates alone.
func (t *trustBundles) merge(texts ...string) []byte {
	type anchor struct {
		place uint64
		der   string
	}
	var all []anchor
	for _, text := range texts {
		for _, der := range pemBlocks(text) {
			all = append(all, anchor{maphash.Bytes(t.seed, der), string(der)})
		}
	}
	slices.SortFunc(all, func(a, b anchor) int {
		return cmp.Or(cmp.Compare(a.place, b.place), strings.Compare(a.der, b.der))
	})
	all = slices.Compact(all)
	blocks := make([][]byte, len(all))
	for i, a := range all {
		blocks[i] = []byte(a.der)
	}
	return certificatesPEM(blocks)
}
