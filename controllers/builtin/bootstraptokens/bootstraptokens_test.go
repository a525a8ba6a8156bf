package bootstraptokens

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// The signature is the one that kubeadm computes for the same input.
func TestSign(t *testing.T) {
	require.Equal(t, "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8",
		sign("Hello from the other side. I must have called a thousand times.", "joshua", []byte("my voice is my passcode")))
}

// start starts a cluster with one controller, which has only its own rights.
func start(t *testing.T, account string, add controllertest.Adder) *controllertest.Cluster {
	return controllertest.Start(t, controllertest.Options{
		As: client.User{Name: "system:serviceaccount:kube-system:" + account}, Controllers: []controllertest.Adder{add}})
}

// token creates the secret of a token with an id of one letter, for signatures.
func token(c *controllertest.Cluster, letter string, edit func(map[string][]byte)) {
	id := letter + "00000"
	s := &corev1.Secret{ObjectMeta: controllertest.Name("kube-system", secretPrefix+id), Type: corev1.SecretTypeBootstrapToken}
	s.Data = map[string][]byte{"token-id": []byte(id), "token-secret": []byte("0123456789abcdef"), "usage-bootstrap-signing": []byte("true")}
	if edit != nil {
		edit(s.Data)
	}
	controllertest.Create(c, s)
}

// until sets when a token expires.
func until(d time.Duration) func(map[string][]byte) {
	return func(data map[string][]byte) {
		data["expiration"] = []byte(time.Now().Add(d).UTC().Format(time.RFC3339))
	}
}

func info(c *controllertest.Cluster) map[string]string {
	return controllertest.Get[*corev1.ConfigMap](c, "kube-public", "cluster-info").Data
}

// tokens returns the ids of the tokens in secrets.
func tokens(c *controllertest.Cluster) []string {
	var out []string
	for _, s := range controllertest.List[*corev1.Secret](c, "kube-system") {
		out = append(out, s.Name[len(secretPrefix):])
	}
	return out
}

// A token that is valid for an hour.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t, "token-cleaner", AddCleaner)
		token(c, "a", until(time.Hour))
		c.Sleep(59 * time.Minute)
		fmt.Println("after 59 minutes:", len(tokens(c)))
		c.Sleep(time.Minute)
		fmt.Println("after an hour:", len(tokens(c)))
	})
	// Output:
	// after 59 minutes: 1
	// after an hour: 0
}

func TestCleaner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, "token-cleaner", AddCleaner)
		token(c, "a", nil)
		token(c, "b", until(-time.Minute))
		token(c, "c", until(time.Hour))
		other := &corev1.Secret{ObjectMeta: controllertest.Name("kube-system", secretPrefix+"d00000")}
		other.Data = map[string][]byte{"expiration": []byte("2000-01-01T00:00:00Z")}
		controllertest.Create(c, other)
		c.Settle()
		require.Equal(t, []string{"a00000", "c00000", "d00000"}, tokens(c))
		// A token may be prolonged.
		controllertest.Update(c, "kube-system", secretPrefix+"c00000", func(s *corev1.Secret) { until(3 * time.Hour)(s.Data) })
		c.Sleep(2 * time.Hour)
		require.Equal(t, []string{"a00000", "c00000", "d00000"}, tokens(c))
		c.Sleep(time.Hour)
		require.Equal(t, []string{"a00000", "d00000"}, tokens(c))
	})
}

func TestSigner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, "bootstrap-signer", AddSigner)
		token(c, "a", nil)
		token(c, "b", until(time.Hour))
		token(c, "c", func(data map[string][]byte) { data["usage-bootstrap-signing"] = []byte("false") })
		cm := &corev1.ConfigMap{ObjectMeta: controllertest.Name("kube-public", "cluster-info")}
		cm.Data = map[string]string{"note": "x", "jws-kubeconfig-old": "x"}
		controllertest.Create(c, cm)
		c.Settle()
		require.Equal(t, cm.Data, info(c), "there is nothing to sign")
		write := func(text string) {
			controllertest.Update(c, "kube-public", "cluster-info", func(cm *corev1.ConfigMap) { cm.Data[content] = text })
			c.Settle()
		}
		for _, text := range []string{"one", "two"} {
			write(text)
			require.Equal(t, []string{"jws-kubeconfig-a00000", "jws-kubeconfig-b00000", content, "note"}, slices.Sorted(maps.Keys(info(c))))
			require.Equal(t, sign(text, "a00000", []byte("0123456789abcdef")), info(c)["jws-kubeconfig-a00000"])
		}
		c.Sleep(time.Hour)
		require.NotContains(t, info(c), "jws-kubeconfig-b00000", "it has expired")
		controllertest.Delete[*corev1.Secret](c, "kube-system", secretPrefix+"a00000")
		c.Settle()
		require.Equal(t, map[string]string{content: "two", "note": "x"}, info(c))
	})
}

// The ConfigMap cluster-info is signed with each token, so that a machine that has one can trust it.
func ExampleAddSigner() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t, "bootstrap-signer", AddSigner)
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("kube-public", "cluster-info"), Data: map[string]string{"kubeconfig": "text"}})
		token(c, "a", nil)
		c.Settle()
		fmt.Println("signed:", info(c)["jws-kubeconfig-a00000"] != "")
	})
	// Output: signed: true
}
