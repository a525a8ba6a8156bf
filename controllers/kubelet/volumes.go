package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// The kinds of volumes, as their folders name them.
const (
	kindEmptyDir  = "empty-dir"
	kindConfigMap = "configmap"
	kindSecret    = "secret"
	kindProjected = "projected"
	kindDownward  = "downward-api"
)

// setUpVolumes makes the volumes of a pod that have not been made yet. Those that have are the refresher's:
// nothing that becomes of the objects they are made of keeps the pod's containers from being started again.
//
// Those that need a driver are made by the manager of volumes meanwhile; ready is false until they are there,
// and the worker is woken when one is.
func (w *worker) setUpVolumes(ctx context.Context, pod *corev1.Pod) (ready bool, err error) {
	if err := makeDir(filepath.Join(w.k.podDir(pod.UID), "volumes"), 0o750); err != nil {
		return false, err
	}
	w.k.certificates.use(ctx, pod)
	var theirs []*corev1.Volume
	for v := range usedVolumes(pod) {
		if driven(v) {
			theirs = append(theirs, v)
		}
	}
	if theirs != nil {
		w.k.volumes.Want(pod, theirs)
	}
	if w.mounting.IsZero() {
		w.mounting = time.Now()
	}
	ready = true
	for _, v := range theirs {
		if _, err := w.k.volumes.State(pod.UID, v.Name); err != nil {
			ready = false // the manager reports why
		}
	}
	var errs []error
	written := len(w.mounted) == 0
	for v := range usedVolumes(pod) {
		if driven(v) {
			continue
		}
		// Nothing of this kind is mounted with a label, but that its containers have several is counted.
		_, _ = w.k.labelling(&volume.Spec{Pod: pod, Volume: v}, false)
		if w.mounted[v.Name] {
			continue
		}
		if w.k.hasPayload(pod, v) {
			written = false
		} else {
			began := time.Now()
			renew, err := w.k.setUpVolume(ctx, pod, v, false)
			w.renew = earlier(w.renew, renew)
			if ctx.Err() == nil {
				w.k.metrics.done(pluginOf(v), "volume_mount", began, err)
			}
			if err != nil {
				errs = append(errs, setUpError(v, err))
				continue
			}
			w.k.metrics.done(pluginOf(v), overall, w.mounting, nil)
		}
		w.mounted[v.Name] = true
		w.k.made.add(w.uid, pluginOf(v))
	}
	if written && errs == nil {
		w.written = pod
	}
	return ready, errors.Join(errs...)
}

// usedVolumes are the volumes that some container of a pod mounts. Others are not made, as the real kubelet
// leaves them out, so that no pod waits for them.
func usedVolumes(pod *corev1.Pod) iter.Seq[*corev1.Volume] {
	used := map[string]bool{}
	for c := range allContainers(pod) {
		for _, m := range c.VolumeMounts {
			used[m.Name] = true
		}
		for _, d := range c.VolumeDevices {
			used[d.Name] = true
		}
	}
	return func(yield func(*corev1.Volume) bool) {
		for i := range pod.Spec.Volumes {
			if v := &pod.Spec.Volumes[i]; used[v.Name] && !yield(v) {
				return
			}
		}
	}
}

// earlier is the earlier of two times, of which a zero one is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func setUpError(v *corev1.Volume, err error) error {
	return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", v.Name, err)
}

// payloadKind is the kind of a volume made of API objects; empty for others.
func payloadKind(v *corev1.Volume) string {
	switch {
	case v.ConfigMap != nil:
		return kindConfigMap
	case v.Secret != nil:
		return kindSecret
	case v.DownwardAPI != nil:
		return kindDownward
	case v.Projected != nil:
		return kindProjected
	}
	return ""
}

// hasPayload reports whether a volume made of API objects has content, written by this kubelet process or a
// previous one.
func (k *Kubelet) hasPayload(pod *corev1.Pod, v *corev1.Volume) bool {
	kind := payloadKind(v)
	if kind == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(k.volumeDir(pod.UID, kind, v.Name), dataLink))
	return err == nil
}

// setUpVolume makes a volume, or refreshes it if it is mounted. renew is when a token in it must be replaced;
// zero means never.
func (k *Kubelet) setUpVolume(ctx context.Context, pod *corev1.Pod, v *corev1.Volume, mounted bool) (renew time.Time, err error) {
	switch {
	case v.EmptyDir != nil:
		dir := k.volumeDir(pod.UID, kindEmptyDir, v.Name)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return renew, err
		}
		mode := fs.FileMode(0o777)
		if v.EmptyDir.Medium == corev1.StorageMediumMemory {
			if err := k.inMemory(dir, k.memorySize(pod, v.EmptyDir.SizeLimit)); err != nil {
				return renew, err
			}
			mode |= fs.ModeSticky
		}
		if isHugePages(v.EmptyDir.Medium) {
			if err := k.inHugePages(pod, v.EmptyDir, dir); err != nil {
				return renew, err
			}
		}
		if err := k.ownBy(kindEmptyDir, dir, pod, mode); err != nil {
			return renew, err
		}
		return renew, k.noteMade(pod.UID, v.Name)
	case v.HostPath != nil:
		return renew, checkHostPath(v.HostPath)
	case v.Image != nil:
		return renew, nil // the runtime mounts it
	case v.ConfigMap != nil:
		files, err := k.configMapFiles(ctx, pod, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.DefaultMode, v.ConfigMap.Optional)
		if err != nil {
			return renew, err
		}
		return renew, k.writePayload(pod, kindConfigMap, v.Name, files, mounted, false)
	case v.Secret != nil:
		files, err := k.secretFiles(ctx, pod, v.Secret.SecretName, v.Secret.Items, v.Secret.DefaultMode, v.Secret.Optional)
		if err != nil {
			return renew, err
		}
		return renew, k.writePayload(pod, kindSecret, v.Name, files, mounted, true)
	case v.DownwardAPI != nil:
		files, err := k.downwardFiles(ctx, pod, v.DownwardAPI.Items, v.DownwardAPI.DefaultMode)
		if err != nil {
			return renew, err
		}
		return renew, k.writePayload(pod, kindDownward, v.Name, files, mounted, true)
	case v.Projected != nil:
		files := map[string]file{}
		for i := range v.Projected.Sources {
			more, at, err := k.projectedFiles(ctx, pod, v, i)
			if err != nil {
				return renew, err
			}
			maps.Copy(files, more)
			renew = earlier(renew, at)
		}
		return renew, k.writePayload(pod, kindProjected, v.Name, files, mounted, true)
	}
	return renew, errors.New("no volume plugin matched: only emptyDir, hostPath, configMap, secret, downwardAPI, projected, persistentVolumeClaim, ephemeral, csi, nfs, iscsi, fc and image volumes are supported")
}

// file of a volume.
type file struct {
	data []byte
	mode fs.FileMode
	// owner is the user that the file belongs to; -1 leaves it.
	owner int
}

const defaultMode = 0o644

func modeOf(item, whole *int32) fs.FileMode {
	switch {
	case item != nil:
		return fs.FileMode(*item)
	case whole != nil:
		return fs.FileMode(*whole)
	}
	return defaultMode
}

// pick takes all keys, or those of items under their paths.
func pick(data map[string][]byte, items []corev1.KeyToPath, mode *int32, optional bool, what string) (map[string]file, error) {
	files := map[string]file{}
	if len(items) == 0 {
		for key, v := range data {
			files[key] = file{v, modeOf(nil, mode), -1}
		}
		return files, nil
	}
	for _, item := range items {
		v, ok := data[item.Key]
		if !ok {
			if optional {
				continue
			}
			return nil, fmt.Errorf("%s references non-existent key: %s", what, item.Key)
		}
		files[item.Path] = file{v, modeOf(item.Mode, mode), -1}
	}
	return files, nil
}

func (k *Kubelet) configMapFiles(ctx context.Context, pod *corev1.Pod, name string, items []corev1.KeyToPath, mode *int32, optional *bool) (map[string]file, error) {
	may := optional != nil && *optional
	cm, err := k.objects.configMaps.GetObject(ctx, pod.Namespace, name)
	if err != nil {
		if may && apierrors.IsNotFound(err) {
			return map[string]file{}, nil
		}
		return nil, err
	}
	data := map[string][]byte{}
	for key, v := range cm.Data {
		data[key] = []byte(v)
	}
	for key, v := range cm.BinaryData {
		data[key] = v
	}
	return pick(data, items, mode, may, "configmap")
}

func (k *Kubelet) secretFiles(ctx context.Context, pod *corev1.Pod, name string, items []corev1.KeyToPath, mode *int32, optional *bool) (map[string]file, error) {
	may := optional != nil && *optional
	s, err := k.objects.secrets.GetObject(ctx, pod.Namespace, name)
	if err != nil {
		if may && apierrors.IsNotFound(err) {
			return map[string]file{}, nil
		}
		return nil, err
	}
	return pick(s.Data, items, mode, may, "secret")
}

func (k *Kubelet) downwardFiles(ctx context.Context, pod *corev1.Pod, items []corev1.DownwardAPIVolumeFile, mode *int32) (map[string]file, error) {
	files := map[string]file{}
	for _, item := range items {
		var text string
		var err error
		switch {
		case item.FieldRef != nil:
			text, err = k.podField(ctx, pod, item.FieldRef.FieldPath, nil)
		case item.ResourceFieldRef != nil:
			text, err = resourceField(pod, &corev1.Container{}, item.ResourceFieldRef, k.node.allocatable())
		}
		if err != nil {
			return nil, err
		}
		files[item.Path] = file{[]byte(text), modeOf(item.Mode, mode), -1}
	}
	return files, nil
}

// projectedFiles are those of one source of a projected volume. renew is when a token in them must be
// replaced; zero means never. A source of nothing has no files: the API server removes those that it does not
// have.
func (k *Kubelet) projectedFiles(ctx context.Context, pod *corev1.Pod, v *corev1.Volume, source int) (files map[string]file, renew time.Time, err error) {
	s, mode := &v.Projected.Sources[source], v.Projected.DefaultMode
	switch {
	case s.ConfigMap != nil:
		files, err = k.configMapFiles(ctx, pod, s.ConfigMap.Name, s.ConfigMap.Items, mode, s.ConfigMap.Optional)
	case s.Secret != nil:
		files, err = k.secretFiles(ctx, pod, s.Secret.Name, s.Secret.Items, mode, s.Secret.Optional)
	case s.DownwardAPI != nil:
		files, err = k.downwardFiles(ctx, pod, s.DownwardAPI.Items, mode)
	case s.ServiceAccountToken != nil:
		t := s.ServiceAccountToken
		seconds := int64(3600)
		if t.ExpirationSeconds != nil {
			seconds = *t.ExpirationSeconds
		}
		var text string
		text, renew, err = k.tokens.get(ctx, pod, t.Audience, seconds)
		files = map[string]file{t.Path: privateFile(pod, []byte(text), mode)}
	case s.ClusterTrustBundle != nil:
		var anchors []byte
		anchors, err = k.bundles.anchors(ctx, s.ClusterTrustBundle)
		files = map[string]file{s.ClusterTrustBundle.Path: privateFile(pod, anchors, mode)}
	case s.PodCertificate != nil:
		files, err = k.certificates.files(pod, projection{v.Name, source}, s.PodCertificate, mode)
	}
	return files, renew, err
}

// privateFile is a file for the user that all containers of a pod run as and for the pod's group, or of the
// volume's mode if there is neither.
func privateFile(pod *corev1.Pod, data []byte, mode *int32) file {
	f := file{data, 0o600, onlyUser(pod)}
	if sec := pod.Spec.SecurityContext; f.owner < 0 && (sec == nil || sec.FSGroup == nil) {
		f.mode = modeOf(nil, mode)
	}
	return f
}

// onlyUser is the user all containers run as, -1 if there is no such one.
func onlyUser(pod *corev1.Pod) int {
	uid := int64(-1)
	for c := range allContainers(pod) {
		var u *int64
		if pod.Spec.SecurityContext != nil {
			u = pod.Spec.SecurityContext.RunAsUser
		}
		if c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil {
			u = c.SecurityContext.RunAsUser
		}
		if u == nil || uid >= 0 && *u != uid {
			return -1
		}
		uid = *u
	}
	return int(uid)
}

// writePayload makes a volume hold files. Secret content stays in memory where the system has tmpfs.
func (k *Kubelet) writePayload(pod *corev1.Pod, kind, name string, files map[string]file, mounted, secret bool) error {
	dir := k.volumeDir(pod.UID, kind, name)
	if !mounted {
		if err := makeDir(dir, 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o777)
		if secret {
			if err := k.inMemory(dir, k.memorySize(pod, nil)); err != nil {
				return err
			}
			mode |= fs.ModeSticky
		}
		if err := k.ownBy(kind, dir, pod, mode); err != nil {
			return err
		}
		if err := k.noteMade(pod.UID, "wrapped_"+name); err != nil {
			return err
		}
	}
	group := -1
	if sec := pod.Spec.SecurityContext; sec != nil && sec.FSGroup != nil {
		group = int(*sec.FSGroup)
	}
	return swapFiles(dir, files, group)
}

// noteMade lets the real kubelet, in the place of this one, find that the folder of a volume is made. It
// would mount another file system over it.
func (k *Kubelet) noteMade(uid types.UID, name string) error {
	dir := filepath.Join(k.podDir(uid), "plugins", "kubernetes.io~"+kindEmptyDir, name)
	if err := makeDir(dir, 0o750); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "ready"), os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	return f.Close()
}

// memorySize is how many bytes a volume in memory may hold: what all pods may have, or the memory limit of
// the pod or the limit of the volume, if that is less.
func (k *Kubelet) memorySize(pod *corev1.Pod, limit *resource.Quantity) int64 {
	all := k.node.allocatable()[corev1.ResourceMemory]
	size := all.Value()
	least := func(n int64) {
		if n > 0 && (size <= 0 || n < size) {
			size = n
		}
	}
	least(k.limits.pod(pod).GetMemoryLimitInBytes())
	if limit != nil {
		least(limit.Value())
	}
	return size
}

// inMemory makes a folder one in memory. Where this process may not mount, that fails unless the options
// allow the disk for it.
func (k *Kubelet) inMemory(dir string, size int64) error {
	err := k.mounts.tmpfs(dir, size)
	if errors.Is(err, errNoMounts) && k.opts.DiskForMemory {
		return nil
	}
	return err
}

// inHugePages makes a folder one of huge pages.
func (k *Kubelet) inHugePages(pod *corev1.Pod, e *corev1.EmptyDirVolumeSource, dir string) error {
	page, err := hugePagesOf(pod, e.Medium)
	if err != nil {
		return err
	}
	size := int64(0)
	if e.SizeLimit != nil {
		size = e.SizeLimit.Value()
	}
	return k.mounts.hugePages(dir, page, size)
}

// ownBy gives the folder of a volume of a kind to the pod's group, if it has one.
func (k *Kubelet) ownBy(kind, dir string, pod *corev1.Pod, mode fs.FileMode) error {
	if err := os.Chmod(dir, mode); err != nil {
		return err
	}
	group, ok := volume.GroupOf(pod)
	if !ok {
		return nil
	}
	began := time.Now()
	err := os.Chown(dir, -1, int(group))
	if err == nil {
		err = os.Chmod(dir, mode|fs.ModeSetgid)
	}
	k.metrics.done("kubernetes.io/"+kind, volume.GroupOperation, began, err)
	return err
}

func checkHostPath(h *corev1.HostPathVolumeSource) error {
	kind := corev1.HostPathUnset
	if h.Type != nil {
		kind = *h.Type
	}
	info, err := os.Stat(h.Path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	wrong := func(what string) error {
		return fmt.Errorf("hostPath type check failed: %s is not %s", h.Path, what)
	}
	switch kind {
	case corev1.HostPathUnset:
		return nil // the runtime makes a folder if nothing is there
	case corev1.HostPathDirectoryOrCreate:
		if missing {
			return os.MkdirAll(h.Path, 0o755)
		}
		fallthrough
	case corev1.HostPathDirectory:
		if missing || !info.IsDir() {
			return wrong("a directory")
		}
	case corev1.HostPathFileOrCreate:
		if missing {
			f, err := os.OpenFile(h.Path, os.O_CREATE|os.O_WRONLY, 0o644)
			if err == nil {
				err = f.Close()
			}
			return err
		}
		fallthrough
	case corev1.HostPathFile:
		if missing || !info.Mode().IsRegular() {
			return wrong("a file")
		}
	case corev1.HostPathSocket:
		if missing || info.Mode()&fs.ModeSocket == 0 {
			return wrong("a socket file")
		}
	case corev1.HostPathCharDev:
		if missing || info.Mode()&fs.ModeCharDevice == 0 {
			return wrong("a character device")
		}
	case corev1.HostPathBlockDev:
		if missing || info.Mode()&fs.ModeDevice == 0 || info.Mode()&fs.ModeCharDevice != 0 {
			return wrong("a block device")
		}
	}
	return nil
}

// volumeSource is the path on the node of a pod's volume.
func (k *Kubelet) volumeSource(pod *corev1.Pod, name string) (path string, readOnly bool, err error) {
	i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if i < 0 {
		return "", false, fmt.Errorf("volume %q is not in the pod", name)
	}
	switch v := &pod.Spec.Volumes[i]; {
	case driven(v):
		at, err := k.volumes.State(pod.UID, name)
		claim := v.PersistentVolumeClaim
		return at.Path, at.ReadOnly || claim != nil && claim.ReadOnly, err
	case v.HostPath != nil:
		return v.HostPath.Path, false, nil
	case v.Image != nil:
		return "", true, nil
	case v.EmptyDir != nil:
		return k.volumeDir(pod.UID, kindEmptyDir, name), false, nil
	case v.ConfigMap != nil:
		return k.volumeDir(pod.UID, kindConfigMap, name), true, nil
	case v.Secret != nil:
		return k.volumeDir(pod.UID, kindSecret, name), true, nil
	case v.DownwardAPI != nil:
		return k.volumeDir(pod.UID, kindDownward, name), true, nil
	default:
		return k.volumeDir(pod.UID, kindProjected, name), true, nil
	}
}

// unmount takes the volumes of a pod that has stopped down; emptyDirs lose their content.
func (w *worker) unmount() error {
	w.refresher.Swap(nil).stop()
	w.k.certificates.forget(w.uid)
	pod, _ := w.desired()
	if gone, err := w.k.takeVolumesDown(pod); err != nil {
		return err
	} else if !gone {
		return delayed{errVolumes, w.k.opts.SyncInterval} // the last one that goes wakes the worker
	}
	began := time.Now()
	err := w.removeVolumes()
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; w.mounted[v.Name] {
			w.k.metrics.done(pluginOf(v), "volume_unmount", began, err)
		}
	}
	if err != nil {
		return err
	}
	clear(w.mounted)
	w.k.made.remove(w.uid)
	w.k.ids.release(w.uid)
	return nil
}

// removeVolumes removes the pod's volumes that need no driver.
func (w *worker) removeVolumes() error {
	dir := w.k.podDir(w.uid)
	if err := w.k.unmountBelow(dir); err != nil {
		return err
	}
	for _, folder := range []string{"volumes", subPathFolder} {
		if err := w.k.mounts.remove(filepath.Join(dir, folder)); err != nil {
			return err
		}
	}
	return nil
}

// unmountBelow unmounts everything mounted below a folder, the deepest first.
func (k *Kubelet) unmountBelow(dir string) error {
	points, err := k.mounts.below(dir)
	if err != nil {
		return err
	}
	slices.SortFunc(points, func(a, b string) int { return len(b) - len(a) })
	for _, p := range points {
		if err := k.mounts.unmount(p); err != nil {
			return fmt.Errorf("unmount %s: %w", p, err)
		}
	}
	return nil
}
