package authn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A signature that was verified is kept, one that was refused is not, and neither are too many.
func TestVerifiedSignatures(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	k, err := newJWTKey(private)
	require.NoError(t, err)
	token, err := k.sign(map[string]string{"sub": "robot"})
	require.NoError(t, err)
	_, _, signed, sig, ok := splitJWT(token)
	require.True(t, ok)
	for range 3 {
		require.True(t, k.verify(signed, sig))
		require.False(t, k.verify(signed+"x", sig), "another text with a signature that was verified")
		require.False(t, k.verify(signed, append([]byte{sig[0] ^ 1}, sig[1:]...)))
		require.False(t, k.verify(signed, sig[1:]))
		require.Len(t, k.verified, 1)
	}
	for i := len(k.verified); i < maxVerified; i++ {
		k.verified[[32]byte{byte(i), byte(i >> 8), 1}] = struct{}{}
	}
	second, err := k.sign(map[string]string{"sub": "other"})
	require.NoError(t, err)
	_, _, signed, sig, _ = splitJWT(second)
	require.True(t, k.verify(signed, sig))
	require.Len(t, k.verified, 1)
}

func BenchmarkAuthenticateToken(b *testing.B) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(b, err)
	tokens, err := NewTokens(TokensOptions{Issuers: []string{"https://me"}, Keys: []any{private}})
	require.NoError(b, err)
	token, err := tokens.Sign(TokenClaims{Namespace: "ns", ServiceAccount: ObjectRef{Name: "robot", UID: "u1"}, Expires: time.Now().Add(time.Hour)})
	require.NoError(b, err)
	for b.Loop() {
		_, ok, err := tokens.AuthenticateToken(b.Context(), token)
		require.True(b, ok && err == nil)
	}
}
