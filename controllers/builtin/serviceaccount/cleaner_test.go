package serviceaccount_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/serviceaccount"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

const (
	lastUsed     = corev1.TokenLastUsedLabel
	invalidSince = corev1.TokenInvalidSinceLabel
	day          = 24 * time.Hour
)

// startCleaner starts a cluster whose cleaner, with only its own rights, ends tokens after ten days.
func startCleaner(t *testing.T) *controllertest.Cluster {
	c := controllertest.Start(t, controllertest.Options{})
	account := c.Conn(client.User{Name: "system:serviceaccount:kube-system:legacy-service-account-token-cleaner", Groups: []string{"system:authenticated"}})
	c.Run(c.ManagerOver(c.Conn(), "controllers", func(m *manager.Manager) error {
		return serviceaccount.AddCleaner(m.As(account), serviceaccount.CleanerOptions{Unused: 10 * day})
	}))
	return c
}

// A token that Kubernetes made and that is not used is refused and then deleted; others stay: used ones,
// those that a user made, that a pod mounts, of an account of another UID, and with a day that cannot be
// read.
func TestUnusedTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCleaner(t)
		robot := &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "robot")}
		for _, name := range []string{"unused", "used", "mounted", "strange", "other"} {
			robot.Secrets = append(robot.Secrets, corev1.ObjectReference{Name: name})
			controllertest.Create(c, tokenSecret(name, "robot"))
		}
		controllertest.Create(c, tokenSecret("of-a-user", "robot"))
		controllertest.Create(c, tokenSecret("of-none", "nobody"))
		controllertest.Create(c, robot)
		controllertest.Update(c, "default", "other", func(s *corev1.Secret) { s.Annotations[corev1.ServiceAccountUIDKey] = "another" })
		controllertest.Update(c, "default", "strange", func(s *corev1.Secret) { s.Labels = map[string]string{lastUsed: "yesterday"} })
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "web")}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		p.Spec.Volumes = []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "mounted"}}}}
		controllertest.Create(c, p)
		labels := func(name string) map[string]string {
			return controllertest.Get[*corev1.Secret](c, "default", name).Labels
		}
		use := func() {
			controllertest.Update(c, "default", "used", func(s *corev1.Secret) { s.Labels = map[string]string{lastUsed: time.Now().UTC().Format(time.DateOnly)} })
		}

		c.Sleep(8 * day)
		use()
		c.Sleep(2 * day)
		require.NotContains(t, labels("unused"), invalidSince, "the first day may not have been recorded")
		c.Sleep(2 * day)
		require.Equal(t, time.Now().UTC().Add(-day).Format(time.DateOnly), labels("unused")[invalidSince])
		for range 3 {
			c.Sleep(4 * day)
			use()
		}
		require.False(t, controllertest.Exists[*corev1.Secret](c, "default", "unused"))
		for _, name := range []string{"used", "mounted", "strange", "other", "of-a-user", "of-none"} {
			require.NotContains(t, labels(name), invalidSince, name)
		}
	})
}

// Where it is not known since when the use is recorded, no token ends.
func TestTokensOfWhichTheUseIsNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCleaner(t)
		controllertest.Update(c, "kube-system", corev1.TokenTrackingName, func(m *corev1.ConfigMap) { m.Data["since"] = "always" })
		robot := &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "robot")}
		robot.Secrets = []corev1.ObjectReference{{Name: "unused"}}
		controllertest.Create(c, robot)
		controllertest.Create(c, tokenSecret("unused", "robot"))
		c.Sleep(40 * day)
		require.NotContains(t, controllertest.Get[*corev1.Secret](c, "default", "unused").Labels, invalidSince)
	})
}

func TestCleanerOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		require.ErrorContains(t, serviceaccount.AddCleaner(c.Manager("x"), serviceaccount.CleanerOptions{Unused: -1}), "negative")
	})
}
