package kubelet

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/informers"
)

// The annotations of pods that come from files, and of the objects that show them.
const (
	annotationSource     = "kubernetes.io/config.source"
	annotationSeen       = "kubernetes.io/config.seen"
	annotationConfigHash = "kubernetes.io/config.hash"
	annotationMirror     = "kubernetes.io/config.mirror"
)

// The values of annotationSource of pods that come from manifests.
const (
	sourceFile = "file"
	sourceHTTP = "http"
)

var listAll informers.ListOptions

func isMirror(pod *corev1.Pod) bool { _, ok := pod.Annotations[annotationMirror]; return ok }

// isStatic reports whether annotations are those of a pod that comes from a manifest.
func isStatic(annotations map[string]string) bool {
	source := annotations[annotationSource]
	return source == sourceFile || source == sourceHTTP
}

// watchStatic keeps the pods of the manifests and their mirrors as the manifests say. It reads the folder
// when it changes and every so often, and does not wait for the API server, which may be one of these pods,
// nor for the server of the other manifests.
func (k *Kubelet) watchStatic(ctx context.Context) {
	m := &manifests{dir: k.opts.StaticPodDir, parse: k.staticPod, log: k.log, good: map[string]manifest{}, complained: map[string]string{}}
	remote := newRemoteManifests(k)
	ends := predecessors{k: k, ending: map[types.UID]bool{}}
	defer ends.running.Wait()
	if remote.url != "" {
		ends.running.Go(func() { remote.run(ctx) })
	}
	if m.dir != "" {
		ends.running.Go(func() { k.watchManifests(ctx, m.dir) })
	}
	tick := time.NewTicker(min(mirrorInterval, k.opts.StaticPodInterval))
	defer tick.Stop()
	var files map[types.UID]*corev1.Pod // nil until they have been read
	var read time.Time
	poked := true
	for {
		if poked || time.Since(read) >= k.opts.StaticPodInterval {
			read = time.Now()
			if found, ok := m.read(); ok {
				files = found
			}
		}
		fetched, known := remote.last()
		wanted := k.withoutDoubles(files, fetched)
		k.mu.Lock()
		before := k.static
		k.static, k.staticRead = wanted, files != nil && known
		k.mu.Unlock()
		for uid, pod := range before {
			if wanted[uid] == nil {
				k.gone(uid, pod)
			}
		}
		for uid, pod := range wanted {
			switch w, old := k.worker(uid), before[uid]; {
			case w == nil && !ends.left(ctx, pod):
				k.dispatch(pod, true)
			case w != nil && old != nil && old != pod:
				w.replace(pod) // it is another one with the UID that its manifest gives it
			}
		}
		k.syncMirrors(ctx, wanted)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			poked = false
		case <-k.staticPoked:
			poked = true
		}
	}
}

// mirrorInterval is how often the mirrors are compared with the pods at least.
const mirrorInterval = 2 * time.Second

// watchManifests pokes watchStatic after changes in the folder. While it cannot be watched, because it does
// not exist yet for example, it is read as often as the options say.
func (k *Kubelet) watchManifests(ctx context.Context, dir string) {
	complained := ""
	for {
		err := k.opts.Host.WatchDir(ctx, dir, k.pokeStatic)
		if ctx.Err() != nil {
			return
		}
		if complained != err.Error() {
			complained = err.Error()
			k.log.Info("the folder of static pods cannot be watched, it is read periodically", "interval", k.opts.StaticPodInterval, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(k.opts.StaticPodInterval):
		}
	}
}

// withoutDoubles returns the pods of the folder and those of the URL. Of two with one name, or one UID, that
// of the folder is meant.
func (k *Kubelet) withoutDoubles(files, fetched map[types.UID]*corev1.Pod) map[types.UID]*corev1.Pod {
	all := make(map[types.UID]*corev1.Pod, len(files)+len(fetched))
	names := map[types.NamespacedName]bool{}
	for uid, pod := range files {
		all[uid] = pod
		names[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = true
	}
	for uid, pod := range fetched {
		if all[uid] != nil || names[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] {
			k.log.Debug("static pod of the URL is also in the folder, which decides", "namespace", pod.Namespace, "name", pod.Name)
			continue
		}
		all[uid] = pod
	}
	return all
}

// manifests reads the pods of a folder, or of one file.
type manifests struct {
	dir   string
	parse func(path string, manifest []byte) (*corev1.Pod, error)
	log   *slog.Logger

	good       map[string]manifest // by path, the last that was read there
	complained map[string]string   // by path, the last complaint; the folder's has no path
}

// manifest is a file with a pod in it.
type manifest struct {
	text []byte
	pod  *corev1.Pod
}

// read returns the pods of all manifests; false if the folder cannot be read, which says nothing about them.
// A file that is no pod any more, because it is being written for example, keeps the pod that it was until it
// is removed. The pod of an unchanged file is the same pointer.
func (m *manifests) read() (map[types.UID]*corev1.Pod, bool) {
	if m.dir == "" {
		return map[types.UID]*corev1.Pod{}, true
	}
	paths, err := m.paths()
	if err != nil {
		m.complain("", "read static pods failed", err)
		return nil, false
	}
	delete(m.complained, "")
	found := map[types.UID]*corev1.Pod{}
	there := map[string]bool{}
	for _, path := range paths {
		there[path] = true
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			delete(there, path)
			continue
		}
		pod := m.good[path].pod
		if err == nil && (pod == nil || !bytes.Equal(b, m.good[path].text)) {
			if pod, err = m.parse(path, b); err == nil {
				m.good[path] = manifest{b, pod}
			}
		}
		if err == nil {
			delete(m.complained, path)
		} else {
			m.complain(path, "read static pod failed", err)
			pod = m.good[path].pod
			if pod == nil && path == m.dir {
				return nil, false
			}
		}
		if pod != nil {
			found[pod.UID] = pod
		}
	}
	for path := range m.good {
		if !there[path] {
			delete(m.good, path)
			delete(m.complained, path)
		}
	}
	return found, true
}

// paths are those of the manifests; none if there is no folder.
func (m *manifests) paths() ([]string, error) {
	info, err := os.Stat(m.dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil || info.Mode().IsRegular() {
		return []string{m.dir}, err
	}
	entries, err := os.ReadDir(m.dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			paths = append(paths, filepath.Join(m.dir, e.Name()))
		}
	}
	return paths, nil
}

// complain logs an error once.
func (m *manifests) complain(path, what string, err error) {
	if m.complained[path] != err.Error() {
		m.complained[path] = err.Error()
		m.log.Warn(what, "file", cmp.Or(path, m.dir), "running", m.good[path].pod != nil, "err", err)
	}
}

// predecessors are earlier pods of the names of static pods. A static pod starts when its predecessor has
// ended: two of them would use the same ports and files of the node.
type predecessors struct {
	k       *Kubelet
	running sync.WaitGroup

	mu     sync.Mutex
	ending map[types.UID]bool
}

// left reports whether something is left of an earlier static pod of pod's name. What an earlier kubelet
// left, of a manifest that was changed while none ran, is ended.
func (p *predecessors) left(ctx context.Context, pod *corev1.Pod) bool {
	if p.k.staticWorker(func(other *corev1.Pod) bool { return other.Namespace == pod.Namespace && other.Name == pod.Name }) != nil {
		return true
	}
	boxes, err := p.k.rt.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{
		LabelSelector: map[string]string{labelPodNamespace: pod.Namespace, labelPodName: pod.Name}}})
	if err != nil {
		p.k.log.Warn("list running pods failed, static pod waits", "namespace", pod.Namespace, "name", pod.Name, "err", err)
		return true
	}
	left := false
	for _, b := range boxes.Items {
		if uid := types.UID(b.Labels[labelPodUID]); uid != pod.UID && isStatic(b.Annotations) {
			left = true
			p.end(ctx, uid)
		}
	}
	return left
}

// end ends an earlier pod without its manifest, beside the reading of the folder.
func (p *predecessors) end(ctx context.Context, uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending[uid] || p.k.worker(uid) != nil {
		return
	}
	p.ending[uid] = true
	p.running.Go(func() {
		if err := p.k.removeOrphan(ctx, uid); err != nil && ctx.Err() == nil {
			p.k.log.Warn("stop previous static pod failed", "uid", uid, "err", err)
		}
		p.mu.Lock()
		delete(p.ending, uid)
		p.mu.Unlock()
		p.k.pokeStatic()
	})
}

// staticWorker returns a worker of a static pod that is as wanted, nil if there is none.
func (k *Kubelet) staticWorker(is func(*corev1.Pod) bool) *worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.workers {
		if pod, _ := w.desired(); w.static && is(pod) {
			return w
		}
	}
	return nil
}

// pokeStatic lets watchStatic look again: a static pod has ended, so that the next of its name may start, or
// there are other manifests.
func (k *Kubelet) pokeStatic() {
	select {
	case k.staticPoked <- struct{}{}:
	default:
	}
}

// staticPod is the pod of one manifest of the folder on this node.
func (k *Kubelet) staticPod(path string, manifest []byte) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	issues, err := codec.UnmarshalYAML(manifest, pod, codec.DecodeOptions{Strict: true, MaxBytes: codec.MaxYAMLBytes})
	if err != nil {
		return nil, err
	}
	if len(issues) > 0 {
		return nil, fmt.Errorf("%v", issues[0])
	}
	text, err := manifestTree(manifest)
	if err != nil {
		return nil, err
	}
	if pod, err = k.adoptStatic(pod, text, sourceFile, fmt.Sprintf("host:%sfile:%s", k.opts.NodeName, path)); err != nil {
		return nil, err
	}
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	return pod, nil
}

// adoptStatic makes a pod that was decoded from a manifest a pod of this node. origin says where the manifest
// is: with its content, text, it makes the pod's UID, so that a changed manifest is another pod.
func (k *Kubelet) adoptStatic(pod *corev1.Pod, text any, source, origin string) (*corev1.Pod, error) {
	if pod.Kind != "Pod" || pod.APIVersion != "v1" {
		return nil, fmt.Errorf("want a v1 Pod, found %s %s", pod.APIVersion, pod.Kind)
	}
	if pod.Name == "" {
		return nil, fmt.Errorf("the pod has no name")
	}
	corev1.DefaultPod(pod)
	if pod.UID == "" {
		pod.UID = staticUID(pod, text, origin)
	}
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
	pod.Name += "-" + strings.ToLower(k.opts.NodeName)
	pod.Spec.NodeName = k.opts.NodeName
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[annotationConfigHash] = string(pod.UID)
	pod.Annotations[annotationSource] = source
	pod.Annotations[annotationSeen] = time.Now().Format(time.RFC3339Nano)
	pod.CreationTimestamp = metav1.Now()
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	if errs := corev1.ValidatePod(pod); len(errs) > 0 {
		return nil, errs.Err()
	}
	if what := apiReference(pod); what != "" {
		return nil, fmt.Errorf("static pods may not reference %s", what)
	}
	return pod, nil
}

// apiReference is what a pod refers to that only the API server has; empty if there is nothing.
func apiReference(pod *corev1.Pod) (what string) {
	if pod.Spec.ServiceAccountName != "" {
		return "serviceaccounts"
	}
	corev1.EachSecret(&pod.Spec, func(string) { what = "secrets" })
	if what == "" {
		corev1.EachConfigMap(&pod.Spec, func(string) { what = "configmaps" })
	}
	if what == "" && len(pod.Spec.ResourceClaims) > 0 {
		what = "resourceclaims"
	}
	for i := range pod.Spec.Volumes {
		if what != "" {
			break
		}
		what = volumeReference(&pod.Spec.Volumes[i])
	}
	return what
}

// volumeReference is apiReference of a volume.
func volumeReference(v *corev1.Volume) string {
	switch {
	case v.ConfigMap != nil:
		return "configmaps (via configmap volumes)"
	case v.Secret != nil:
		return "secrets (via secret volumes)"
	case v.CSI != nil:
		return "csidrivers (via CSI volumes)"
	case v.Glusterfs != nil:
		return "endpoints (via glusterFS volumes)"
	case v.PersistentVolumeClaim != nil:
		return "persistentvolumeclaims"
	case v.Ephemeral != nil:
		return "persistentvolumeclaims (via ephemeral volumes)"
	case v.AzureFile != nil:
		return "secrets (via azureFile volumes)"
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			switch {
			case s.ServiceAccountToken != nil:
				return "serviceaccounts (via projected volumes)"
			case s.ClusterTrustBundle != nil:
				return "clustertrustbundles"
			case s.PodCertificate != nil:
				return "podcertificates"
			}
		}
	}
	return ""
}

// staticOf is the pod that a mirror shows; empty if there is none.
func (k *Kubelet) staticOf(mirror *corev1.Pod) types.UID {
	k.mu.Lock()
	defer k.mu.Unlock()
	for uid, pod := range k.static {
		if pod.Annotations[annotationConfigHash] == mirror.Annotations[annotationMirror] {
			return uid
		}
	}
	return ""
}

// syncMirrors makes, replaces and removes the objects that show static pods.
func (k *Kubelet) syncMirrors(ctx context.Context, found map[types.UID]*corev1.Pod) {
	want := map[types.NamespacedName]*corev1.Pod{}
	for _, pod := range found {
		want[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = pod
	}
	zero := int64(0)
	have := map[types.NamespacedName]bool{}
	known := k.staticKnown()
	var mirrors []*corev1.Pod
	err := k.apiPods.Lister().ViewAll(listAll, func(p *corev1.Pod) bool {
		if isMirror(p) {
			mirrors = append(mirrors, p)
		}
		return true
	})
	if err != nil {
		return // until they can be read, which the informer reports
	}
	for _, mirror := range mirrors {
		key := types.NamespacedName{Namespace: mirror.Namespace, Name: mirror.Name}
		pod := want[key]
		hash := mirror.Annotations[annotationMirror]
		ending := k.staticWorker(func(p *corev1.Pod) bool { return p.Annotations[annotationConfigHash] == hash }) != nil
		waiting := pod != nil && k.worker(pod.UID) == nil
		unknown := pod == nil && !known
		if mirror.DeletionTimestamp == nil && (ending || waiting || unknown) {
			// It shows a pod that has not ended yet, or one whose manifest cannot be read yet.
			have[key] = true
			continue
		}
		if pod != nil && mirror.Annotations[annotationMirror] == pod.Annotations[annotationConfigHash] && mirror.DeletionTimestamp == nil {
			have[key] = true
			continue
		}
		err := k.pods.Delete(ctx, key, client.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &mirror.UID}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			k.log.Warn("delete mirror pod failed", "namespace", key.Namespace, "name", key.Name, "err", err)
			have[key] = true
		}
	}
	for key, pod := range want {
		if have[key] || k.worker(pod.UID) == nil {
			continue
		}
		mirror := codec.DeepCopy(pod)
		mirror.UID, mirror.ResourceVersion, mirror.CreationTimestamp = "", "", metav1.Time{}
		mirror.Annotations[annotationMirror] = pod.Annotations[annotationConfigHash]
		if node := k.node.object(); node != nil {
			yes := true
			mirror.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: &yes}}
		} else {
			continue // the server refuses a mirror without its node
		}
		if _, err := k.pods.Create(ctx, mirror); err != nil && !apierrors.IsAlreadyExists(err) {
			k.log.Info("create mirror pod failed", "namespace", key.Namespace, "name", key.Name, "err", err)
			continue
		}
		k.status.again(pod.UID)
		k.wake(pod.UID)
	}
}

// again writes a status once more, to a mirror pod that was created again.
func (s *statuses) again(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.wanted[uid]; w != nil {
		w.version++
		s.pending[uid] = true
		s.signal()
	}
}
