package client_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// liar answers every request with one reply and counts the requests.
type liar struct {
	reply client.Response
	asked int
}

func (l *liar) Scheme() *scheme.Scheme { return api.Scheme() }

func (l *liar) Do(context.Context, *client.Request) (*client.Response, error) {
	l.asked++
	reply := l.reply
	if reply.ContentType == "" {
		reply.ContentType = client.MediaJSON
	}
	return &reply, nil
}

func (l *liar) Stream(context.Context, *client.Request) (*client.Stream, error) {
	l.asked++
	return &client.Stream{ContentType: l.reply.ContentType, Body: io.NopCloser(strings.NewReader(string(l.reply.Body)))}, nil
}

// A reply of another kind than requested is an error that names the kind, never an empty or nil object.
func TestOtherAnswers(t *testing.T) {
	ctx, key := t.Context(), types.NamespacedName{Namespace: "a", Name: "b"}
	ask := func(l *liar) (get, list error) {
		pods := client.For[*corev1.Pod](l)
		_, get = pods.Get(ctx, key)
		_, list = pods.List(ctx, client.ListOptions{})
		return get, list
	}
	for name, tc := range map[string]struct {
		reply     client.Response
		get, list string
	}{
		"success":   {client.Response{Code: 200, Body: []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`)}, "cannot decode pods a/b: the server answered with a Status, not with a Pod", "the server answered with a Status, not with a list"},
		"another":   {client.Response{Code: 200, Body: []byte(`{"kind":"ServiceList","apiVersion":"v1","items":[]}`)}, "the server answered with a ServiceList, not with a Pod", ""},
		"an object": {client.Response{Code: 200, Body: []byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"}}`)}, "answered with a Service, not with a Pod", "answered with a Service, not with a list"},
		"html":      {client.Response{Code: 200, ContentType: "text/html", Body: []byte(`<html>`)}, `unexpected content type "text/html": the reply may not come from an API server`, `unexpected content type "text/html"`},
		"redirect":  {client.Response{Code: 302, ContentType: "text/html", Header: map[string]string{"Location": "https://login"}}, `the server redirects (302) to "https://login"`, `the server redirects (302) to "https://login"`},
	} {
		t.Run(name, func(t *testing.T) {
			get, list := ask(&liar{reply: tc.reply})
			var bad *client.DecodeError
			require.ErrorAs(t, get, &bad)
			require.ErrorContains(t, get, tc.get)
			require.Equal(t, 1, strings.Count(get.Error(), "cannot decode"))
			if tc.list == "" {
				require.NoError(t, list)
				return
			}
			require.ErrorAs(t, list, &bad)
			require.ErrorContains(t, list, tc.list)
		})
	}
	// A Status of failure is an error, whatever the code of the reply.
	get, list := ask(&liar{reply: client.Response{Code: 200, Body: []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`)}})
	require.True(t, apierrors.IsForbidden(get) && apierrors.IsForbidden(list), "%v, %v", get, list)
	// Subresources answer with a plain success where they have nothing to say.
	plain := &liar{reply: client.Response{Code: 201, Body: []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`)}}
	got, err := client.Subresource[*policyv1.Eviction](client.For[*corev1.Pod](plain), "eviction").Create(ctx, key, &policyv1.Eviction{})
	require.NoError(t, err)
	require.Nil(t, got)
	// A watch of a server that is not an API server ends, and does not retry forever.
	for _, err := range client.For[*corev1.Pod](&liar{reply: client.Response{ContentType: "text/html"}}).Watch(ctx, client.WatchOptions{ResourceVersion: "1"}) {
		require.ErrorContains(t, err, "text/html")
	}
}

// Invalid calls fail before anything is sent.
func TestWrongCalls(t *testing.T) {
	ctx, l := t.Context(), &liar{}
	pods := client.For[*corev1.Pod](l)
	key := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	get := func(namespace, name string) func() error {
		return func() error { _, err := pods.Get(ctx, key(namespace, name)); return err }
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	for want, call := range map[string]func() error{
		"client: get of pods needs a name":            get("a", ""),
		"client: get of pods x needs a namespace":     get("", "x"),
		`client: get of pods: "a/b" cannot be a name`: get("a", "a/b"),
		`client: get of pods: ".." cannot be a name`:  get("a", ".."),
		`"../.." cannot be a namespace`: func() error {
			_, err := pods.List(ctx, client.ListOptions{Namespace: "../.."})
			return err
		},
		`client: watch of pods: "a%2fb" cannot be a namespace`: func() error {
			_, err := pods.WatchEncoded(ctx, client.EncodedWatchOptions{WatchOptions: client.WatchOptions{Namespace: "a%2fb"}})
			return err
		},
		"client: create of pods  needs a namespace":  func() error { _, err := pods.Create(ctx, pod); return err },
		"client: update of pods x needs a namespace": func() error { _, err := pods.Update(ctx, pod); return err },
		"client: delete of pods x needs a namespace": func() error { return pods.Delete(ctx, key("", "x")) },
		"client: Patch.Type is empty": func() error {
			_, err := pods.Patch(ctx, key("a", "x"), client.Patch{Data: []byte("{}")})
			return err
		},
	} {
		require.ErrorContains(t, call(), want)
	}
	for name, call := range map[string]func() error{
		"create":       func() error { _, err := pods.Create(ctx, nil); return err },
		"update":       func() error { _, err := pods.Update(ctx, nil); return err },
		"updateStatus": func() error { _, err := pods.UpdateStatus(ctx, nil); return err },
		"apply":        func() error { _, err := pods.Apply(ctx, nil, client.ApplyOptions{FieldManager: "me"}); return err },
		"getOrCreate":  func() error { _, err := client.GetOrCreate(ctx, pods, nil); return err },
		"sub": func() error {
			_, err := client.Subresource[*corev1.Binding](pods, "binding").Create(ctx, key("a", "x"), nil)
			return err
		},
	} {
		require.ErrorContains(t, call(), "client: no object to write to pods: it is nil", name)
	}
	require.Zero(t, l.asked)
}
