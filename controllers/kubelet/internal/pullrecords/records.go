// Package pullrecords keeps which credentials the images of a node were pulled with, so that an image of a
// registry that requires credentials is used only by pods that have them. The files have the names and the
// form of those of the upstream kubelet 1.36, k8s.io/kubernetes/pkg/kubelet/images/pullmanager.
//
// A pull is announced by a file before it begins, and the file is removed after the credentials have been
// written. Wherever the kubelet is killed in between, the image is known to have been pulled, perhaps with
// credentials that are not known, which every pod must then prove to have.
package pullrecords

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/registryauth"
)

// Verdict says why an image may be used by a pod, or must be pulled with the pod's credentials first.
type Verdict string

// The verdicts, with the names of upstream's metric. With the first two the image may be used.
const (
	Unverified Verdict = "credentialPolicyAllowed"
	Recorded   Verdict = "credentialRecordFound"
	Unknown    Verdict = "mustAuthenticate"
	Failed     Verdict = "error"
)

// Usable reports whether the image may be used without a pull.
func (v Verdict) Usable() bool { return v == Unverified || v == Recorded }

// mostSecrets bounds what is added to a record without a pull, when pods come with the same credentials in
// other Secrets.
const mostSecrets = 100

// Settings of records.
type Settings struct {
	// Dir is the folder of the files, which is made when there is something to write.
	Dir string
	// Images lists those of the runtime.
	Images func(context.Context) ([]*cri.Image, error)
	// Verifies reports whether pods need credentials for an image that is present; pulled is whether it was
	// pulled by this kubelet or one before it.
	Verifies func(image string, pulled bool) bool
	Log      *slog.Logger
}

// Records are those of one node. Safe for concurrent use.
type Records struct {
	Settings
	write  func(path string, b []byte) error
	remove func(path string) error

	mu      sync.Mutex
	pulling map[string]int // by image: pulls that are under way
	// left are the files of pulls whose end is not awaited: those that an earlier kubelet began, and
	// those without an answer. The value is the reference that the image had before, empty if that is not
	// known.
	left map[string]string
}

// New returns the records of a folder.
func New(s Settings) (*Records, error) {
	r := &Records{Settings: s, write: write, remove: remove, pulling: map[string]int{}, left: map[string]string{}}
	names, err := list(r.intents())
	for _, name := range names {
		r.left[name] = ""
	}
	return r, err
}

func (r *Records) intents() string { return filepath.Join(r.Dir, "pulling") }
func (r *Records) pulled() string  { return filepath.Join(r.Dir, "pulled") }

// Begin announces a pull. [Records.Done], [Records.Fail] or [Records.Abandon] must follow. After an error the
// image must not be pulled.
func (r *Records) Begin(image string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pulling[image] == 0 {
		b, err := encode(&intent{TypeMeta: typeOf(intentKind), Image: image})
		if err != nil {
			return err
		}
		if err := r.write(filepath.Join(r.intents(), fileName(image)), b); err != nil {
			return err
		}
	}
	r.pulling[image]++
	return nil
}

// Fail ends a pull that brought nothing.
func (r *Records) Fail(image string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(image)
}

// Abandon ends a pull that may bring the image yet, or has done so without an answer. before is the reference
// that the image had, empty if it was not there.
func (r *Records) Abandon(image, before string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abandon(image, before)
}

func (r *Records) abandon(image, before string) {
	r.left[fileName(image)] = before
	if r.pulling[image]--; r.pulling[image] == 0 {
		delete(r.pulling, image)
	}
}

// Done ends a pull that brought the image with the reference; c is what it was pulled with, nil if without
// credentials. If that cannot be written, the image stays one whose credentials are not known.
func (r *Records) Done(image, ref string, c *registryauth.Credential) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.add(image, ref, rightsOf(c)); err != nil {
		r.Log.Warn("write the record of a pulled image failed", "image", image, "ref", ref, "err", err)
		r.abandon(image, "")
		return
	}
	r.end(image)
}

// end removes the announcement of the last pull of an image.
func (r *Records) end(image string) {
	if r.pulling[image]--; r.pulling[image] > 0 {
		return
	}
	delete(r.pulling, image)
	name := fileName(image)
	if _, left := r.left[name]; left {
		return // of another pull, which may bring the image yet
	}
	if err := r.remove(filepath.Join(r.intents(), name)); err != nil {
		r.Log.Warn("remove the announcement of a pull failed", "image", image, "err", err)
		r.left[name] = ""
	}
}

// Check returns whether a pod may use an image that is present with a reference. credentials returns those
// that the pod could pull it with, and is called at most once, if they count.
func (r *Records) Check(ctx context.Context, image, ref string, credentials func() []registryauth.Credential) Verdict {
	images := r.leftImages(ctx)
	r.mu.Lock()
	r.settle(images)
	rec, known, err := r.load(ref)
	announced := false
	if err == nil && !known {
		announced, err = r.announced(image)
	}
	r.mu.Unlock()
	if err != nil {
		r.Log.Warn("read the record of a pulled image failed; pods need credentials for it", "image", image, "ref", ref, "err", err)
		return Failed
	}
	if !r.Verifies(image, known || announced) {
		return Unverified
	}
	if !known {
		return Unknown
	}
	have, ok := rec.CredentialMapping[Trim(image)]
	switch {
	case ok && have.NodePodsAccessible:
		return Recorded
	case !ok || len(have.KubernetesSecrets) == 0 && len(have.KubernetesServiceAccounts) == 0:
		return Unknown
	}
	for _, c := range credentials() {
		match, changed := have.match(&c)
		if !match {
			continue
		}
		if changed && len(have.KubernetesSecrets) < mostSecrets {
			r.mu.Lock()
			err := r.add(image, ref, rightsOf(&c))
			r.mu.Unlock()
			if err != nil {
				r.Log.Warn("write the record of a pulled image failed", "image", image, "ref", ref, "err", err)
			}
		}
		return Recorded
	}
	return Unknown
}

// announced reports whether a pull of an image is under way or was when an earlier kubelet was killed.
func (r *Records) announced(image string) (bool, error) {
	if r.pulling[image] > 0 {
		return true, nil
	}
	return exists(filepath.Join(r.intents(), fileName(image)))
}

// Prune removes the records of images that are not among those of the runtime, which were listed after a
// time.
func (r *Records) Prune(images []*cri.Image, listed time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(images)
	kept := map[string]bool{}
	for _, i := range images {
		kept[fileName(i.Id)] = true
	}
	names, err := list(r.pulled())
	errs := []error{err}
	for _, name := range names {
		if kept[name] {
			continue
		}
		rec, err := read(filepath.Join(r.pulled(), name))
		if err == nil && !rec.LastUpdatedTime.Time.Before(listed.Truncate(time.Second)) {
			continue // it was pulled meanwhile; files have whole seconds
		}
		errs = append(errs, r.remove(filepath.Join(r.pulled(), name)))
	}
	for name := range r.left {
		path := filepath.Join(r.intents(), name)
		if at, err := os.Lstat(path); err == nil && time.Since(at.ModTime()) < longestPull || r.pulling[imageOf(path)] > 0 {
			continue
		}
		if err := r.remove(path); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(r.left, name)
	}
	return errors.Join(errs...)
}

// longestPull is how long a pull of which nothing is known may still bring its image.
const longestPull = time.Hour

// Counts returns how many announced pulls and pulled images have files.
func (r *Records) Counts() (announced, pulled int, err error) {
	a, err1 := list(r.intents())
	p, err2 := list(r.pulled())
	return len(a), len(p), errors.Join(err1, err2)
}

// leftImages returns the images of the runtime if there is something to settle. It holds no lock, because the
// runtime may take its time.
func (r *Records) leftImages(ctx context.Context) []*cri.Image {
	r.mu.Lock()
	n := len(r.left)
	r.mu.Unlock()
	if n == 0 {
		return nil
	}
	images, err := r.Images(ctx)
	if err != nil {
		r.Log.Info("list images failed; pulls without an end are looked at later", "err", err)
	}
	return images
}

// settle makes records without credentials of the pulls whose end was not awaited and whose image is there,
// so that it does not count as brought by others, whatever names it has.
func (r *Records) settle(images []*cri.Image) {
	for name, before := range r.left {
		path := filepath.Join(r.intents(), name)
		image := imageOf(path)
		ended := slices.IndexFunc(images, func(i *cri.Image) bool {
			return slices.ContainsFunc(slices.Concat(i.RepoTags, i.RepoDigests), func(have string) bool {
				return fileName(have) == name || image != "" && full(have) == full(image)
			})
		})
		if ended < 0 || r.pulling[image] > 0 {
			continue
		}
		var err error
		if id := images[ended].Id; id != before || before == "" {
			err = r.add(image, id, rights{})
		}
		if err == nil {
			err = r.remove(path)
		}
		if err != nil {
			r.Log.Warn("write the record of a pulled image failed", "image", image, "err", err)
			continue
		}
		delete(r.left, name)
	}
}

// load returns the record of an image; known is false if there is none.
func (r *Records) load(ref string) (rec *record, known bool, err error) {
	rec, err = read(filepath.Join(r.pulled(), fileName(ref)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return rec, err == nil, err
}

// add adds rights to the record of an image. A record that cannot be read is replaced.
func (r *Records) add(image, ref string, more rights) error {
	rec, known, err := r.load(ref)
	if err != nil {
		r.Log.Warn("the record of a pulled image cannot be read and is replaced", "image", image, "ref", ref, "err", err)
	}
	if !known {
		rec = &record{ImageRef: ref}
	}
	name := Trim(image)
	have, mapped := rec.CredentialMapping[name]
	merged, changed := have.merge(&more)
	if known && (!changed || mapped && have.NodePodsAccessible) {
		return nil
	}
	if changed {
		if rec.CredentialMapping == nil {
			rec.CredentialMapping = map[string]rights{}
		}
		rec.CredentialMapping[name] = merged
	}
	rec.TypeMeta, rec.LastUpdatedTime = typeOf(recordKind), metav1.Now()
	b, err := encode(rec)
	if err != nil {
		return err
	}
	return r.write(filepath.Join(r.pulled(), fileName(ref)), b)
}

// rightsOf are those of the pods that have a credential; nil is none.
func rightsOf(c *registryauth.Credential) rights {
	switch {
	case c == nil || c.Source.Kind == registryauth.Node:
		return rights{NodePodsAccessible: true}
	case c.Source.Kind == registryauth.ServiceAccount:
		return rights{KubernetesServiceAccounts: []account{{c.Source.UID, c.Source.Namespace, c.Source.Name}}}
	}
	return rights{KubernetesSecrets: []secret{{account{c.Source.UID, c.Source.Namespace, c.Source.Name}, c.Hash()}}}
}

// match reports whether a credential gives the rights, by the same content, or by the same object, which may
// have other content by now; changed is whether it is not recorded as it is.
func (r *rights) match(c *registryauth.Credential) (match, changed bool) {
	of := rightsOf(c)
	switch {
	case len(of.KubernetesServiceAccounts) > 0:
		return slices.Contains(r.KubernetesServiceAccounts, of.KubernetesServiceAccounts[0]), false
	case len(of.KubernetesSecrets) == 0:
		return false, false
	}
	want := of.KubernetesSecrets[0]
	if slices.Contains(r.KubernetesSecrets, want) {
		return true, false
	}
	return slices.ContainsFunc(r.KubernetesSecrets, func(have secret) bool {
		return have.account == want.account || have.CredentialHash != "" && have.CredentialHash == want.CredentialHash
	}), true
}

// merge returns both rights together, and whether they are more than r.
func (r *rights) merge(more *rights) (rights, bool) {
	switch {
	case more.NodePodsAccessible:
		return *more, !r.NodePodsAccessible
	case r.NodePodsAccessible:
		return *r, false
	}
	both, changed := rights{KubernetesSecrets: slices.Clone(r.KubernetesSecrets), KubernetesServiceAccounts: slices.Clone(r.KubernetesServiceAccounts)}, false
	for _, s := range more.KubernetesSecrets {
		if slices.Contains(both.KubernetesSecrets, s) {
			continue
		}
		both.KubernetesSecrets = append(slices.DeleteFunc(both.KubernetesSecrets, func(o secret) bool { return o.account == s.account }), s)
		changed = true
	}
	for _, a := range more.KubernetesServiceAccounts {
		if !slices.Contains(both.KubernetesServiceAccounts, a) {
			both.KubernetesServiceAccounts, changed = append(both.KubernetesServiceAccounts, a), true
		}
	}
	slices.SortFunc(both.KubernetesSecrets, func(a, b secret) int { return a.compare(b.account) })
	slices.SortFunc(both.KubernetesServiceAccounts, account.compare)
	return both, changed
}

func (a account) compare(b account) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
