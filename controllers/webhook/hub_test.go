package webhook_test

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/controllers/webhook"
)

// The versions of a Clock: v2 is the hub, v1 has one string for hours and minutes, and v3 has minutes only.
type (
	ClockV1 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Time              string `json:"time"`
	}
	ClockV2 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Hours, Minutes    int
	}
	ClockV3 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Minutes           int
	}
)

func (c *ClockV1) ConvertTo(hub *ClockV2) error {
	var ok bool
	var hours, minutes string
	if hours, minutes, ok = strings.Cut(c.Time, ":"); !ok {
		return errors.New("the time has no colon")
	}
	for text, to := range map[string]*int{hours: &hub.Hours, minutes: &hub.Minutes} {
		if err := codec.Unmarshal([]byte(strings.TrimLeft(text, "0")), to); err != nil {
			return err
		}
	}
	hub.Annotations = map[string]string{"from": "v1"}
	return nil
}

func (c *ClockV1) ConvertFrom(hub *ClockV2) error {
	c.Time = string(rune('0'+hub.Hours/10)) + string(rune('0'+hub.Hours%10)) + ":" + string(rune('0'+hub.Minutes/10)) + string(rune('0'+hub.Minutes%10))
	return nil
}

func TestConversionByHub(t *testing.T) {
	version := func(v string) schema.GroupVersion { return schema.GroupVersion{Group: "example.com", Version: v} }
	h := webhook.ConversionByHub(version("v2"),
		webhook.SpokeOf(version("v1"), (*ClockV1).ConvertTo, (*ClockV1).ConvertFrom),
		webhook.SpokeOf(version("v3"),
			func(c *ClockV3, hub *ClockV2) error { hub.Hours, hub.Minutes = c.Minutes/60, c.Minutes%60; return nil },
			func(c *ClockV3, hub *ClockV2) error { c.Minutes = hub.Hours*60 + hub.Minutes; return nil }))
	convert := func(to string, objs ...string) *apiextensionsv1.ConversionResponse {
		body := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"example.com/` + to + `","objects":[` + strings.Join(objs, ",") + `]}}`
		req := httptest.NewRequest("POST", "/convert", bytes.NewReader([]byte(body)))
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		var review apiextensionsv1.ConversionReview
		require.NoError(t, codec.Unmarshal(rec.Body.Bytes(), &review))
		return review.Response
	}
	const meta = `"metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"7","generation":3,"labels":{"x":"y"},"finalizers":["f"],"managedFields":[{"manager":"m"}]`
	v1 := `{"apiVersion":"example.com/v1","kind":"Clock",` + meta + `},"time":"11:59"}`
	v2 := `{"apiVersion":"example.com/v2","kind":"Clock",` + meta + `},"Hours":11,"Minutes":59}`
	v3 := `{"apiVersion":"example.com/v3","kind":"Clock",` + meta + `},"Minutes":719}`
	annotated := func(s string) string {
		return strings.Replace(s, `"labels"`, `"annotations":{"from":"v1"},"labels"`, 1)
	}
	for _, c := range []struct{ to, from, want string }{
		{"v2", v1, annotated(v2)}, {"v1", v2, v1}, {"v3", v2, v3}, {"v2", v3, v2}, {"v1", v3, v1}, {"v3", v1, annotated(v3)}, {"v1", v1, v1},
	} {
		answer := convert(c.to, c.from)
		require.Equal(t, metav1.StatusSuccess, answer.Result.Status, answer.Result.Message)
		require.JSONEq(t, c.want, string(answer.ConvertedObjects[0].Raw))
	}
	require.Len(t, convert("v2", v1, v2, v3).ConvertedObjects, 3)
	require.Contains(t, convert("v9", v1).Result.Message, "there is no conversion for example.com/v9: the versions are example.com/v1, example.com/v2, example.com/v3")
	require.Contains(t, convert("v2", strings.Replace(v1, "11:59", "noon", 1)).Result.Message, "convert Clock b/a from example.com/v1 to example.com/v2: the time has no colon")
}
