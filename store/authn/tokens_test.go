package authn_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/authn"
)

func keys(t testing.TB) map[string]any {
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	out := map[string]any{"RS256": r}
	for name, c := range map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521()} {
		k, err := ecdsa.GenerateKey(c, rand.Reader)
		require.NoError(t, err)
		out[name] = k
	}
	return out
}

func claims() authn.TokenClaims {
	return authn.TokenClaims{Namespace: "ns", ServiceAccount: authn.ObjectRef{Name: "robot", UID: "u1"},
		Pod: &authn.ObjectRef{Name: "pod-0", UID: "u2"}, Expires: time.Now().Add(time.Hour)}
}

func TestServiceAccountTokens(t *testing.T) {
	for alg, key := range keys(t) {
		t.Run(alg, func(t *testing.T) {
			tokens, err := authn.NewTokens(authn.TokensOptions{Issuers: []string{"https://me"}, Keys: []any{key}})
			require.NoError(t, err)
			token, err := tokens.Sign(claims())
			require.NoError(t, err)
			resp, ok, err := tokens.AuthenticateToken(t.Context(), token)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, "system:serviceaccount:ns:robot", resp.User.Name)
			require.Equal(t, "u1", resp.User.UID)
			require.Equal(t, []string{"system:serviceaccounts", "system:serviceaccounts:ns"}, resp.User.Groups)
			require.Equal(t, []string{"pod-0"}, resp.User.Extra[authn.ExtraPodName])
			require.Equal(t, []string{"https://me"}, resp.Audiences)

			// A token with any character changed is invalid, or not a JWT.
			for i := 0; i < len(token); i += 7 {
				changed := []byte(token)
				if changed[i] == 'A' {
					changed[i] = 'B'
				} else {
					changed[i] = 'A'
				}
				_, ok, _ := tokens.AuthenticateToken(t.Context(), string(changed))
				require.False(t, ok, "position %d", i)
			}
		})
	}
}

func TestTokensAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		alive := true
		mine, err := authn.NewTokens(authn.TokensOptions{Issuers: []string{"https://me", "https://old"}, Keys: []any{key}, Audiences: []string{"api"},
			Lookup: func(context.Context, *authn.TokenClaims) error {
				if !alive {
					return errors.New("pod ns/pod-0 has been deleted")
				}
				return nil
			}})
		require.NoError(t, err)
		try := func(ctx context.Context, token string) (bool, error) {
			_, ok, err := mine.AuthenticateToken(ctx, token)
			return ok, err
		}
		foreign := func(issuer string, k any) string {
			f, err := authn.NewTokens(authn.TokensOptions{Issuers: []string{issuer}, Keys: []any{k}, Audiences: []string{"api"}})
			require.NoError(t, err)
			token, err := f.Sign(claims())
			require.NoError(t, err)
			return token
		}
		ok, err := try(t.Context(), foreign("https://elsewhere", other))
		require.NoError(t, err, "another issuer's token is not our business")
		require.False(t, ok)
		ok, err = try(t.Context(), foreign("https://me", other))
		require.ErrorContains(t, err, "signature")
		require.False(t, ok)
		ok, err = try(t.Context(), foreign("https://old", key))
		require.NoError(t, err, "the issuer before a rename is still accepted")
		require.True(t, ok)

		c := claims()
		c.Audiences = []string{"vault"}
		token, err := mine.Sign(c)
		require.NoError(t, err)
		_, err = try(t.Context(), token)
		require.ErrorContains(t, err, "audiences")
		ok, err = try(authn.WithAudiences(t.Context(), []string{"vault", "x"}), token)
		require.NoError(t, err)
		require.True(t, ok)

		token, err = mine.Sign(claims())
		require.NoError(t, err)
		alive = false
		_, err = try(t.Context(), token)
		require.ErrorContains(t, err, "has been deleted")
		alive = true
		time.Sleep(time.Hour + time.Second)
		_, err = try(t.Context(), token)
		require.ErrorContains(t, err, "expired")
	})
}

// A header with critical extensions is refused, whatever they are: RFC 7515, 4.1.11.
func TestTokensWithCriticalExtensionsAreRefused(t *testing.T) {
	key := keys(t)["ES256"].(*ecdsa.PrivateKey)
	tokens, err := authn.NewTokens(authn.TokensOptions{Issuers: []string{"https://me"}, Keys: []any{key}})
	require.NoError(t, err)
	good, err := tokens.Sign(claims())
	require.NoError(t, err)
	enc := base64.RawURLEncoding
	for header, ok := range map[string]bool{
		`{"alg":"ES256"}`: true, `{"alg":"ES256","typ":"JWT"}`: true,
		`{"alg":"ES256","crit":["exp"],"exp":1}`: false, `{"alg":"ES256","crit":["b64"],"b64":true}`: false, `{"alg":"ES256","crit":[]}`: false, `{"alg":"ES256","crit":null}`: false,
	} {
		signed := enc.EncodeToString([]byte(header)) + "." + strings.Split(good, ".")[1]
		digest := sha256.Sum256([]byte(signed))
		r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
		require.NoError(t, err)
		sig := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		_, got, err := tokens.AuthenticateToken(t.Context(), signed+"."+enc.EncodeToString(sig))
		require.Equal(t, ok, got, "%s: %v", header, err)
		if !ok {
			require.ErrorContains(t, err, "critical extensions", header)
		}
	}
}

func TestJWKSVerifiesTokens(t *testing.T) {
	key := keys(t)["ES256"].(*ecdsa.PrivateKey)
	tokens, err := authn.NewTokens(authn.TokensOptions{Issuers: []string{"https://me"}, Keys: []any{key, &key.PublicKey}})
	require.NoError(t, err)
	data, err := tokens.JWKS()
	require.NoError(t, err)
	var set struct {
		Keys []struct{ Kty, Crv, X, Y, Kid, Alg string }
	}
	require.NoError(t, json.Unmarshal(data, &set))
	require.Len(t, set.Keys, 1, "the key that signs and verifies is there once")
	x, err := base64.RawURLEncoding.DecodeString(set.Keys[0].X)
	require.NoError(t, err)
	y, err := base64.RawURLEncoding.DecodeString(set.Keys[0].Y)
	require.NoError(t, err)
	pub, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, append(x, y...)...))
	require.NoError(t, err)
	require.True(t, pub.Equal(&key.PublicKey))
	token, err := tokens.Sign(claims())
	require.NoError(t, err)
	head, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[0])
	require.NoError(t, err)
	require.Contains(t, string(head), set.Keys[0].Kid)
}

func FuzzToken(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(f, err)
	tokens, err := authn.NewTokens(authn.TokensOptions{Issuers: []string{"https://me"}, Keys: []any{key}})
	require.NoError(f, err)
	good, err := tokens.Sign(claims())
	require.NoError(f, err)
	f.Add(good)
	f.Add("..")
	f.Add("e30.e30.")
	f.Add("e30.eyJpc3MiOiJrdWJlcm5ldGVzL3NlcnZpY2VhY2NvdW50In0.") // the issuer kubernetes/serviceaccount
	legacy := tokens.Legacy(func(context.Context, *authn.LegacyClaims, string) (authn.TokenUse, error) {
		return authn.TokenLegacyManual, nil
	})
	f.Fuzz(func(t *testing.T, token string) {
		_, ok, _ := tokens.AuthenticateToken(t.Context(), token)
		if ok {
			require.Equal(t, good, token, "a token that was never signed was accepted")
		}
		_, ok, _ = legacy.AuthenticateToken(t.Context(), token)
		require.False(t, ok, "no such token was signed")
	})
}

func FuzzTokenFile(f *testing.F) {
	f.Add("# comment\nsecret,ann,1,\"dev,ops\"\n\nother,bob,2\n", "secret")
	f.Add("a,b\n", "a")
	f.Fuzz(func(t *testing.T, text, token string) {
		a, err := authn.TokenFile(strings.NewReader(text))
		if err != nil {
			return
		}
		resp, ok, err := a.AuthenticateToken(t.Context(), token)
		require.NoError(t, err)
		if ok {
			require.Contains(t, text, resp.User.Name)
			require.NotEmpty(t, token, "requests without a token have no name")
		}
	})
}

func FuzzParseKeys(f *testing.F) {
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := authn.ParseKeys(data)
		require.NotEqual(t, err == nil, len(keys) == 0, "keys or an error")
	})
}

func TestTokenFile(t *testing.T) {
	a, err := authn.TokenFile(strings.NewReader("# comment\nsecret,ann,1,\"dev,ops\"\n\nother,bob,2\n"))
	require.NoError(t, err)
	resp, ok, err := a.AuthenticateToken(t.Context(), "secret")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, &authn.User{Name: "ann", UID: "1", Groups: []string{"dev", "ops"}}, resp.User)
	_, ok, err = a.AuthenticateToken(t.Context(), "unknown")
	require.NoError(t, err)
	require.False(t, ok)
	for text, want := range map[string]string{
		"a,b":              "line 1",
		"a,b,c\n,x,y":      "line 2",
		"a,b,c\na,d,e":     "duplicate token",
		"a,\"unfinished,c": "token file",
	} {
		_, err := authn.TokenFile(strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestUnionAndBearer(t *testing.T) {
	a, err := authn.TokenFile(strings.NewReader("secret,ann,1\n"))
	require.NoError(t, err)
	all := authn.Authenticated(authn.Union(authn.Bearer(a), authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
		return nil, false, nil
	})))
	request := func(header, value string) *http.Request {
		r := &http.Request{Header: http.Header{}}
		if header != "" {
			r.Header.Set(header, value)
		}
		return r
	}
	resp, ok, err := all.Authenticate(request("Authorization", "Bearer secret"))
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"system:authenticated"}, resp.User.Groups)
	_, ok, err = all.Authenticate(request("Authorization", "Bearer wrong"))
	require.ErrorIs(t, err, authn.ErrInvalidToken)
	require.False(t, ok)
	_, ok, err = all.Authenticate(request("", ""))
	require.NoError(t, err)
	require.False(t, ok)

	// A browser sends its token as a WebSocket subprotocol, which is not passed on.
	const prefix = "base64url.bearer.authorization.k8s.io."
	secret := prefix + base64.RawURLEncoding.EncodeToString([]byte("secret"))
	r := request("Upgrade", "websocket")
	r.Header.Set("Connection", "keep-alive, Upgrade")
	r.Header.Set("Sec-Websocket-Protocol", "v5.channel.k8s.io, "+secret)
	_, ok, err = all.Authenticate(r)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "v5.channel.k8s.io", r.Header.Get("Sec-Websocket-Protocol"))
	for protocols, want := range map[string]string{
		secret + ",a," + secret: "more than one", "a," + prefix + "!": "no text in base64", prefix + "_w,a": "no text in base64", secret: "another subprotocol", prefix + ",a": "",
	} {
		r.Header.Set("Sec-Websocket-Protocol", protocols)
		_, ok, err = all.Authenticate(r)
		require.False(t, ok)
		if want == "" {
			require.NoError(t, err, "without a token")
		} else {
			require.ErrorContains(t, err, want, protocols)
		}
		require.Equal(t, protocols, r.Header.Get("Sec-Websocket-Protocol"))
	}
	r.Header.Set("Sec-Websocket-Protocol", "a,"+secret)
	r.Header.Set("Connection", "keep-alive")
	_, ok, err = all.Authenticate(r)
	require.NoError(t, err)
	require.False(t, ok, "it opens no WebSocket")
}

func ExampleTokens() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	tokens, err := authn.NewTokens(authn.TokensOptions{Issuers: []string{"https://kubernetes.default.svc"}, Keys: []any{key}})
	if err != nil {
		panic(err)
	}
	token, err := tokens.Sign(authn.TokenClaims{Namespace: "default", ServiceAccount: authn.ObjectRef{Name: "robot"}, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		panic(err)
	}
	resp, ok, err := tokens.AuthenticateToken(context.Background(), token)
	fmt.Println(resp.User.Name, ok, err)
	// Output: system:serviceaccount:default:robot true <nil>
}
