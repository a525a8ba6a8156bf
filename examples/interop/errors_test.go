package interop

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// Each of upstream's predicates is true for its error, and for no other.
func TestErrorPredicates(t *testing.T) {
	predicates := map[string]func(error) bool{
		"NotFound": apierrors.IsNotFound, "AlreadyExists": apierrors.IsAlreadyExists, "Conflict": apierrors.IsConflict,
		"Invalid": apierrors.IsInvalid, "Forbidden": apierrors.IsForbidden, "Unauthorized": apierrors.IsUnauthorized,
		"BadRequest": apierrors.IsBadRequest, "TooManyRequests": apierrors.IsTooManyRequests, "MethodNotSupported": apierrors.IsMethodNotSupported,
		"UnsupportedMediaType": apierrors.IsUnsupportedMediaType, "RequestEntityTooLarge": apierrors.IsRequestEntityTooLargeError,
		"ResourceExpired": apierrors.IsResourceExpired, "NotAcceptable": apierrors.IsNotAcceptable,
	}
	bothTypes(t, func(t *testing.T, contentType string) {
		ctx := t.Context()
		c := controllertest.Start(t, controllertest.Options{})
		cs := clientset(t, clientGo(c, contentType))
		cms := cs.CoreV1().ConfigMaps("default")
		nobody := clientset(t, clientGo(c, contentType, client.User{Name: "nobody"})).CoreV1().ConfigMaps("default")
		unknown := clientGo(c, contentType)
		unknown.CertData, unknown.KeyData, unknown.BearerToken = nil, nil, "wrong"
		stranger := clientset(t, unknown).CoreV1().ConfigMaps("default")
		old, err := cms.Create(ctx, configMap("a", nil), metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = cms.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"x":"y"}}`), metav1.PatchOptions{})
		require.NoError(t, err)

		for _, tc := range []struct {
			want, field string
			do          func() error
		}{
			{"NotFound", "", func() error { _, err := cms.Get(ctx, "none", metav1.GetOptions{}); return err }},
			{"NotFound", "", func() error { return cms.Delete(ctx, "none", metav1.DeleteOptions{}) }},
			{"AlreadyExists", "", func() error { _, err := cms.Create(ctx, configMap("a", nil), metav1.CreateOptions{}); return err }},
			{"Conflict", "", func() error {
				stale := old.DeepCopy()
				_, err := cms.Update(ctx, stale, metav1.UpdateOptions{})
				return err
			}},
			{"Conflict", "", func() error {
				uid := types.UID("another")
				return cms.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
			}},
			{"Invalid", "metadata.name", func() error {
				_, err := cms.Create(ctx, configMap("Not A Name", nil), metav1.CreateOptions{})
				return err
			}},
			{"Invalid", "spec.containers", func() error {
				p := pod("p")
				p.Spec.Containers = nil
				_, err := cs.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{})
				return err
			}},
			{"Forbidden", "", func() error { _, err := nobody.Get(ctx, "a", metav1.GetOptions{}); return err }},
			{"Unauthorized", "", func() error { _, err := stranger.Get(ctx, "a", metav1.GetOptions{}); return err }},
			{"BadRequest", "", func() error { _, err := cms.List(ctx, metav1.ListOptions{LabelSelector: "(("}); return err }},
			{"MethodNotSupported", "", func() error {
				return cs.CoreV1().RESTClient().Delete().AbsPath("/api/v1/nodes/x/status").Do(ctx).Error()
			}},
			{"UnsupportedMediaType", "", func() error {
				return cs.CoreV1().RESTClient().Patch("application/nonsense").AbsPath("/api/v1/namespaces/default/configmaps/a").Body([]byte("{}")).Do(ctx).Error()
			}},
			{"RequestEntityTooLarge", "", func() error {
				return cs.CoreV1().RESTClient().Post().AbsPath("/api/v1/namespaces/default/configmaps").
					SetHeader("Content-Type", "application/json").Body(bytes.Repeat([]byte(" "), 4<<20)).Do(ctx).Error()
			}},
			{"NotAcceptable", "", func() error {
				return cs.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default/configmaps/a").SetHeader("Accept", "text/csv").Do(ctx).Error()
			}},
		} {
			err := tc.do()
			require.Error(t, err, tc.want)
			for name, is := range predicates {
				require.Equal(t, name == tc.want, is(err), "Is%s for %s: %v", name, tc.want, err)
			}
			if tc.field != "" {
				st := err.(apierrors.APIStatus).Status()
				require.Equal(t, metav1.StatusReasonInvalid, st.Reason)
				require.NotEmpty(t, st.Details.Causes)
				require.Equal(t, tc.field, st.Details.Causes[0].Field)
			}
		}
	})
}

// An overloaded server answers 429 with Retry-After, which client-go honours: it retries and succeeds.
func TestTooManyRequestsIsRetried(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	cfg := clientGo(c, jsonType)
	refused := 0
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if refused++; refused <= 2 && strings.Contains(r.URL.Path, "configmaps") {
				return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"0"}}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
			}
			return next.RoundTrip(r)
		})
	})
	_, err := clientset(t, cfg).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, 3, refused)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Unknown fields are warnings or errors, as requested, and client-go receives them.
func TestFieldValidationWarnings(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	cfg := clientGo(c, jsonType)
	var got warnings
	cfg.WarningHandler = nil
	cfg.WarningHandlerWithContext = &got
	cs := clientset(t, cfg)
	body := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"w"},"dato":{"a":"b"}}`)
	post := func(validation string) error {
		return cs.CoreV1().RESTClient().Post().Namespace("default").Resource("configmaps").Param("fieldValidation", validation).
			SetHeader("Content-Type", "application/json").Body(body).Do(t.Context()).Error()
	}
	require.True(t, apierrors.IsBadRequest(post("Strict")))
	require.NoError(t, post("Warn"))
	require.Equal(t, warnings{`unknown field "dato"`}, got)
}

type warnings []string

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _ string, text string) {
	if code == 299 {
		*w = append(*w, text)
	}
}

var _ rest.WarningHandlerWithContext = (*warnings)(nil)
