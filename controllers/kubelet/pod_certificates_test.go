package kubelet_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/certificates"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/certs"
)

type (
	podRequest = certificatesv1beta1.PodCertificateRequest
	bundle     = certificatesv1beta1.ClusterTrustBundle
)

// gatedCluster serves the kinds that are off by default. Without rules the server believes what it gets.
func gatedCluster(t *testing.T, rules bool) controllertest.Options {
	served, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	known := api.Scheme().Clone()
	for _, g := range api.AllGated() {
		require.NoError(t, errors.Join(g.AddToScheme(served), g.AddToScheme(known)))
		if rules {
			require.NoError(t, g.AddRules(served))
		}
	}
	return controllertest.Options{Scheme: known, Server: apiserver.Options{Scheme: served}, EnableAdmission: []string{"NodeRestriction"}}
}

// signing is a kubelet with the rights of its node, and a signer.
type signing struct {
	*rig
	ca      *certs.Authority
	account *corev1.ServiceAccount
}

// signed runs f with a kubelet that requests certificates.
func signed(t *testing.T, rules bool, prepare func(*rig), f func(*signing)) {
	s := &signing{}
	bubbleOf(t, gatedCluster(t, rules), func(r *rig) {
		r.opts.PodCertificates, r.opts.TrustBundles = true, true
		r.user = []client.User{{Name: "system:node:n1", Groups: []string{"system:nodes", "system:authenticated"}}}
		controllertest.Create(r.c, &rbacv1.ClusterRoleBinding{ObjectMeta: controllertest.Name("", "nodes"), Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: "rbac.authorization.k8s.io", Name: "system:nodes"}},
			RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:node"}})
		r.c.Settle()
		var err error
		s.ca, err = certs.NewAuthority("boats")
		require.NoError(t, err)
		s.account = controllertest.Create(r.c, &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "sailor")})
		if prepare != nil {
			prepare(r)
		}
	}, func(r *rig) {
		s.rig = r
		f(s)
	})
}

// certified makes a pod with a certificate in three files of the volume "v".
func (s *signing) certified(name string, edit func(*corev1.PodCertificateProjection)) *corev1.Pod {
	source := &corev1.PodCertificateProjection{SignerName: "example.com/boats", KeyType: "ECDSAP256", CredentialBundlePath: "bundle.pem", KeyPath: "key.pem", CertificateChainPath: "deep/chain.pem"}
	if edit != nil {
		edit(source)
	}
	return s.pod(name, func(p *corev1.Pod) {
		p.Spec.ServiceAccountName = "sailor"
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}},
			{PodCertificate: source}}}}}}
	}, "a")
}

// pending are the requests without a result.
func (s *signing) pending() []*podRequest {
	return slices.DeleteFunc(controllertest.List[*podRequest](s.c, "default"), func(r *podRequest) bool { return r.Result() != nil })
}

// next is the only request without a result.
func (s *signing) next() *podRequest {
	s.t.Helper()
	list := s.pending()
	require.Len(s.t, list, 1)
	return list[0]
}

// issue answers a request with a certificate that is valid for two hours and to be renewed after one. edit
// may change it, and status what is said of it.
func (s *signing) issue(r *podRequest, edit func(*x509.Certificate), status func(*certificatesv1beta1.PodCertificateRequestStatus)) error {
	csr, err := x509.ParseCertificateRequest(r.Spec.StubPKCS10Request)
	require.NoError(s.t, err)
	return s.issueFor(csr.PublicKey, r, edit, status)
}

func (s *signing) issueFor(key any, r *podRequest, edit func(*x509.Certificate), status func(*certificatesv1beta1.PodCertificateRequestStatus)) error {
	sign(s.t, s.ca, key, r, edit)
	if status != nil {
		status(&r.Status)
	}
	return s.answer(r, certificatesv1beta1.PodCertificateIssued, "Fine", "")
}

// sign gives a request a certificate of a public key that is valid for two hours and to be renewed after one.
func sign(t testing.TB, ca *certs.Authority, key any, r *podRequest, edit func(*x509.Certificate)) {
	now := time.Now().Truncate(time.Second)
	x := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: now, NotAfter: now.Add(2 * time.Hour), DNSNames: []string{r.Spec.PodName}}
	if edit != nil {
		edit(x)
	}
	der, err := x509.CreateCertificate(rand.Reader, x, ca.Cert, key, ca.Key)
	require.NoError(t, err)
	r.Status = certificatesv1beta1.PodCertificateRequestStatus{
		CertificateChain: "text before\n" + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) + "\ntext between\n" + string(ca.CertPEM()),
		NotBefore:        &metav1.Time{Time: x.NotBefore}, NotAfter: &metav1.Time{Time: x.NotAfter}, BeginRefreshAt: &metav1.Time{Time: x.NotBefore.Add(time.Hour)},
	}
}

// answer gives a request its result.
func (s *signing) answer(r *podRequest, result, reason, message string) error {
	setResult(r, result, reason, message)
	_, err := client.For[*podRequest](s.c.Admin()).UpdateStatus(s.t.Context(), r)
	return err
}

// setResult sets the result of a request.
func setResult(r *podRequest, result, reason, message string) {
	r.Status.Conditions = []metav1.Condition{{Type: result, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}}
}

// pair is the pod's certificate as its files have it, with its key.
func (s *signing) pair(pod *corev1.Pod) *x509.Certificate {
	key, chain := s.read(pod, "projected", "v", "key.pem"), s.read(pod, "projected", "v", "deep/chain.pem")
	require.Equal(s.t, key+chain, s.read(pod, "projected", "v", "bundle.pem"))
	require.Equal(s.t, pod.Name, s.read(pod, "projected", "v", "name"))
	require.NotContains(s.t, chain, "text")
	pair, err := tls.X509KeyPair([]byte(chain), []byte(key))
	require.NoError(s.t, err)
	require.Len(s.t, pair.Certificate, 2, "with the intermediate one")
	require.Equal(s.t, []string{pod.Name}, pair.Leaf.DNSNames)
	return pair.Leaf
}

// events of a reason, of a pod.
func (s *signing) messages(pod, reason string) (list []string) {
	for _, e := range s.eventsOf(pod) {
		if text, ok := strings.CutPrefix(e, reason+": "); ok {
			list = append(list, text)
		}
	}
	return list
}

func (s *signing) state(state string) {
	s.t.Helper()
	s.shows(`kubelet_podcertificate_states{signer_name="example.com/boats",state="` + state + `"} 1`)
}

// A pod gets the certificate that the kubelet requests for it, starts when it is there, and gets the next one
// in time, within five minutes of when the signer says.
func TestPodCertificate(t *testing.T) {
	signed(t, true, nil, func(s *signing) {
		pod := s.certified("web", func(c *corev1.PodCertificateProjection) {
			c.MaxExpirationSeconds, c.UserAnnotations = new(int32(7200)), map[string]string{"example.com/colour": "red"}
		})
		time.Sleep(5 * time.Second)
		require.Empty(t, s.rt.Running())
		require.Contains(t, s.messages("web", "FailedMount"), `MountVolume.SetUp failed for volume "v" : credential bundle is not issued yet`)
		s.state("not_yet_issued")
		r := s.next()
		require.True(t, strings.HasPrefix(r.Name, "req-"))
		require.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web", UID: pod.UID}}, r.OwnerReferences)
		node := controllertest.Get[*corev1.Node](s.c, "", "n1")
		stub := r.Spec.StubPKCS10Request
		require.Equal(t, certificatesv1beta1.PodCertificateRequestSpec{SignerName: "example.com/boats", PodName: "web", PodUID: pod.UID, ServiceAccountName: "sailor", ServiceAccountUID: s.account.UID,
			NodeName: "n1", NodeUID: node.UID, MaxExpirationSeconds: new(int32(7200)), UnverifiedUserAnnotations: map[string]string{"example.com/colour": "red"}, StubPKCS10Request: stub}, r.Spec)
		require.NoError(t, s.issue(r, nil, nil))
		time.Sleep(time.Second)
		require.Equal(t, []string{"web/a"}, s.rt.Running(), "at once")
		first := s.pair(pod)
		s.state("fresh")

		time.Sleep(time.Until(first.NotBefore.Add(time.Hour)) - time.Second)
		require.Empty(t, s.pending())
		time.Sleep(5*time.Minute + 2*time.Second)
		r = s.next()
		require.NotEqual(t, stub, r.Spec.StubPKCS10Request, "another key")
		require.Equal(t, first, s.pair(pod))
		require.NoError(t, s.issue(r, nil, nil))
		time.Sleep(time.Second)
		second := s.pair(pod)
		require.NotEqual(t, first.PublicKey, second.PublicKey)
		s.state("fresh")
		require.Empty(t, s.messages("web", "CertificateOverdueForRefresh"))

		s.delete("web", 0)
		time.Sleep(2*time.Hour + 5*time.Minute)
		require.NotContains(t, s.metrics(), "kubelet_podcertificate_states{")
		require.Empty(t, s.pending(), "a pod that is gone needs no certificate")
		require.Empty(t, s.messages("web", "CertificateExpired"))
	})
}

// A signer that denies, or fails, ends the attempts: at the first request the pod never starts, at a later
// one its files stay.
func TestPodCertificateRefused(t *testing.T) {
	for result, want := range map[string]struct{ state, volume, event string }{
		certificatesv1beta1.PodCertificateDenied: {"denied", `PodCertificateRequest was permanently denied: reason="Policy" message="not today"`, ` was denied, reason="Policy", message="not today"`},
		certificatesv1beta1.PodCertificateFailed: {"failed", `PodCertificateRequest was permanently failed: reason="Policy" message="not today"`, ` failed, reason="Policy", message="not today"`},
	} {
		for _, renewal := range []bool{false, true} {
			if renewal && result == certificatesv1beta1.PodCertificateFailed {
				continue // as one that is denied
			}
			signed(t, true, nil, func(s *signing) {
				pod := s.certified("web", nil)
				time.Sleep(5 * time.Second)
				if renewal {
					require.NoError(t, s.issue(s.next(), nil, nil))
					time.Sleep(time.Hour + 6*time.Minute)
				}
				r := s.next()
				require.NoError(t, s.answer(r, result, "Policy", "not today"))
				time.Sleep(30 * time.Second)
				require.Equal(t, []string{"PodCertificateRequest default/" + r.Name + want.event}, s.messages("web", result))
				require.Contains(t, s.messages("web", "FailedMount"), `MountVolume.SetUp failed for volume "v" : `+want.volume)
				s.state(want.state)
				time.Sleep(time.Hour)
				require.Empty(t, s.messages("web", "CertificateExpired"))
				require.Empty(t, s.pending(), "it is not tried again")
				if !renewal {
					require.Empty(t, s.rt.Running())
					return
				}
				require.Equal(t, []string{"web/a"}, s.rt.Running())
				s.pair(pod)
			})
		}
	}
}

// A signer that never answers gets another request each time that the last one was deleted, no sooner than
// ten minutes after it was made.
func TestPodCertificateWithoutAnswer(t *testing.T) {
	signed(t, true, nil, func(s *signing) {
		s.c.Run(s.c.ManagerOver(s.c.Conn(), "controllers", certificates.AddPodCleaner))
		pod := s.certified("web", nil)
		time.Sleep(5 * time.Second)
		first := s.next()
		controllertest.Delete[*podRequest](s.c, "default", first.Name)
		time.Sleep(time.Until(first.CreationTimestamp.Add(10*time.Minute)) - time.Second)
		require.Empty(t, s.pending(), "not at once")
		time.Sleep(5*time.Minute + 2*time.Second)
		second := s.next()
		time.Sleep(time.Until(second.CreationTimestamp.Add(15*time.Minute)) - time.Second)
		require.Equal(t, second.UID, s.next().UID, "one at a time")
		time.Sleep(5*time.Minute + 2*time.Second)
		third := s.next()
		require.NotEqual(t, second.UID, third.UID)
		require.InDelta(t, 15*60, third.CreationTimestamp.Sub(second.CreationTimestamp.Time).Seconds(), 5, "when the cleaner had deleted it")
		require.NoError(t, s.issue(third, nil, nil))
		time.Sleep(time.Second)
		cert := s.pair(pod)

		// The next one comes never: the pod has an event when it is late, and when it is too late.
		time.Sleep(time.Until(cert.NotBefore.Add(time.Hour + 10*time.Minute)))
		s.state("fresh")
		time.Sleep(5*time.Minute + time.Second)
		require.Equal(t, []string{"PodCertificate refresh overdue"}, s.messages("web", "CertificateOverdueForRefresh"))
		s.state("overdue_for_refresh")
		time.Sleep(time.Until(cert.NotAfter) - time.Second)
		require.Empty(t, s.messages("web", "CertificateExpired"))
		time.Sleep(10 * time.Minute)
		require.Equal(t, []string{"PodCertificate expired"}, s.messages("web", "CertificateExpired"))
		require.LessOrEqual(t, len(s.messages("web", "CertificateOverdueForRefresh")), 1, "events go after an hour")
		s.state("expired")
		require.Equal(t, cert, s.pair(pod), "what there was stays")
		require.Equal(t, []string{"web/a"}, s.rt.Running())
		require.NoError(t, s.issue(s.next(), nil, nil))
		time.Sleep(time.Second)
		require.NotEqual(t, cert, s.pair(pod))
		s.state("fresh")
	})
}

// The key is in the memory of the process: after a restart the certificate is requested again, and one that
// was issued for the request of before is of no use.
func TestPodCertificateAfterRestart(t *testing.T) {
	signed(t, true, func(r *rig) { r.opts.StopPods = false }, func(s *signing) {
		pod := s.certified("web", nil)
		time.Sleep(5 * time.Second)
		old := s.next()
		s.stop()
		require.NoError(t, s.issue(old, nil, nil))
		s.start()
		time.Sleep(10 * time.Second)
		require.Empty(t, s.rt.Running())
		r := s.next()
		require.NotEqual(t, old.Spec.StubPKCS10Request, r.Spec.StubPKCS10Request)
		require.NoError(t, s.issue(r, nil, nil))
		time.Sleep(time.Second)
		require.Equal(t, []string{"web/a"}, s.rt.Running())
		cert := s.pair(pod)

		s.stop()
		s.opts.StopPods = true
		s.start()
		time.Sleep(10 * time.Second)
		require.Equal(t, cert, s.pair(pod), "until there is another one")
		require.NoError(t, s.issue(s.next(), nil, nil))
		time.Sleep(time.Second)
		require.NotEqual(t, cert, s.pair(pod))
		require.Equal(t, 1, s.rt.Calls("StartContainer"))
	})
}

// Without the API server the pod waits and says why; a container that runs goes on with what it has, also
// over the end of a renewal that has no connection.
func TestPodCertificateWithoutServer(t *testing.T) {
	signed(t, true, nil, func(s *signing) {
		controllertest.Delete[*corev1.ServiceAccount](s.c, "default", "sailor")
		pod := s.certified("web", nil)
		time.Sleep(20 * time.Second)
		require.Empty(t, s.pending())
		require.True(t, slices.ContainsFunc(s.messages("web", "FailedMount"), func(m string) bool {
			return strings.Contains(m, "credential bundle is not issued yet: while fetching service account: ")
		}), s.messages("web", "FailedMount"))
		s.account = controllertest.Create(s.c, &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "sailor")})
		time.Sleep(2 * time.Minute)
		require.NoError(t, s.issue(s.next(), nil, nil))
		time.Sleep(time.Second)
		cert := s.pair(pod)

		time.Sleep(time.Until(cert.NotBefore.Add(50 * time.Minute)))
		s.line.set(refused)
		time.Sleep(40 * time.Minute)
		require.Equal(t, cert, s.pair(pod))
		s.state("overdue_for_refresh")
		s.line.set(intact)
		time.Sleep(3 * time.Minute)
		require.NoError(t, s.issue(s.next(), nil, nil))
		time.Sleep(2 * time.Minute)
		require.NotEqual(t, cert, s.pair(pod))
		require.Equal(t, []string{"web/a"}, s.rt.Running())
		require.Equal(t, int32(0), s.restarts("web"))
	})
}

// The server accepts no certificate that is of no use to the pod; a request that has got none waits on.
func TestPodCertificateOfALiar(t *testing.T) {
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	signed(t, true, nil, func(s *signing) {
		pod := s.certified("web", nil)
		time.Sleep(5 * time.Second)
		require.ErrorContains(t, s.issueFor(other.Public(), s.next(), nil, nil), "not issued to the requested public key")
		require.ErrorContains(t, s.issue(s.next(), func(x *x509.Certificate) {
			x.NotBefore, x.NotAfter = x.NotBefore.Add(-3*time.Hour), x.NotAfter.Add(-3*time.Hour)
		}, nil), "within 5 minutes of kube-apiserver's current time")
		time.Sleep(time.Minute)
		require.Empty(t, s.rt.Running())
		s.state("not_yet_issued")
		require.NoError(t, s.issue(s.next(), nil, nil))
		time.Sleep(time.Second)
		s.pair(pod)
	})
	for name, lie := range map[string]func(*signing, *podRequest) error{
		"another key": func(s *signing, r *podRequest) error { return s.issueFor(other.Public(), r, nil, nil) },
		"nothing": func(s *signing, r *podRequest) error {
			return s.issue(r, nil, func(st *certificatesv1beta1.PodCertificateRequestStatus) { st.CertificateChain = "" })
		},
		"no times": func(s *signing, r *podRequest) error {
			return s.issue(r, nil, func(st *certificatesv1beta1.PodCertificateRequestStatus) { st.BeginRefreshAt = nil })
		},
	} {
		signed(t, false, nil, func(s *signing) {
			s.certified("web", nil)
			s.pod("beside", nil, "a")
			time.Sleep(5 * time.Second)
			require.NoError(t, lie(s, s.next()), name)
			time.Sleep(10 * time.Minute)
			require.Len(t, s.messages("web", "Failed"), 1, name)
			require.Contains(t, s.messages("web", "Failed")[0], "has a certificate that cannot be used", name)
			s.state("failed")
			require.Equal(t, []string{"beside/a"}, s.rt.Running(), "it costs its own pod only")
		})
	}
}

// A kubelet without the features says that it has none.
func TestPodCertificateOff(t *testing.T) {
	signed(t, true, func(r *rig) { r.opts.PodCertificates, r.opts.TrustBundles = false, false }, func(s *signing) {
		s.certified("web", nil)
		s.trusting("trusts", corev1.ClusterTrustBundleProjection{Name: new("plain"), Optional: new(true)})
		time.Sleep(time.Minute)
		require.Empty(t, s.rt.Running())
		require.Empty(t, s.pending())
		require.Contains(t, s.messages("web", "FailedMount")[0], "it takes an API server and the feature PodCertificateRequest")
		require.Contains(t, s.messages("trusts", "FailedMount")[0], "it takes an API server and the feature ClusterTrustBundleProjection")
	})
}

// volumeFile is a file of the volume "v".
func (s *signing) volumeFile(pod *corev1.Pod, name string) string {
	return filepath.Join(s.opts.RootDir, "pods", string(pod.UID), "volumes", "kubernetes.io~projected", "v", name)
}
