package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	upvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// refusal returns upstream's error for the options of a list or watch, or nil if they are valid: the query is
// decoded, defaulted and validated by its own functions.
func refusal(t *testing.T, q url.Values) *metav1.Status {
	var o internalversion.ListOptions
	require.NoError(t, internalversionscheme.ParameterCodec.DecodeParameters(q, metav1.SchemeGroupVersion, &o))
	internalversion.SetListOptionsDefaults(&o, true)
	errs := upvalidation.ValidateListOptions(&o, true)
	if len(errs) == 0 {
		return nil
	}
	status := apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs).Status()
	return &status
}

// Every combination of the options that select the state, on list, watch and deletecollection: what
// upstream's functions refuse we refuse with the same message, and other requests get the requested state, or
// the error of upstream's store for the version.
func TestListOptionsAsUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a version of the future takes seconds
		c := controllertest.Start(t, controllertest.Options{})
		cfg := clientGo(c, jsonType)
		hc, err := rest.HTTPClientFor(cfg)
		require.NoError(t, err)
		defer hc.CloseIdleConnections()
		cms := clientset(t, cfg).CoreV1().ConfigMaps("lists")
		_, err = clientset(t, cfg).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lists"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		var versions []string
		for i := range 4 {
			cm := configMap(fmt.Sprintf("c%d", i), nil)
			cm.Namespace = "lists"
			made, err := cms.Create(t.Context(), cm, metav1.CreateOptions{})
			require.NoError(t, err)
			versions = append(versions, made.ResourceVersion)
		}
		first, err := cms.List(t.Context(), metav1.ListOptions{Limit: 3})
		require.NoError(t, err)
		n := 0
		for q := range listQueries(versions[1], first.Continue) {
			for _, verb := range []string{"list", "watch", "deletecollection"} {
				askForState(t, hc, cfg.Host, verb, q, versions[1])
				n++
			}
		}
		require.Greater(t, n, 1000)
	})
}

// listQueries yields the combinations.
func listQueries(exact, token string) func(func(url.Values) bool) {
	return func(yield func(url.Values) bool) {
		for _, version := range []string{"", "0", exact, "1000000", "abc", "-1"} {
			for _, match := range []string{"", "Exact", "NotOlderThan", "Bogus"} {
				for _, limit := range []string{"", "2"} {
					for _, cont := range []string{"", token, "zzz"} {
						for _, initial := range []string{"", "true", "false"} {
							for _, marks := range []string{"", "true"} {
								q := url.Values{}
								for name, v := range map[string]string{"resourceVersion": version, "resourceVersionMatch": match, "limit": limit,
									"continue": cont, "sendInitialEvents": initial, "allowWatchBookmarks": marks} {
									if v != "" {
										q.Set(name, v)
									}
								}
								if !yield(q) {
									return
								}
							}
						}
					}
				}
			}
		}
	}
}

func askForState(t *testing.T, hc *http.Client, host, verb string, q url.Values, exact string) {
	t.Helper()
	method := map[string]string{"list": "GET", "watch": "GET", "deletecollection": "DELETE"}[verb]
	var body io.Reader
	if verb == "watch" {
		q.Set("watch", "1")
		q.Set("timeoutSeconds", "1")
	} else {
		q.Del("watch")
		q.Del("timeoutSeconds")
	}
	if verb == "deletecollection" {
		body = strings.NewReader(`{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`)
	}
	want := refusal(t, q)
	r, err := http.NewRequest(method, host+"/api/v1/namespaces/lists/configmaps?"+q.Encode(), body)
	require.NoError(t, err)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := hc.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	what := fmt.Sprintf("%s %s: %s", verb, q.Encode(), got)
	if want != nil {
		var status metav1.Status
		require.NoError(t, json.Unmarshal(got, &status), what)
		require.EqualValues(t, want.Code, status.Code, what)
		require.Equal(t, want.Message, status.Message, what)
		require.Equal(t, want.Details.Causes, status.Details.Causes, what)
		require.Equal(t, want.Details.Kind, status.Details.Kind, what)
		return
	}
	version, match, cont := q.Get("resourceVersion"), q.Get("resourceVersionMatch"), q.Get("continue")
	if verb == "watch" {
		switch version {
		case "abc", "-1":
			require.Equal(t, http.StatusBadRequest, resp.StatusCode, what)
		case "1000000":
			if q.Get("sendInitialEvents") == "true" {
				requireTooLarge(t, resp.StatusCode, got, what)
				return
			}
			require.Equal(t, http.StatusOK, resp.StatusCode, what)
			require.Empty(t, got, what)
		default:
			require.Equal(t, http.StatusOK, resp.StatusCode, what)
			requireEvents(t, q, got, exact)
		}
		return
	}
	switch {
	case cont == "zzz", cont != "" && version != "" && version != "0":
		require.Equal(t, http.StatusBadRequest, resp.StatusCode, what)
	case version == "abc", version == "-1":
		require.Equal(t, http.StatusBadRequest, resp.StatusCode, what)
	case version == "1000000":
		requireTooLarge(t, resp.StatusCode, got, what)
	default:
		require.Equal(t, http.StatusOK, resp.StatusCode, what)
		var list struct {
			Metadata metav1.ListMeta
			Items    []struct{ Metadata metav1.ObjectMeta }
		}
		require.NoError(t, json.Unmarshal(got, &list), what)
		var names []string
		for _, i := range list.Items {
			names = append(names, strings.TrimPrefix(i.Metadata.Name, "c"))
		}
		wantNames := "0123"
		switch limited := q.Get("limit") != ""; {
		case cont != "":
			wantNames = "3"
		case version == exact && (match == "Exact" || match == "" && limited):
			wantNames = "01"
			require.Equal(t, exact, list.Metadata.ResourceVersion, what)
		case limited && version != "0":
			wantNames = "01"
			require.NotEmpty(t, list.Metadata.Continue, what)
			require.EqualValues(t, 2, *list.Metadata.RemainingItemCount, what)
		}
		require.Equal(t, wantNames, strings.Join(names, ""), what)
	}
}

// requireTooLarge requires the error by which client-go recognises that it must wait or list again.
func requireTooLarge(t *testing.T, code int, body []byte, what string) {
	t.Helper()
	var status metav1.Status
	require.NoError(t, json.Unmarshal(body, &status), what)
	require.Equal(t, http.StatusGatewayTimeout, code, what)
	err := &apierrors.StatusError{ErrStatus: status}
	require.True(t, apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge), what)
	require.EqualValues(t, 1, status.Details.RetryAfterSeconds, what)
}

// requireEvents requires the initial state, unless the watch begins at a version, and the bookmark after it
// if bookmarks were requested.
func requireEvents(t *testing.T, q url.Values, body []byte, exact string) {
	t.Helper()
	what := q.Encode()
	var names string
	ended := false
	for line := range strings.Lines(string(body)) {
		var e struct {
			Type   string
			Object struct{ Metadata metav1.ObjectMeta }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e), what)
		switch e.Type {
		case "ADDED":
			require.False(t, ended, what)
			names += strings.TrimPrefix(e.Object.Metadata.Name, "c")
		case "BOOKMARK":
			require.Equal(t, "true", q.Get("allowWatchBookmarks"), what)
			ended = ended || e.Object.Metadata.Annotations[metav1.InitialEventsAnnotationKey] == "true"
		default:
			require.Fail(t, "unexpected event", "%s: %s", what, line)
		}
	}
	version, initial := q.Get("resourceVersion"), q.Get("sendInitialEvents")
	all := initial == "true" || initial == "" && (version == "" || version == "0")
	want := ""
	switch {
	case all:
		want = "0123"
	case version == exact:
		want = "23"
	}
	require.Equal(t, want, names, what)
	require.Equal(t, all && q.Get("allowWatchBookmarks") == "true", ended, what)
}
