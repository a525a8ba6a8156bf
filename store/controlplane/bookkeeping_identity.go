package controlplane

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/peers"
	"github.com/keelson-dev/keelson/store/registry"
)

// The lease of a server is renewed every ten seconds and says that it is valid for an hour. Once an hour each
// server deletes those of others that are no longer valid.
const (
	identityRenewal  = 10 * time.Second
	identityValid    = time.Hour
	identityCleaning = time.Hour
)

var leasesResource = coordinationv1.GroupVersion.WithResource("leases")

// identity keeps the lease by which one server says that it runs.
type identity struct {
	server *apiserver.Server
	opts   BookkeepingOptions
	key    types.NamespacedName
	holder string
}

func newIdentity(s *apiserver.Server, o BookkeepingOptions) *identity {
	name := o.IdentityName()
	return &identity{server: s, opts: o, key: types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: name}, holder: name + "_" + rand.Text()}
}

// identityName is the name that a server of Kubernetes on the host has.
func identityName(hostname string) string {
	var text []byte
	for _, part := range []string{hostname, peers.Component} {
		text = append(binary.BigEndian.AppendUint16(text, uint16(len(part))), part...)
	}
	sum := sha256.Sum256(text)
	return "apiserver-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// run keeps the lease until ctx ends, and then deletes it.
func (i *identity) run(ctx context.Context) {
	if i.server.Registry().Resource(leasesResource) == nil {
		return
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	tasks.Go(func() {
		_ = backoff.Poll(ctx, identityCleaning, func(ctx context.Context) (bool, error) { // ends with ctx
			if err := i.clean(ctx); err != nil && ctx.Err() == nil {
				i.server.Logger().Warn("deleting leases of servers that ended failed", "err", err)
			}
			return false, nil
		})
	})
	_ = backoff.Poll(ctx, identityRenewal, func(ctx context.Context) (bool, error) { // ends with ctx
		if err := i.renew(ctx); err != nil && ctx.Err() == nil {
			i.server.Logger().Warn("renewing the lease of this server failed", "lease", i.key.Name, "err", err)
		}
		return false, nil
	})
	i.release(context.WithoutCancel(ctx))
}

// renew writes the lease. That of an earlier process of the host becomes this one's.
func (i *identity) renew(ctx context.Context) error {
	hold := func(obj metav1.Object) error {
		lease := obj.(*coordinationv1.Lease)
		setLabel(&lease.ObjectMeta, peers.IdentityLabel, peers.Component)
		setLabel(&lease.ObjectMeta, corev1.LabelHostname, i.opts.Hostname)
		if i.opts.PeerAddress != "" {
			if lease.Annotations == nil {
				lease.Annotations = map[string]string{}
			}
			lease.Annotations[corev1.AnnotationPeerAdvertiseAddress] = i.opts.PeerAddress
		}
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &i.holder, new(int32(identityValid/time.Second))
		lease.Spec.RenewTime = new(metav1.NowMicro())
		return nil
	}
	_, err := i.server.Access().Update(ctx, leasesResource, i.key, hold, registry.Write{FieldManager: "kube-apiserver"})
	if !apierrors.IsNotFound(err) {
		return err
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: i.key.Namespace, Name: i.key.Name}}
	_ = hold(lease)
	_, err = i.server.Access().Create(ctx, leasesResource, lease, registry.Write{FieldManager: "kube-apiserver"})
	return err
}

// release deletes the lease unless another process of the host holds it.
func (i *identity) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, withdrawTimeout)
	defer cancel()
	obj, err := i.server.Access().GetLatest(ctx, leasesResource, i.key)
	if err == nil {
		if lease := obj.(*coordinationv1.Lease); lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != i.holder {
			return
		}
		err = i.remove(ctx, obj)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		i.server.Logger().Warn("the lease of this server was not deleted and expires by itself", "lease", i.key.Name, "err", err)
	}
}

// clean deletes the leases of servers that have not renewed them for as long as they say. Of one that has
// been renewed meanwhile nothing is deleted.
func (i *identity) clean(ctx context.Context) error {
	all, err := i.server.Access().List(ctx, leasesResource, i.key.Namespace, labels.SelectorFromSet(map[string]string{peers.IdentityLabel: peers.Component}))
	if err != nil {
		return err
	}
	for _, obj := range all {
		if stillValid(obj.(*coordinationv1.Lease), time.Now()) {
			continue
		}
		if err := i.remove(ctx, obj); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// stillValid reports whether a lease is valid. One without times is not: no server wrote it.
func stillValid(l *coordinationv1.Lease, now time.Time) bool {
	return l.Spec.RenewTime != nil && l.Spec.LeaseDurationSeconds != nil &&
		!l.Spec.RenewTime.Add(time.Duration(*l.Spec.LeaseDurationSeconds)*time.Second).Before(now)
}

// remove deletes a lease if it is as it was read.
func (i *identity) remove(ctx context.Context, read metav1.Object) error {
	uid, revision := metav1.MetaOf(read).UID, read.GetResourceVersion()
	return i.server.Access().Delete(ctx, leasesResource, metav1.KeyOf(read),
		&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &revision}}, registry.Write{})
}
