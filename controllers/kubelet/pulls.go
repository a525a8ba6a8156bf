package kubelet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pullrecords"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/registryauth"
)

// PullPolicy bounds the pulls of images.
type PullPolicy struct {
	// Parallel is how many images are pulled side by side; 0 means 1, a negative number any number.
	Parallel int
	// PerSecond is how many pulls may begin per second, with bursts of Burst; what goes beyond fails and is
	// tried again. 0 means any number.
	PerSecond float64
	Burst     int
	// Verify says for which images that are present a pod must have the credentials that they were pulled
	// with; empty means [VerifyPulled]. A pod without them has to pull the image, and does not start if the
	// registry refuses that.
	Verify Verification
	// Preloaded are the images that [VerifyUnlisted] does not verify: a name without tag and digest, or the
	// beginning of names up to a slash, followed by *.
	Preloaded []string
}

// Verification says which images that are present are verified.
type Verification string

const (
	// VerifyPulled verifies those that a kubelet pulled: not what the machine came with, or what others
	// brought.
	VerifyPulled Verification = "NeverVerifyPreloadedImages"
	// VerifyUnlisted verifies all but those of [PullPolicy].Preloaded.
	VerifyUnlisted Verification = "NeverVerifyAllowlistedImages"
	// VerifyAll verifies all.
	VerifyAll Verification = "AlwaysVerify"
	// VerifyNone lets every pod use every image that is present.
	VerifyNone Verification = "NeverVerify"
)

// Check returns what is wrong with the images to verify.
func (p *PullPolicy) Check() error {
	if !slices.Contains([]Verification{"", VerifyPulled, VerifyUnlisted, VerifyAll, VerifyNone}, p.Verify) {
		return fmt.Errorf("Verify: %q is none of %s, %s, %s and %s", p.Verify, VerifyNone, VerifyPulled, VerifyUnlisted, VerifyAll)
	}
	if len(p.Preloaded) > 0 && p.Verify != VerifyUnlisted {
		return fmt.Errorf("Preloaded: it needs the policy %s", VerifyUnlisted)
	}
	for _, pattern := range p.Preloaded {
		start, many := strings.CutSuffix(pattern, "/*")
		if why := registryauth.CheckPattern(start); why != nil || strings.ContainsAny(pattern, " \t\n@") || strings.Contains(start, "*") || !many && pullrecords.Trim(pattern) != pattern {
			return fmt.Errorf("Preloaded: %q is neither an image without tag and digest nor the beginning of images up to a slash, followed by *", pattern)
		}
	}
	return nil
}

// verifies reports whether pods need credentials for an image that is present; pulled is whether a kubelet
// pulled it.
func (p *PullPolicy) verifies(image string, pulled bool) bool {
	switch p.Verify {
	case VerifyNone:
		return false
	case VerifyAll:
		return true
	case VerifyUnlisted:
		image = pullrecords.Trim(image)
		return !slices.ContainsFunc(p.Preloaded, func(pattern string) bool {
			start, many := strings.CutSuffix(pattern, "*")
			return many && strings.HasPrefix(image, start) || image == pattern
		})
	}
	return pulled
}

// pullGate lets pulls begin. Safe for concurrent use.
type pullGate struct {
	PullPolicy
	slots chan struct{} // nil: any number

	mu     sync.Mutex
	tokens float64
	at     time.Time
}

func newPullGate(p PullPolicy) *pullGate {
	g := &pullGate{PullPolicy: p}
	if p.Parallel >= 0 {
		g.slots = make(chan struct{}, max(p.Parallel, 1))
	}
	return g
}

// allowed reports whether another pull may begin now.
func (g *pullGate) allowed() bool {
	if g.PerSecond <= 0 {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now, burst := time.Now(), float64(max(g.Burst, 1))
	if g.at.IsZero() {
		g.tokens = burst
	}
	g.tokens = min(g.tokens+g.PerSecond*now.Sub(g.at).Seconds(), burst)
	g.at = now
	if g.tokens < 1 {
		return false
	}
	g.tokens--
	return true
}

// enter waits until a pull may begin beside the others; leave ends it.
func (g *pullGate) enter(ctx context.Context) (leave func(), err error) {
	if g.slots == nil {
		return func() {}, nil
	}
	select {
	case g.slots <- struct{}{}:
		return func() { <-g.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
