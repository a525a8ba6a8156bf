package kubelet_test

import (
	"context"
	"encoding/pem"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/store/certs"
)

// trusting makes a pod with a trust bundle in the file "ca.pem" of the volume "v".
func (s *signing) trusting(name string, source corev1.ClusterTrustBundleProjection) *corev1.Pod {
	source.Path = "ca.pem"
	return s.pod(name, func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ClusterTrustBundle: &source}}}}}}
	}, "a")
}

// authorities are certificates of new authorities in PEM.
func authorities(t *testing.T, n int) (list []string) {
	for range n {
		a, err := certs.NewAuthority("test")
		require.NoError(t, err)
		list = append(list, string(a.CertPEM()))
	}
	return list
}

// publish makes or replaces a bundle.
func (s *signing) publish(name, signer, text string, labels map[string]string) {
	if controllertest.Exists[*bundle](s.c, "", name) {
		controllertest.Update(s.c, "", name, func(b *bundle) { b.Spec.TrustBundle, b.Labels = text, labels })
		return
	}
	b := &bundle{ObjectMeta: controllertest.Name("", name), Spec: certificatesv1beta1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: text}}
	b.Labels = labels
	controllertest.Create(s.c, b)
}

// trusts requires that a pod's file has these certificates, each once and nothing else.
func (s *signing) trusts(pod *corev1.Pod, want ...string) {
	s.t.Helper()
	var have []string
	text := s.read(pod, "projected", "v", "ca.pem")
	for rest := []byte(text); len(rest) > 0; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		require.NotNil(s.t, block, text)
		have = append(have, string(pem.EncodeToMemory(block)))
	}
	require.ElementsMatch(s.t, want, have)
}

// A bundle is found by its name, or bundles of a signer by their labels. A change is in the file at once, by
// a swap of the folder; a deletion leaves the file unless the source is optional.
func TestTrustBundles(t *testing.T) {
	cas := authorities(t, 4)
	signed(t, true, nil, func(s *signing) {
		s.publish("plain", "", cas[0]+"text between\n"+cas[1], nil)
		s.publish("example.com:boats:a", "example.com/boats", cas[0]+cas[1], map[string]string{"env": "live"})
		s.publish("example.com:boats:b", "example.com/boats", cas[1]+cas[2], map[string]string{"env": "live"})
		s.publish("example.com:boats:c", "example.com/boats", cas[3], map[string]string{"env": "test"})
		s.publish("example.com:cars:a", "example.com/cars", cas[3], map[string]string{"env": "live"})
		live := &metav1.LabelSelector{MatchLabels: map[string]string{"env": "live"}}
		named := s.trusting("named", corev1.ClusterTrustBundleProjection{Name: new("plain")})
		of := s.trusting("of", corev1.ClusterTrustBundleProjection{SignerName: new("example.com/boats"), LabelSelector: live})
		all := s.trusting("all", corev1.ClusterTrustBundleProjection{SignerName: new("example.com/boats"), LabelSelector: &metav1.LabelSelector{}})
		optional := s.trusting("optional", corev1.ClusterTrustBundleProjection{Name: new("late"), Optional: new(true)})
		s.trusting("nothing", corev1.ClusterTrustBundleProjection{SignerName: new("example.com/boats")})
		s.trusting("late", corev1.ClusterTrustBundleProjection{Name: new("late")})
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"all/a", "named/a", "of/a", "optional/a"}, s.rt.Running())
		s.trusts(named, cas[0], cas[1])
		s.trusts(of, cas[0], cas[1], cas[2])
		s.trusts(all, cas...)
		s.trusts(optional)
		require.Contains(t, s.messages("nothing", "FailedMount"), `MountVolume.SetUp failed for volume "v" : combination of signerName and labelSelector matched zero ClusterTrustBundles`, "no selector selects nothing")
		require.Contains(t, s.messages("late", "FailedMount"), `MountVolume.SetUp failed for volume "v" : while getting ClusterTrustBundle: clustertrustbundles.certificates.k8s.io "late" not found`)

		folder := func() string {
			target, err := os.Readlink(s.volumeFile(named, "..data"))
			require.NoError(t, err)
			return target
		}
		before, text := folder(), s.read(all, "projected", "v", "ca.pem")
		time.Sleep(10 * time.Minute)
		require.Equal(t, before, folder(), "nothing has changed")
		require.Equal(t, text, s.read(all, "projected", "v", "ca.pem"), "the order stays")
		s.publish("plain", "", cas[2], nil)
		s.publish("late", "", cas[3], nil)
		s.publish("example.com:boats:b", "example.com/boats", cas[2], map[string]string{"env": "test"})
		time.Sleep(time.Second)
		require.NotEqual(t, before, folder())
		s.trusts(named, cas[2])
		s.trusts(of, cas[0], cas[1])
		s.trusts(optional, cas[3])
		time.Sleep(10 * time.Second)
		require.Contains(t, s.rt.Running(), "late/a")

		for _, name := range []string{"plain", "late", "example.com:boats:a"} {
			controllertest.Delete[*bundle](s.c, "", name)
		}
		time.Sleep(2 * time.Minute)
		s.trusts(named, cas[2])
		s.trusts(of, cas[0], cas[1])
		s.trusts(optional)
		require.Len(t, s.rt.Running(), 5)
		require.Equal(t, int32(0), s.restarts("named"))
	})
}

// The bundles are read when a pod first needs them, and from memory when the API server is away.
func TestTrustBundlesWithoutServer(t *testing.T) {
	cas := authorities(t, 2)
	var away atomic.Bool
	signed(t, true, func(r *rig) {
		r.intercept = func(_ context.Context, q *client.Request) error {
			if away.Load() && q.Resource.Resource == "clustertrustbundles" {
				return apierrors.NewServiceUnavailable("away")
			}
			return nil
		}
	}, func(s *signing) {
		away.Store(true)
		s.publish("plain", "", cas[0], nil)
		named := s.trusting("named", corev1.ClusterTrustBundleProjection{Name: new("plain")})
		time.Sleep(time.Minute)
		require.Empty(t, s.rt.Running())
		require.Contains(t, s.messages("named", "FailedMount")[0], "ClusterTrustBundle informer has not yet synced")
		away.Store(false)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"named/a"}, s.rt.Running())
		s.trusts(named, cas[0])
		again := s.trusting("again", corev1.ClusterTrustBundleProjection{Name: new("plain")})
		time.Sleep(2 * time.Second)
		s.line.set(refused)
		time.Sleep(time.Second) // its watches have ended
		s.publish("plain", "", cas[1], nil)
		time.Sleep(5 * time.Minute)
		require.Equal(t, []string{"again/a", "named/a"}, s.rt.Running())
		s.trusts(named, cas[0])
		s.trusts(again, cas[0])
		s.line.set(intact)
		time.Sleep(2 * time.Minute)
		s.trusts(named, cas[1])
		s.trusts(again, cas[1])
	})
}

// A server that does not serve the kinds leaves the pods waiting, and does no harm to others.
func TestTrustBundlesAreNotServed(t *testing.T) {
	bubble(t, func(r *rig) { r.opts.PodCertificates, r.opts.TrustBundles = true, true }, func(r *rig) {
		s := &signing{rig: r}
		named := s.trusting("named", corev1.ClusterTrustBundleProjection{Name: new("plain")})
		require.Nil(t, named.Spec.Volumes[0].Projected.Sources[0].ClusterTrustBundle, "the server has no such field then")
		require.Nil(t, s.certified("web", nil).Spec.Volumes[0].Projected.Sources[1].PodCertificate)
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"named/a", "web/a"}, s.rt.Running())
		require.NoFileExists(t, s.volumeFile(named, "ca.pem"))
	})
}
