package interop

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// colours gives ConfigMaps a colour, and refuses some.
type colours struct{}

func (colours) Default(ctx context.Context, cm *corev1.ConfigMap) error {
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return err
	}
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
	if cm.Data["colour"] == "" {
		cm.Data["colour"] = "blue"
	}
	cm.Data["by"] = req.UserInfo.Username + " " + string(req.Operation)
	return nil
}

func (colours) ValidateCreate(_ context.Context, cm *corev1.ConfigMap) (admission.Warnings, error) {
	if cm.Data["colour"] == "red" {
		return nil, fmt.Errorf("red is taken")
	}
	return admission.Warnings{"colours fade"}, nil
}

func (colours) ValidateUpdate(_ context.Context, old, cm *corev1.ConfigMap) (admission.Warnings, error) {
	if old.Data["colour"] != cm.Data["colour"] {
		return nil, apierrors.NewForbidden(corev1.Resource("configmaps"), cm.Name, fmt.Errorf("the colour stays %s", old.Data["colour"]))
	}
	return nil, nil
}

func (colours) ValidateDelete(_ context.Context, cm *corev1.ConfigMap) (admission.Warnings, error) {
	if cm.Labels["keep"] != "" {
		return nil, fmt.Errorf("it is kept")
	}
	return nil, nil
}

// heard records the warnings of the server.
type heard struct{ texts []string }

func (w *heard) HandleWarningHeader(_ int, _ string, text string) { w.texts = append(w.texts, text) }

// An unmodified controller-runtime webhook server, over TLS, mutates and validates.
func TestControllerRuntimeWebhooks(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	hooks := webhook.NewServer(webhook.Options{})
	hooks.Register("/mutate", admission.WithDefaulter[*corev1.ConfigMap](scheme, colours{}))
	hooks.Register("/validate", admission.WithValidator[*corev1.ConfigMap](scheme, colours{}))
	server := httptest.NewTLSServer(hooks.WebhookMux())
	t.Cleanup(server.Close)

	cfg := clientGo(c, jsonType)
	warned := &heard{}
	cfg.WarningHandler = warned
	cs := clientset(t, cfg)
	configure(t, cs.AdmissionregistrationV1(), server, []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll})

	maps := cs.CoreV1().ConfigMaps("default")
	made, err := maps.Create(t.Context(), configMap("a", nil), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"colour": "blue", "by": "kubernetes-admin CREATE"}, made.Data)
	require.Equal(t, []string{"colours fade"}, warned.texts)

	_, err = maps.Create(t.Context(), configMap("b", map[string]string{"colour": "red"}), metav1.CreateOptions{})
	require.EqualError(t, err, `admission webhook "validate.colours.test" denied the request: red is taken`)
	require.True(t, apierrors.IsForbidden(err))

	made.Data["colour"] = "green"
	_, err = maps.Update(t.Context(), made, metav1.UpdateOptions{})
	require.EqualError(t, err, `admission webhook "validate.colours.test" denied the request: configmaps "a" is forbidden: the colour stays blue`)

	made.Data["colour"], made.Labels = "blue", map[string]string{"keep": "yes"}
	_, err = maps.Update(t.Context(), made, metav1.UpdateOptions{})
	require.NoError(t, err)
	err = maps.Delete(t.Context(), "a", metav1.DeleteOptions{})
	require.EqualError(t, err, `admission webhook "validate.colours.test" denied the request: it is kept`)

	dry, err := maps.Create(t.Context(), configMap("dry", nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	require.Equal(t, "blue", dry.Data["colour"])
	_, err = maps.Get(t.Context(), "dry", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))

	// The failure policy applies to a webhook that is down.
	server.Close()
	_, err = maps.Create(t.Context(), configMap("c", nil), metav1.CreateOptions{})
	require.True(t, apierrors.IsInternalError(err), "%v", err)
	require.ErrorContains(t, err, `failed calling webhook "mutate.colours.test": failed to call webhook`)
}

// configure registers both webhooks of a server for ConfigMaps.
func configure(t *testing.T, api admissionclient.AdmissionregistrationV1Interface, server *httptest.Server, ops []admissionregistrationv1.OperationType) {
	t.Helper()
	none := admissionregistrationv1.SideEffectClassNone
	rules := []admissionregistrationv1.RuleWithOperations{{Operations: ops,
		Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}}
	at := func(path string) admissionregistrationv1.WebhookClientConfig {
		url := server.URL + path
		return admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	}
	_, err := api.MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "colours"}, Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mutate.colours.test", ClientConfig: at("/mutate"), Rules: rules, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = api.ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "colours"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.colours.test", ClientConfig: at("/validate"), Rules: rules, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}
