package kubelet

import (
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // an identifier, not a secret
	"encoding/hex"
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
	m := &manifests{dir: k.opts.StaticPodDir, parse: k.staticPod, log: k.log, good: map[string]*corev1.Pod{}, complained: map[string]string{}}
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
			if k.worker(uid) == nil && !ends.left(ctx, pod) {
				k.dispatch(pod, true)
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

// manifests reads the pods of a folder.
type manifests struct {
	dir   string
	parse func(path string, manifest []byte) (*corev1.Pod, error)
	log   *slog.Logger

	good       map[string]*corev1.Pod // by path, the last pod that was read there
	complained map[string]string      // by path, the last complaint; the folder's has no path
}

// read returns the pods of all manifests; false if the folder cannot be read, which says nothing about them.
// A file that is no pod any more, because it is being written for example, keeps the pod that it was until it
// is removed.
func (m *manifests) read() (map[types.UID]*corev1.Pod, bool) {
	if m.dir == "" {
		return map[types.UID]*corev1.Pod{}, true
	}
	entries, err := os.ReadDir(m.dir)
	if err != nil && !os.IsNotExist(err) {
		m.complain("", "read static pods failed", err)
		return nil, false
	}
	delete(m.complained, "")
	found := map[types.UID]*corev1.Pod{}
	there := map[string]bool{}
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(m.dir, e.Name())
		there[path] = true
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			delete(there, path)
			continue
		}
		var pod *corev1.Pod
		if err == nil {
			pod, err = m.parse(path, b)
		}
		if err == nil {
			delete(m.complained, path)
			m.good[path] = pod
		} else {
			m.complain(path, "read static pod failed", err)
			pod = m.good[path]
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

// complain logs an error once.
func (m *manifests) complain(path, what string, err error) {
	if m.complained[path] != err.Error() {
		m.complained[path] = err.Error()
		m.log.Warn(what, "file", cmp.Or(path, m.dir), "running", m.good[path] != nil, "err", err)
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
	return k.adoptStatic(pod, manifest, sourceFile, fmt.Sprintf("host:%s\nfile:%s\n", k.opts.NodeName, path))
}

// adoptStatic makes a pod that was decoded from a manifest a pod of this node. origin says where the manifest
// is: with its text, it makes the pod's UID, so that a changed manifest is another pod.
func (k *Kubelet) adoptStatic(pod *corev1.Pod, manifest []byte, source, origin string) (*corev1.Pod, error) {
	if pod.Kind != "Pod" || pod.APIVersion != "v1" {
		return nil, fmt.Errorf("want a v1 Pod, found %s %s", pod.APIVersion, pod.Kind)
	}
	if pod.Name == "" {
		return nil, fmt.Errorf("the pod has no name")
	}
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
	h := md5.New() //nolint:gosec // as above
	_, _ = h.Write([]byte(origin))
	_, _ = h.Write(manifest)
	hash := hex.EncodeToString(h.Sum(nil))
	if pod.UID == "" {
		pod.UID = types.UID(hash)
	}
	pod.Name += "-" + k.opts.NodeName
	corev1.DefaultPod(pod)
	pod.Spec.NodeName = k.opts.NodeName
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[annotationConfigHash] = hash
	pod.Annotations[annotationSource] = source
	pod.Annotations[annotationSeen] = time.Now().Format(time.RFC3339Nano)
	pod.CreationTimestamp = metav1.Now()
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil || v.ConfigMap != nil || v.PersistentVolumeClaim != nil || v.Projected != nil {
			return nil, fmt.Errorf("static pods may not refer to API objects: volume %q", v.Name)
		}
	}
	if pod.Spec.ServiceAccountName != "" {
		return nil, fmt.Errorf("static pods may not refer to API objects: serviceAccountName")
	}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, c := range list {
			for _, e := range c.Env {
				if e.ValueFrom != nil && (e.ValueFrom.ConfigMapKeyRef != nil || e.ValueFrom.SecretKeyRef != nil) {
					return nil, fmt.Errorf("static pods may not refer to API objects: env %q of container %q", e.Name, c.Name)
				}
			}
			if len(c.EnvFrom) > 0 {
				return nil, fmt.Errorf("static pods may not refer to API objects: envFrom of container %q", c.Name)
			}
		}
	}
	if errs := corev1.ValidatePod(pod); len(errs) > 0 {
		return nil, errs.Err()
	}
	return pod, nil
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
	mirrors, err := k.apiPods.Lister().List(listAll)
	if err != nil {
		return // until they can be read, which the informer reports
	}
	for _, mirror := range mirrors {
		if !isMirror(mirror) {
			continue
		}
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
