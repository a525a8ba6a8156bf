package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/admissionv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/webhook"
)

// Website has fewer fields than the objects in the tests.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebsiteSpec `json:"spec"`
}

type WebsiteSpec struct {
	Image string `json:"image,omitempty"`
	Pages []Page `json:"pages"`
}

type Page struct {
	Path string `json:"path"`
}

var websites = client.Resource{GVR: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "websites"}, Namespaced: true}

// operator is the webhook server of an operator.
func operator() *webhook.Server {
	s := webhook.New(webhook.Options{})
	s.Handle("/mutate", webhook.Mutating(func(_ context.Context, r *webhook.Request, site *Website) error {
		if site.Spec.Image == "" {
			site.Spec.Image = "nginx"
			r.Warn("no image: nginx it is")
		}
		if len(site.Spec.Pages) == 0 {
			site.Spec.Pages = []Page{{Path: "/"}}
		}
		return nil
	}))
	s.Handle("/validate", webhook.Validating(func(_ context.Context, r *webhook.Request, site *Website) error {
		old, had, err := webhook.Old[*Website](r)
		switch {
		case err != nil:
			return err
		case r.Operation == admissionv1.Delete && site.Labels["keep"] != "":
			return errors.New("it is to be kept")
		case r.Operation == admissionv1.Update && had && old.Spec.Image != site.Spec.Image:
			return apierrors.NewConflict(websites.GVR.GroupResource(), site.Name, errors.New("the image is fixed"))
		case site.Spec.Image == "panic":
			panic("boom")
		}
		return nil
	}))
	s.Handle("/convert", webhook.Conversion(func(_ context.Context, obj *metav1.Unstructured, to schema.GroupVersion) error {
		spec, _ := obj.Fields["spec"].(map[string]any)
		from, into := "image", "container"
		if to.Version == "v1" {
			from, into = into, from
		}
		if v, ok := spec[from]; ok {
			spec[into] = v
			delete(spec, from)
		}
		if spec["refuse"] == to.Version {
			return errors.New("no such thing")
		}
		return nil
	}))
	return s
}

func start(t *testing.T) *controllertest.Cluster {
	s := api.Scheme().Clone()
	require.NoError(t, scheme.Add[*Website](s, websites.GVR.GroupVersion(), scheme.Kind{Resource: "websites", Namespaced: true}))
	return controllertest.Start(t, controllertest.Options{Scheme: s, CRDs: os.DirFS("testdata/crd"),
		Webhooks: controllertest.Webhooks{Config: os.DirFS("testdata/webhook"), Handler: operator()}})
}

func site(name string, spec map[string]any) *metav1.Unstructured {
	return &metav1.Unstructured{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Website"},
		ObjectMeta: controllertest.Name("default", name), Fields: map[string]any{"spec": spec}}
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

// The real server calls the handlers over TLS, in the bubble, and no time passes.
func TestWebhooksOfARealServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		var warnings []string
		conn, err := rest.New(c.Config(), rest.Options{Warnings: func(w rest.Warning) { warnings = append(warnings, w.Text) }})
		require.NoError(t, err)
		defer conn.Close()
		raw := client.ForResource[*metav1.Unstructured](conn, websites)

		made, err := raw.Create(t.Context(), site("a", map[string]any{"extra": map[string]any{"x": int64(1)}}))
		require.NoError(t, err)
		require.Equal(t, map[string]any{"image": "nginx", "pages": []any{map[string]any{"path": "/"}}, "extra": map[string]any{"x": int64(1)}}, made.Fields["spec"],
			"fields that the type does not have are kept")
		require.Equal(t, []string{"no image: nginx it is"}, warnings)

		made.Fields["spec"].(map[string]any)["image"] = "other"
		_, err = raw.Update(t.Context(), made)
		require.True(t, apierrors.IsConflict(err), "%v", err)
		require.ErrorContains(t, err, "the image is fixed")
		_, err = raw.Create(t.Context(), site("b", map[string]any{"image": "panic"}))
		require.ErrorContains(t, err, "panic: boom")
		_, err = raw.Create(t.Context(), site("c", map[string]any{"pages": "none"}))
		require.True(t, apierrors.IsBadRequest(err), "%v", err)

		keep := site("keep", map[string]any{})
		keep.Labels = map[string]string{"keep": "me"}
		_, err = raw.Create(t.Context(), keep)
		require.NoError(t, err)
		err = raw.Delete(t.Context(), key("keep"))
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		require.ErrorContains(t, err, "it is to be kept")
		require.NoError(t, raw.Delete(t.Context(), key("a")))
	})
}

// A handler of requests that are not decoded is called for kinds of any type and for CONNECT; its patch and
// its refusal are those of the answer.
func TestAdmissionByARealServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := webhook.New(webhook.Options{})
		s.Handle("/label", webhook.Admission(func(_ context.Context, r *webhook.Request, answer *admissionv1.AdmissionResponse) error {
			r.Warn("seen " + r.Kind.Kind)
			if r.Operation == admissionv1.Connect {
				return errors.New("no way into " + r.Name)
			}
			answer.UID = "wrong"
			answer.Patch, answer.PatchType = []byte(`[{"op":"add","path":"/metadata/labels","value":{"seen":"yes"}}]`), new(admissionv1.PatchTypeJSONPatch)
			return nil
		}))
		c := controllertest.Start(t, controllertest.Options{Webhooks: controllertest.Webhooks{Config: os.DirFS("testdata/any"), Handler: s}})
		cm := controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")})
		require.Equal(t, map[string]string{"seen": "yes"}, cm.Labels)
		secret := controllertest.Create(c, &corev1.Secret{ObjectMeta: controllertest.Name("default", "a")})
		require.Equal(t, map[string]string{"seen": "yes"}, secret.Labels)
		controllertest.Create(c, &corev1.Pod{ObjectMeta: controllertest.Name("default", "p"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}})
		_, err := c.Admin().Do(t.Context(), &client.Request{Resource: corev1.GroupVersion.WithResource("pods"), Namespace: "default", Name: "p", Subresource: "proxy"})
		require.ErrorContains(t, err, "no way into p")
	})
}

func TestConversionByARealServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		old := websites
		old.GVR.Version = "v1beta1"
		v1, beta := client.ForResource[*metav1.Unstructured](c.Conn(), websites), client.ForResource[*metav1.Unstructured](c.Conn(), old)
		_, err := v1.Create(t.Context(), site("a", map[string]any{"image": "httpd", "pages": []any{map[string]any{"path": "/"}}}))
		require.NoError(t, err)
		got, err := beta.Get(t.Context(), key("a"))
		require.NoError(t, err)
		require.Equal(t, "example.com/v1beta1", got.APIVersion)
		require.Equal(t, "httpd", got.Fields["spec"].(map[string]any)["container"])
		list, err := beta.List(t.Context(), client.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, "httpd", list.Items[0].Fields["spec"].(map[string]any)["container"])
		got.Fields["spec"].(map[string]any)["refuse"] = "v1"
		_, err = beta.Update(t.Context(), got)
		require.ErrorContains(t, err, "no such thing")
	})
}

// What is no review is refused with the status that says why.
func TestMalformedRequests(t *testing.T) {
	s := operator()
	post := func(method, path, contentType, body string) int {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	for _, path := range []string{"/mutate", "/validate", "/convert"} {
		require.Equal(t, http.StatusMethodNotAllowed, post("GET", path, "application/json", "{}"))
		require.Equal(t, http.StatusUnsupportedMediaType, post("POST", path, "text/plain", "{}"))
		require.Equal(t, http.StatusBadRequest, post("POST", path, "application/json", "{"))
		require.Equal(t, http.StatusBadRequest, post("POST", path, "application/json", `{"apiVersion":"v1","kind":"Pod"}`))
		require.Equal(t, http.StatusBadRequest, post("POST", path, "application/json; charset=utf-8", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`))
	}
	require.Equal(t, http.StatusOK, post("GET", "/healthz", "", ""))
	require.Equal(t, http.StatusNotFound, post("GET", "/elsewhere", "", ""))
}
