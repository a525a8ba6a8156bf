// Package candidate keeps a LeaseCandidate (coordination.k8s.io/v1beta1), by which a process takes part in a
// coordinated leader election: the API server gives the Lease to one of its candidates, by default to the one
// that emulates the oldest version, so that versions of a component that differ are upgraded in order. The
// process also runs an elector on the Lease with leaderelection.Options.Coordinated and the candidate's name
// as identity.
//
// The API is beta and disabled by default: the server needs the feature CoordinatedLeaderElection and
// coordination.k8s.io/v1beta1. The user of a candidate needs the verbs get, create, update, watch and delete
// on leasecandidates in its namespace, and those of package leaselock on the Lease.
package candidate

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// renewal is how often the candidate gives a sign of life that nothing requested; the server deletes it half
// an hour after the last one.
const renewal = 5 * time.Minute

// retry is the time between two tries of what fails, half of it random. An election of the server waits for
// five seconds.
const retry = 2 * time.Second

// goodbye limits the deletion of the candidate when Run ends.
const goodbye = 5 * time.Second

// Options configure a Candidate.
type Options struct {
	// BinaryVersion is the semantic version of the program, such as "1.36.0". Required.
	BinaryVersion string
	// EmulationVersion is the semantic version that it emulates; empty means BinaryVersion.
	EmulationVersion string
	// Strategy for choosing the holder; empty means OldestEmulationVersion.
	Strategy coordinationv1.CoordinatedLeaseStrategy
	// Logger logs failed requests, which are tried again; nil discards.
	Logger *slog.Logger
}

// Candidate keeps one LeaseCandidate. Create it with New.
type Candidate struct {
	key     types.NamespacedName
	lease   string
	opts    Options
	objects *client.Client[*coordinationv1beta1.LeaseCandidate]
}

// New returns the candidate named key for the Lease of that name in its namespace. key.Name is the identity
// of the process in the election: no two processes may have the same.
func New(conn client.Conn, key types.NamespacedName, lease string, opts Options) (*Candidate, error) {
	if opts.EmulationVersion == "" {
		opts.EmulationVersion = opts.BinaryVersion
	}
	if opts.Strategy == "" {
		opts.Strategy = coordinationv1.OldestEmulationVersion
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	gv := coordinationv1beta1.GroupVersion
	c := &Candidate{key: key, lease: lease, opts: opts, objects: client.ForResource[*coordinationv1beta1.LeaseCandidate](conn,
		client.Resource{GVR: gv.WithResource("leasecandidates"), GVK: gv.WithKind("LeaseCandidate"), Namespaced: true})}
	o := c.object()
	if errs := coordinationv1beta1.ValidateLeaseCandidate(o); len(errs) > 0 {
		return nil, fmt.Errorf("candidate: %s: %w", key, errs[0])
	}
	return c, nil
}

// Run creates the LeaseCandidate and gives signs of life until ctx ends, when it deletes it. It returns nil
// then, and tries again what fails.
func (c *Candidate) Run(ctx context.Context) error {
	defer c.leave(ctx)
	for ctx.Err() == nil {
		now, err := c.renew(ctx)
		if err == nil {
			err = c.await(ctx, now)
		}
		if err != nil && ctx.Err() == nil {
			c.opts.Logger.Warn("keep lease candidate failed", "candidate", c.key.String(), "err", err)
			_ = backoff.Sleep(ctx, retry/2+backoff.Spread(ctx, retry/2)) // its end ends the loop
		}
	}
	return nil
}

// await returns when the candidate is due: after the period, by a request of the server, or if it was
// deleted.
func (c *Candidate) await(ctx context.Context, now *coordinationv1beta1.LeaseCandidate) error {
	wait, cancel := context.WithTimeout(ctx, renewal)
	defer cancel()
	events := c.objects.Watch(wait, client.WatchOptions{Namespace: c.key.Namespace, FieldSelector: fields.OneEqual("metadata.name", c.key.Name), ResourceVersion: now.ResourceVersion})
	for e, err := range events {
		switch {
		case apierrors.IsExpired(err):
			return nil // what happened meanwhile is read by renew
		case err != nil:
			return err
		case e.Type == client.Deleted, (e.Type == client.Added || e.Type == client.Modified) && e.Object.Pinged():
			return nil
		}
	}
	return nil // after the period, or when the server has ended the watch
}

// renew writes a sign of life.
func (c *Candidate) renew(ctx context.Context) (*coordinationv1beta1.LeaseCandidate, error) {
	now, err := c.objects.Get(ctx, c.key)
	switch {
	case apierrors.IsNotFound(err):
		return c.objects.Create(ctx, c.object())
	case err != nil:
		return nil, err
	}
	changed := codec.DeepCopy(now)
	changed.Spec = c.object().Spec
	changed.Spec.PingTime = now.Spec.PingTime
	if changed.Pinged() {
		// The clock of the server is ahead: an answer is not before its request.
		changed.Spec.RenewTime = changed.Spec.PingTime
	}
	return c.objects.Update(ctx, changed)
}

func (c *Candidate) object() *coordinationv1beta1.LeaseCandidate {
	now := metav1.NewMicroTime(time.Now())
	return &coordinationv1beta1.LeaseCandidate{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.key.Namespace, Name: c.key.Name},
		Spec: coordinationv1beta1.LeaseCandidateSpec{LeaseName: c.lease, RenewTime: &now, BinaryVersion: c.opts.BinaryVersion,
			EmulationVersion: c.opts.EmulationVersion, Strategy: c.opts.Strategy},
	}
}

// leave deletes the candidate, so that the server does not wait for it.
func (c *Candidate) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if err := c.objects.Delete(ctx, c.key); apierrors.IgnoreNotFound(err) != nil {
		c.opts.Logger.Warn("delete lease candidate failed; the server deletes it in half an hour", "candidate", c.key.String(), "err", err)
	}
}
