package kubelet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pullrecords"
)

// ImageGCPolicy says when images that no container uses are removed.
type ImageGCPolicy struct {
	// HighPercent is the use of the images' file system, in percent, from which on images are removed, the
	// least recently used first, until LowPercent is used. 0 means 85 and 80; a HighPercent of 100 turns it
	// off.
	HighPercent, LowPercent int
	// MinAge is how long an image is kept in any case; 0 means 2 minutes.
	MinAge time.Duration
	// MaxAge is how long an unused image is kept even if there is room; 0 means forever.
	MaxAge time.Duration
	// Interval is the time between looks; 0 means 5 minutes.
	Interval time.Duration
}

func (p ImageGCPolicy) withDefaults() (ImageGCPolicy, error) {
	p.HighPercent, p.LowPercent = cmp.Or(p.HighPercent, 85), cmp.Or(p.LowPercent, 80)
	p.MinAge, p.Interval = cmp.Or(p.MinAge, 2*time.Minute), cmp.Or(p.Interval, 5*time.Minute)
	switch {
	case p.HighPercent < 0 || p.HighPercent > 100 || p.LowPercent < 0 || p.LowPercent > p.HighPercent:
		return p, fmt.Errorf("kubelet: Options.ImageGC: want 0 <= LowPercent <= HighPercent <= 100, got %d and %d", p.LowPercent, p.HighPercent)
	case p.MinAge < 0 || p.MaxAge < 0 || p.MaxAge > 0 && p.MaxAge < p.MinAge:
		return p, fmt.Errorf("kubelet: Options.ImageGC: want 0 <= MinAge <= MaxAge, got %v and %v", p.MinAge, p.MaxAge)
	}
	return p, nil
}

// imageGC removes images that no container uses. Safe for concurrent use.
type imageGC struct {
	ImageGCPolicy
	rt *runtime
	// records of pulls go with their images.
	records *pullrecords.Records
	stats   *stats
	metrics *metrics
	log     *slog.Logger
	event   func(reason, message string) // about the node
	// mounted are images that containers mount.
	mounted func() map[string]bool

	mu    sync.Mutex
	began time.Time
	seen  map[string]imageUse // by id
}

// imageUse is what is remembered of an image.
type imageUse struct {
	first time.Time // zero: it was there before this kubelet
	used  time.Time // when it was last seen in use
}

func newImageGC(k *Kubelet) *imageGC {
	return &imageGC{ImageGCPolicy: k.opts.ImageGC, rt: k.rt, records: k.images.records, stats: k.stats, metrics: k.metrics, log: k.log, seen: map[string]imageUse{}, mounted: k.views.mountedImages,
		event: func(reason, message string) { k.recorder.About(k.node.about(), nil, events.Warning, reason, message) }}
}

func (g *imageGC) run(ctx context.Context) {
	g.mu.Lock()
	g.began = time.Now()
	g.mu.Unlock()
	if _, err := g.unused(ctx, time.Time{}); err != nil && ctx.Err() == nil {
		g.log.Info("list images failed", "err", err)
	}
	tick := time.NewTicker(g.Interval)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := g.collect(ctx)
		if err != nil && ctx.Err() == nil {
			g.log.Warn("remove unused images failed", "err", err)
			if failed { // the first time may come before the runtime has measured
				g.event("ImageGCFailed", err.Error())
			}
		}
		failed = err != nil
	}
}

// collect removes images that are too old, and then as many as there is too little room for.
func (g *imageGC) collect(ctx context.Context) error {
	now := time.Now()
	unused, err := g.unused(ctx, now)
	if err != nil {
		return err
	}
	var errs []error
	if g.MaxAge > 0 && now.Sub(g.began) > g.MaxAge {
		for _, i := range unused {
			if now.Sub(i.idle(g.began)) > g.MaxAge {
				errs = append(errs, g.remove(ctx, i.Image, "age"))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("wanted to free images older than %v, encountered errors in image deletion: %w", g.MaxAge, err)
	}
	if g.HighPercent >= 100 && g.MaxAge == 0 {
		return nil
	}
	sample, err := g.stats.take(ctx)
	if err != nil {
		return err
	}
	capacity, available := sample.Image.Capacity, min(sample.Image.Available, sample.Image.Capacity)
	if capacity == 0 {
		g.event("InvalidDiskCapacity", "invalid capacity 0 on image filesystem")
		return errors.New("invalid capacity 0 on image filesystem")
	}
	used := 100 - int(available*100/capacity)
	if used < g.HighPercent {
		return nil
	}
	wanted := int64(capacity*uint64(100-g.LowPercent)/100) - int64(available)
	freed, err := g.free(ctx, wanted, now)
	if err == nil && freed < wanted {
		text := fmt.Sprintf("Insufficient free disk space on the node's image filesystem (%d%% of %s used). Failed to free sufficient space by deleting unused images (freed %d bytes). "+
			"Investigate disk usage, as it could be used by active images, logs, volumes, or other data.", used, sizeText(capacity), freed)
		g.event("FreeDiskSpaceFailed", text)
		return errors.New(text)
	}
	return err
}

// sizeText is a number of bytes for people.
func sizeText(bytes uint64) string {
	size, unit := float64(bytes), -1
	for size >= 1024 && unit < 3 {
		size /= 1024
		unit++
	}
	if unit < 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGT"[unit])
}

// free removes unused images until so many bytes are freed, and returns how many were.
func (g *imageGC) free(ctx context.Context, wanted int64, now time.Time) (freed int64, err error) {
	unused, err := g.unused(ctx, now)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, i := range unused {
		if freed >= wanted {
			break
		}
		if now.Sub(i.first) < g.MinAge {
			continue
		}
		if err := g.remove(ctx, i.Image, "space"); err != nil {
			errs = append(errs, err)
			continue
		}
		freed += int64(i.Size)
	}
	if err := errors.Join(errs...); err != nil {
		return freed, fmt.Errorf("wanted to free %d bytes, but freed %d bytes space with errors in image deletion: %w", wanted, freed, err)
	}
	return freed, nil
}

// remove removes an image. reason is what the metrics say that it is for.
func (g *imageGC) remove(ctx context.Context, i *cri.Image, reason string) error {
	if _, err := g.rt.images.RemoveImage(ctx, &cri.RemoveImageRequest{Image: &cri.ImageSpec{Image: i.Id}}); err != nil && !isGone(err) {
		return fmt.Errorf("remove image %s: %w", i.Id, err)
	}
	g.metrics.collected.WithLabelValues(reason).Inc()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.seen, i.Id)
	return nil
}

// candidate is an image that may be removed.
type candidate struct {
	*cri.Image
	imageUse
}

// idle is since when the image has not been used.
func (c *candidate) idle(began time.Time) time.Time {
	for _, at := range []time.Time{c.used, c.first} {
		if !at.IsZero() {
			return at
		}
	}
	return began
}

// unused returns the images that no container uses and that are not pinned, the least recently used first,
// and remembers which are in use now.
func (g *imageGC) unused(ctx context.Context, now time.Time) ([]candidate, error) {
	listed := time.Now()
	images, err := g.rt.images.ListImages(ctx, &cri.ListImagesRequest{})
	if err != nil {
		return nil, err
	}
	if err := g.records.Prune(images.Images, listed); err != nil {
		g.log.Warn("remove records of pulled images failed", "err", err)
	}
	// In this order, so that the image of a container that is made meanwhile counts as used.
	list, err := g.rt.ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, c := range list.Containers {
		for _, name := range []string{c.ImageRef, c.ImageId, c.GetImage().GetImage(), c.GetImage().GetUserSpecifiedImage()} {
			used[name] = true
		}
	}
	used[g.sandboxImage(ctx)] = true
	maps.Copy(used, g.mounted())
	delete(used, "")
	g.mu.Lock()
	defer g.mu.Unlock()
	there := map[string]imageUse{}
	var out []candidate
	for _, i := range images.Images {
		u, known := g.seen[i.Id]
		if !known {
			u.first = now
		}
		inUse := slices.ContainsFunc(slices.Concat([]string{i.Id}, i.RepoTags, i.RepoDigests), func(name string) bool { return used[name] })
		if inUse {
			u.used = time.Now()
		}
		there[i.Id] = u
		if !inUse && !i.Pinned {
			out = append(out, candidate{i, u})
		}
	}
	g.seen = there
	slices.SortFunc(out, func(a, b candidate) int {
		return cmp.Or(a.used.Compare(b.used), a.first.Compare(b.first), cmp.Compare(a.Id, b.Id))
	})
	return out, nil
}

// sandboxImage is the image of pod sandboxes, which containerd before 1.7 does not report as pinned; empty if
// the runtime does not say. Without it no pod could start where there is no registry.
func (g *imageGC) sandboxImage(ctx context.Context) string {
	st, err := g.rt.Status(ctx, &cri.StatusRequest{Verbose: true})
	if err != nil {
		return ""
	}
	var config struct {
		SandboxImage string `json:"sandboxImage"`
	}
	if json.Unmarshal([]byte(st.GetInfo()["config"]), &config) != nil {
		return ""
	}
	return config.SandboxImage
}
