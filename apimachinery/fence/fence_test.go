package fence_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

func lease(ns, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: ns, Name: name}
}

func TestTokenSurvivesItsText(t *testing.T) {
	for _, token := range []fence.Token{
		{Lease: lease("kube-system", "kube-controller-manager"), Holder: "node-1_0b7c", Transitions: 0},
		{Lease: lease("", "cluster-wide"), Holder: "a", Transitions: 7},
		{Lease: lease("ns", "x"), Holder: "semi;colon, slash/ per%cent \r\n ünïcode", Transitions: 2147483647},
	} {
		text := token.String()
		require.NotContains(t, text, "\n")
		require.NotContains(t, text, "\r")
		got, err := fence.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, token, got)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "x", "ns/name", "ns/name;1", "ns/name;;me", "ns/name;-1;me", "ns/name;2147483648;me",
		"ns/name;1;", "ns/;1;me", "name;1;me", "ns/name;01;me", "ns/name;+1;me", "ns/name;1;%6De", "ns/name;1;%zz",
		"ns/na/me;1;me", "ns/name;1;me;too", strings.Repeat("a", 1000),
	} {
		_, err := fence.Parse(text)
		require.ErrorIs(t, err, fence.ErrMalformed, text)
	}
}

func TestContextCarriesToken(t *testing.T) {
	ctx := context.Background()
	require.Empty(t, fence.Value(ctx, ""))
	token := fence.Token{Lease: lease("ns", "x"), Holder: "me", Transitions: 3}
	ctx = fence.WithToken(ctx, token)
	got, ok := fence.FromContext(context.WithoutCancel(ctx))
	require.True(t, ok)
	require.Equal(t, token, got)
	require.Equal(t, "ns/x;3;me", fence.Value(ctx, ""))
	require.Empty(t, fence.Value(fence.WithoutToken(ctx), ""))
	require.Equal(t, "ns/x;3;me", fence.Value(ctx, "any"))
	ctx = fence.WithTokenFor(ctx, token, "hub")
	require.Equal(t, "ns/x;3;me", fence.Value(ctx, "hub"))
	require.Equal(t, "ns/x;3;me", fence.Value(ctx, ""))
	require.Empty(t, fence.Value(ctx, "member"))
	var seen []string
	fence.Sent(ctx, "hub")
	fence.Sent(fence.WithWitness(ctx, func(s string) { seen = append(seen, s) }), "hub")
	require.Equal(t, []string{"hub"}, seen)
}

func FuzzParse(f *testing.F) {
	f.Add("ns/name;1;me")
	f.Add("/name;0;%2F")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := fence.Parse(text)
		if err == nil {
			require.Equal(t, text, token.String())
		}
	})
}

func Example() {
	ctx := fence.WithToken(context.Background(), fence.Token{
		Lease:       types.NamespacedName{Namespace: "kube-system", Name: "my-operator"},
		Holder:      "pod-1",
		Transitions: 4,
	})
	fmt.Println(fence.Header+":", fence.Value(ctx, ""))
	// Output: Keelson-Fence: kube-system/my-operator;4;pod-1
}
