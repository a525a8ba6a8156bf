package resourcequota

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/informers"
)

// devices are the copies of what quotas of ResourceClaims need. They begin with the first such quota: few
// clusters have one.
type devices struct {
	begun   bool
	claims  informers.Lister[*resourcev1.ResourceClaim]
	forPods informers.Index[*resourcev1.ResourceClaim]
	classes informers.Lister[*resourcev1.DeviceClass]
	synced  func(context.Context) error
}

// forPods files the claims that have been made for the extended resources of pods under their namespace.
var forPods = informers.DefineIndex("resourcequota.forpods", func(c *resourcev1.ResourceClaim) []string {
	if !quota.IsForPod(c) {
		return nil
	}
	return []string{c.Namespace}
})

// claimsOf returns what the usage of the ResourceClaims of a namespace depends on; nil if they are not
// served.
func (q *quotas) claimsOf(ctx context.Context, namespace string) (*quota.Claims, error) {
	served, err := q.served(ctx, resourceClaims)
	if served == nil {
		return nil, err
	}
	q.beginDevices()
	if err := q.devices.synced(ctx); err != nil {
		return nil, err
	}
	inUse := &quota.Claims{
		Pod: func(name string) *corev1.Pod {
			pod, err := q.pods.Get(types.NamespacedName{Namespace: namespace, Name: name})
			if err != nil {
				return nil
			}
			return pod
		},
		Others: func() (all []*resourcev1.ResourceClaim, ok bool) {
			err := q.devices.forPods.View(namespace, func(c *resourcev1.ResourceClaim) bool { all = append(all, c); return true })
			return all, err == nil
		}}
	err = q.devices.classes.ViewAll(informers.ListOptions{}, func(c *resourcev1.DeviceClass) bool {
		inUse.Classes = append(inUse.Classes, c)
		return true
	})
	return inUse, err
}

// beginDevices begins to keep the copies, once. Quotas that were counted without them are counted one by one
// again, because the tally may not have all claims yet.
func (q *quotas) beginDevices() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.devices.begun {
		return
	}
	claims, classes := informers.For[*resourcev1.ResourceClaim](q.set), informers.For[*resourcev1.DeviceClass](q.set)
	q.devices = devices{begun: true, claims: claims.Lister(), forPods: claims.Index(forPods), classes: classes.Lister(),
		synced: func(ctx context.Context) error {
			if err := claims.WaitForSync(ctx); err != nil {
				return err
			}
			return classes.WaitForSync(ctx)
		}}
	count := tallied[*resourcev1.ResourceClaim](&q.tally, deviceClaims, q.of)
	claims.AddHandler(func(e informers.Event[*resourcev1.ResourceClaim]) {
		for _, req := range count(e) {
			q.enqueue(req)
		}
	}, informers.HandlerOptions{})
	clear(q.looked)
}
