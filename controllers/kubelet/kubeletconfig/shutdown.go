package kubeletconfig

import (
	"time"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/controllers/kubelet"
)

func (c *Configuration) checkShutdown(g *featuregate.Gate) error {
	var p problems
	total, critical, byPriority := c.ShutdownGracePeriod.Duration, c.ShutdownGracePeriodCriticalPods.Duration, c.ShutdownGracePeriodByPodPriority
	for field, d := range map[string]time.Duration{"shutdownGracePeriod": total, "shutdownGracePeriodCriticalPods": critical} {
		p.add(d < 0 || d > 0 && d < time.Second, field, "%v must be 0 or at least 1s", d)
		p.add(d > 0 && !g.Enabled(gateShutdown), field, "it needs the feature gate %s", gateShutdown)
	}
	p.add(critical > total, "shutdownGracePeriodCriticalPods", "%v must not be longer than shutdownGracePeriod, %v", critical, total)
	const field = "shutdownGracePeriodByPodPriority"
	p.add(len(byPriority) > 0 && (total > 0 || critical > 0), field, "it excludes shutdownGracePeriod and shutdownGracePeriodCriticalPods")
	p.add(len(byPriority) > 0 && !g.Enabled(gatePriorities), field, "it needs the feature gate %s", gatePriorities)
	for _, one := range byPriority {
		p.add(one.ShutdownGracePeriodSeconds < 0 || one.ShutdownGracePeriodSeconds > maxShutdown, field, "%d of priority %d is not within 0 and %d",
			one.ShutdownGracePeriodSeconds, one.Priority, maxShutdown)
	}
	return p.err()
}

// maxShutdown is the longest period, in seconds: a year.
const maxShutdown = 365 * 24 * 3600

// shutdownPeriods are how long pods get to end when the machine is shut down; nothing if that is not delayed.
func (c *Configuration) shutdownPeriods() []kubelet.ShutdownPeriod {
	var list []kubelet.ShutdownPeriod
	for _, one := range c.ShutdownGracePeriodByPodPriority {
		list = append(list, kubelet.ShutdownPeriod{Priority: one.Priority, Grace: time.Duration(one.ShutdownGracePeriodSeconds) * time.Second})
	}
	if total := c.ShutdownGracePeriod.Duration; total > 0 {
		list = kubelet.ShutdownPeriods(total, c.ShutdownGracePeriodCriticalPods.Duration)
	}
	return list
}
