package controlplane_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/podsecurity"
)

// warned is a connection that collects the warnings of responses, a line each.
type warned struct {
	client.Conn
	texts strings.Builder
}

func (w *warned) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	resp, err := w.Conn.Do(ctx, r)
	if resp != nil {
		for _, text := range resp.Warnings {
			w.texts.WriteString(text + "\n")
		}
	}
	return resp, err
}

// take returns the warnings and forgets them.
func (w *warned) take() string {
	defer w.texts.Reset()
	return w.texts.String()
}

// Pods are refused, and templates warned of, by the labels of their namespace and the configured defaults.
func TestPodSecurity(t *testing.T) {
	p := planetest.StartForPods(t, func(o *controlplane.Options) {
		o.AdmissionConfiguration.PodSecurity = podsecurity.Configuration{Defaults: podsecurity.Defaults{Warn: "restricted"}, Exemptions: podsecurity.Exemptions{Usernames: []string{"ann"}}}
	})
	warnings := &warned{Conn: p.Admin()}
	planetest.Create(t, warnings, planetest.Pod("plain"))
	require.Contains(t, warnings.take(), `would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set`)

	spaces := client.For[*corev1.Namespace](p.Admin())
	labelled, err := spaces.Get(t.Context(), planetest.Key("", "default"))
	require.NoError(t, err)
	labelled.Labels["pod-security.kubernetes.io/enforce"] = "tight"
	_, err = spaces.Update(t.Context(), labelled)
	require.True(t, apierrors.IsInvalid(err), err)
	require.ErrorContains(t, err, `Namespace "default" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "tight": must be one of privileged, baseline, restricted`)
	labelled.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	_, err = client.For[*corev1.Namespace](warnings).Update(t.Context(), labelled)
	require.NoError(t, err)
	require.Equal(t, `existing pods in namespace "default" violate the new PodSecurity enforce level "restricted:latest"
plain: allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile
`, warnings.take())

	p.Eventually("pods are refused", func() bool {
		_, err = client.For[*corev1.Pod](p.Admin()).Create(t.Context(), planetest.Pod("late"), client.CreateOptions{DryRun: true})
		return err != nil
	})
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `pods "late" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), `)
	planetest.Create(t, p.As("ann", "system:masters"), planetest.Pod("exempt"))
	labels := map[string]string{"a": "b"}
	planetest.Create(t, warnings, &appsv1.Deployment{ObjectMeta: planetest.Meta("default", "web"), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: planetest.Pod("").Spec}}})
	require.Contains(t, warnings.take(), `would violate PodSecurity "restricted:latest": `)
	existing, err := client.For[*corev1.Pod](p.Admin()).Get(t.Context(), planetest.Key("default", "plain"))
	require.NoError(t, err)
	existing.Labels = labels
	_, err = client.For[*corev1.Pod](p.Admin()).Update(t.Context(), existing)
	require.NoError(t, err, "nothing of the spec changes")

	_, err = controlplane.New(controlplane.Options{ServiceAccountKeys: []any{planetest.SigningKey(t)}, AdmissionConfiguration: admission.Configuration{PodSecurity: podsecurity.Configuration{Defaults: podsecurity.Defaults{Audit: "x"}}}})
	require.ErrorContains(t, err, `defaults.audit: Invalid value: "x"`)
}
