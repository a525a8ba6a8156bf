package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	v1 "github.com/keelson-dev/keelson/examples/operator/api/v1"
	"github.com/keelson-dev/keelson/store/storetest"
)

func TestFlags(t *testing.T) {
	for text, args := range map[string][]string{
		"no-such-flag; see --help":          {"--no-such-flag"},
		"image; see --help":                 {"--image=x"},
		"leader-elect; see --help":          {"manifests", "--leader-elect"},
		"stray":                             {"certificate", "stray"},
		"have no effect with --webhooks=fa": {"--webhooks=false", "--webhook-cert-dir=/x"},
		"--metrics has no effect with":      {"--webhooks=false", "--health-address=", "--metrics"},
	} {
		_, err := parse(args)
		require.ErrorContains(t, err, text)
	}
	_, err := parse([]string{"--help"})
	require.ErrorIs(t, err, pflag.ErrHelp)
	o, err := parse([]string{"--leader-elect=false", "-v", "4", "--leader-elect-lease-duration=3s", "--watch-namespaces=a,b"})
	require.NoError(t, err)
	require.False(t, o.leaderElect)
	require.Equal(t, 4, o.verbosity)
	require.Equal(t, []string{"a", "b"}, o.watched)
	require.Equal(t, 3*time.Second, o.election.LeaseDuration)
	t.Setenv("POD_NAMESPACE", "mine")
	o, err = parse(nil)
	require.NoError(t, err)
	require.Equal(t, "mine", o.lease.Namespace)
}

// installed is a cluster with what the operator expects in it, over TCP.
func installed(t *testing.T) *controllertest.Cluster {
	s, err := kinds()
	require.NoError(t, err)
	c := controllertest.Start(t, controllertest.Options{CRDs: os.DirFS("config/crd"), Scheme: s})
	for _, name := range []string{defaultNamespace, "websites", "elsewhere"} {
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", name)})
	}
	return c
}

func site(namespace, name string) *v1.Website {
	return &v1.Website{ObjectMeta: controllertest.Name(namespace, name), Spec: v1.WebsiteSpec{Image: "web:1"}}
}

// The command itself over TCP, in real time: it leads, works in the namespaces it serves, and releases the
// lease when its context ends.
func TestRunAgainstAServer(t *testing.T) {
	c := installed(t)
	address := storetest.FreeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"--kubeconfig", c.Kubeconfig(), "-v", "0", "--health-address", address, "--webhook-address", storetest.FreeAddress(t),
			"--watch-namespaces", "websites"}, io.Discard)
	}()
	controllertest.Create(c, site("elsewhere", "hello"))
	controllertest.Create(c, site("websites", "hello"))
	require.Eventually(t, func() bool { return controllertest.Exists[*appsv1.Deployment](c, "websites", "hello") }, time.Minute, 10*time.Millisecond)
	for want, path := range map[string]string{
		"[+]certificates ok\n": "/readyz?verbose", "[+]informers ok\n": "/readyz?verbose", "[+]leader-election ok\n": "/readyz?verbose",
	} {
		// A check passes some time after the Deployment was made.
		require.EventuallyWithT(t, func(t *assert.CollectT) {
			resp, err := http.Get("http://" + address + path)
			require.NoError(t, err)
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.True(t, strings.Contains(string(text), want), "%s has no %s:\n%s", path, want, text)
		}, time.Minute, 10*time.Millisecond)
	}
	require.False(t, controllertest.Exists[*appsv1.Deployment](c, "elsewhere", "hello"))
	http.DefaultClient.CloseIdleConnections()
	stop()
	require.NoError(t, <-done)
	lease := controllertest.Get[*coordinationv1.Lease](c, defaultNamespace, operatorName)
	require.True(t, lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "", "the lease is given back")
}

// operator certificate puts the certificate in place for an operator that may not do it itself.
func TestCertificateCommand(t *testing.T) {
	c := installed(t)
	hooks := hookConfigurations(t)
	controllertest.Create(c, hooks[0].(*admissionregistrationv1.MutatingWebhookConfiguration))
	controllertest.Create(c, hooks[1].(*admissionregistrationv1.ValidatingWebhookConfiguration))
	require.NoError(t, run(t.Context(), []string{"certificate", "--once", "--kubeconfig", c.Kubeconfig(), "-v", "0"}, io.Discard))
	cert := controllertest.Get[*corev1.Secret](c, defaultNamespace, certificateName).Data[corev1.TLSCertKey]
	require.NotEmpty(t, cert)
	for _, bundle := range [][]byte{
		controllertest.Get[*admissionregistrationv1.MutatingWebhookConfiguration](c, "", operatorName).Webhooks[0].ClientConfig.CABundle,
		controllertest.Get[*admissionregistrationv1.ValidatingWebhookConfiguration](c, "", operatorName).Webhooks[0].ClientConfig.CABundle,
		controllertest.Get[*apiextensionsv1.CustomResourceDefinition](c, "", definitionName).Spec.Conversion.Webhook.ClientConfig.CABundle,
	} {
		require.Equal(t, string(cert), string(bundle))
	}
}
