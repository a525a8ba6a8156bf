package kubelet

import (
	"context"
	"crypto/md5" //nolint:gosec // an identifier, not a secret
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

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

var listAll informers.ListOptions

func isMirror(pod *corev1.Pod) bool { _, ok := pod.Annotations[annotationMirror]; return ok }

// watchStatic reads the manifest folder every so often and keeps pods and their mirrors as the manifests say.
func (k *Kubelet) watchStatic(ctx context.Context) {
	if k.apiPods.WaitForSync(ctx) != nil {
		return
	}
	tick := time.NewTicker(k.opts.StaticPodInterval)
	defer tick.Stop()
	complained := map[string]string{}
	for {
		found := k.readStatic(complained)
		k.mu.Lock()
		before := k.static
		k.static = found
		k.mu.Unlock()
		for uid, pod := range before {
			if found[uid] == nil {
				k.gone(uid, pod)
			}
		}
		for uid, pod := range found {
			if before[uid] == nil || k.worker(uid) == nil {
				k.dispatch(pod, true)
			}
		}
		k.syncMirrors(ctx, found)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// readStatic reads all manifests. Files that cannot be read as pods are logged once per change and left out.
func (k *Kubelet) readStatic(complained map[string]string) map[types.UID]*corev1.Pod {
	found := map[types.UID]*corev1.Pod{}
	entries, err := os.ReadDir(k.opts.StaticPodDir)
	if err != nil {
		if complained[""] != err.Error() {
			complained[""] = err.Error()
			k.log.Warn("static pods cannot be read", "error", err)
		}
		if os.IsNotExist(err) {
			return found
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.static
	}
	delete(complained, "")
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(k.opts.StaticPodDir, e.Name())
		b, err := os.ReadFile(path)
		if err == nil {
			var pod *corev1.Pod
			if pod, err = k.staticPod(path, b); err == nil {
				found[pod.UID] = pod
				delete(complained, path)
				continue
			}
		}
		if complained[path] != err.Error() {
			complained[path] = err.Error()
			k.log.Warn("not a static pod", "file", path, "error", err)
		}
	}
	return found
}

// staticPod is the pod of one manifest on this node.
func (k *Kubelet) staticPod(path string, manifest []byte) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	issues, err := codec.UnmarshalYAML(manifest, pod, codec.DecodeOptions{Strict: true, MaxBytes: codec.MaxYAMLBytes})
	if err != nil {
		return nil, err
	}
	if len(issues) > 0 {
		return nil, fmt.Errorf("%v", issues[0])
	}
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
	fmt.Fprintf(h, "host:%s\nfile:%s\n", k.opts.NodeName, path)
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
	pod.Annotations[annotationSource] = "file"
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

// wakeStatic lets the pod of a mirror write its status again.
func (k *Kubelet) wakeStatic(hash string) {
	k.mu.Lock()
	var w *worker
	for uid, pod := range k.static {
		if pod.Annotations[annotationConfigHash] == hash {
			w = k.workers[uid]
		}
	}
	k.mu.Unlock()
	if w != nil {
		w.poke()
	}
}

// syncMirrors makes, replaces and removes the objects that show static pods.
func (k *Kubelet) syncMirrors(ctx context.Context, found map[types.UID]*corev1.Pod) {
	want := map[types.NamespacedName]*corev1.Pod{}
	for _, pod := range found {
		want[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = pod
	}
	zero := int64(0)
	have := map[types.NamespacedName]bool{}
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
		if pod != nil && mirror.Annotations[annotationMirror] == pod.Annotations[annotationConfigHash] && mirror.DeletionTimestamp == nil {
			have[key] = true
			continue
		}
		err := k.pods.Delete(ctx, key, client.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &mirror.UID}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			k.log.Warn("mirror pod is not deleted", "namespace", key.Namespace, "name", key.Name, "error", err)
			have[key] = true
		}
	}
	for key, pod := range want {
		if have[key] {
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
			k.log.Info("mirror pod is not made yet", "namespace", key.Namespace, "name", key.Name, "error", err)
			continue
		}
		k.status.again(pod.UID)
		k.wake(pod.UID)
	}
}

// again writes a status once more, to a mirror that was made anew.
func (s *statuses) again(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.wanted[uid]; w != nil {
		w.version++
		s.pending[uid] = true
		s.signal()
	}
}
