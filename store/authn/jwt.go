package authn

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	_ "crypto/sha512" // ES384, ES512
)

// A jwtKey verifies, and with a private key signs, JSON web tokens (RFC 7515, 7518).
type jwtKey struct {
	id      string
	alg     string
	hash    crypto.Hash
	public  crypto.PublicKey
	private crypto.Signer

	mu       sync.Mutex
	verified map[[sha256.Size]byte]struct{} // hashes of digests with their valid signatures
}

// newJWTKey takes an RSA or ECDSA key, private or public. The id is derived from the public key as
// clusters do: base64url of the SHA-256 of its PKIX form.
func newJWTKey(key any) (*jwtKey, error) {
	k := &jwtKey{}
	if s, ok := key.(crypto.Signer); ok {
		k.private, key = s, s.Public()
	}
	k.public = key
	switch pub := key.(type) {
	case *rsa.PublicKey:
		k.alg, k.hash = "RS256", crypto.SHA256
	case *ecdsa.PublicKey:
		switch pub.Curve {
		case elliptic.P256():
			k.alg, k.hash = "ES256", crypto.SHA256
		case elliptic.P384():
			k.alg, k.hash = "ES384", crypto.SHA384
		case elliptic.P521():
			k.alg, k.hash = "ES512", crypto.SHA512
		default:
			return nil, fmt.Errorf("authn: unsupported curve %s", pub.Params().Name)
		}
	case ed25519.PublicKey:
		return nil, errors.New("authn: Ed25519 keys cannot sign service account tokens; use RSA or ECDSA")
	default:
		return nil, fmt.Errorf("authn: unsupported key type %T", key)
	}
	if last := lastKeyID.Load(); last != nil && last.public == key {
		k.id = last.id
		return k, nil
	}
	der, err := x509.MarshalPKIXPublicKey(k.public)
	if err != nil {
		return nil, fmt.Errorf("authn: %w", err)
	}
	sum := sha256.Sum256(der)
	k.id = base64.RawURLEncoding.EncodeToString(sum[:])
	lastKeyID.Store(&keyID{key, k.id})
	return k, nil
}

// keyID is the id of a public key.
type keyID struct {
	public crypto.PublicKey
	id     string
}

// lastKeyID is that of the last key: the servers of one program have mostly the same.
var lastKeyID atomic.Pointer[keyID]

// ParseKeys reads every RSA or ECDSA key, private or public, and every certificate's public key, of PEM data.
func ParseKeys(data []byte) ([]any, error) {
	var keys []any
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		var key any
		var err error
		switch block.Type {
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "PUBLIC KEY":
			key, err = x509.ParsePKIXPublicKey(block.Bytes)
		case "RSA PUBLIC KEY":
			key, err = x509.ParsePKCS1PublicKey(block.Bytes)
		case "CERTIFICATE":
			var c *x509.Certificate
			if c, err = x509.ParseCertificate(block.Bytes); err == nil {
				key = c.PublicKey
			}
		default:
			continue // such as EC PARAMETERS
		}
		if err != nil {
			return nil, fmt.Errorf("authn: PEM block %q: %w", block.Type, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("authn: no PEM key found")
	}
	return keys, nil
}

type jwtHeader struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid,omitempty"`
	// Critical names extensions that a verifier must support. None is supported.
	Critical json.RawMessage `json:"crit,omitempty"`
}

func (k *jwtKey) sign(claims any) (string, error) {
	if k.private == nil {
		return "", errors.New("authn: the first service account key is not a private key")
	}
	head, err := json.Marshal(jwtHeader{Algorithm: k.alg, KeyID: k.id})
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	enc := base64.RawURLEncoding
	signed := enc.EncodeToString(head) + "." + enc.EncodeToString(body)
	digest := k.digest(signed)
	var sig []byte
	switch key := k.private.(type) {
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, key, digest)
		if err != nil {
			return "", err
		}
		size := (key.Params().BitSize + 7) / 8
		sig = append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
	default:
		if sig, err = k.private.Sign(rand.Reader, digest, k.hash); err != nil {
			return "", err
		}
	}
	return signed + "." + enc.EncodeToString(sig), nil
}

func (k *jwtKey) digest(signed string) []byte {
	h := k.hash.New()
	h.Write([]byte(signed))
	return h.Sum(nil)
}

// verify reports whether sig is the key's signature of signed. A client sends the same token with each
// request, and a valid signature stays valid, so those are kept: a lookup takes 1 us, and a verification 60
// us with P-256.
func (k *jwtKey) verify(signed string, sig []byte) bool {
	digest := k.digest(signed)
	pair := sha256.Sum256(append(slices.Clip(digest), sig...)) // digests have one length
	k.mu.Lock()
	_, known := k.verified[pair]
	k.mu.Unlock()
	if known {
		return true
	}
	if !k.valid(digest, sig) {
		return false // not kept: anyone can send any number of them
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.verified == nil || len(k.verified) >= maxVerified {
		k.verified = map[[sha256.Size]byte]struct{}{}
	}
	k.verified[pair] = struct{}{}
	return true
}

func (k *jwtKey) valid(digest, sig []byte) bool {
	switch pub := k.public.(type) {
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(pub, k.hash, digest, sig) == nil
	case *ecdsa.PublicKey:
		size := (pub.Params().BitSize + 7) / 8
		if len(sig) != 2*size {
			return false
		}
		return ecdsa.Verify(pub, digest, new(big.Int).SetBytes(sig[:size]), new(big.Int).SetBytes(sig[size:]))
	}
	return false
}

// maxToken is the maximum size of a token in bytes.
const maxToken = 64 << 10

// splitJWT splits a token without checking its signature. ok is false if it is not a JWT.
func splitJWT(token string) (h jwtHeader, claims []byte, signed string, sig []byte, ok bool) {
	if len(token) > maxToken || strings.Count(token, ".") != 2 {
		return
	}
	dot := strings.LastIndexByte(token, '.')
	signed = token[:dot]
	head, body, _ := strings.Cut(signed, ".")
	enc := base64.RawURLEncoding.Strict()
	rawHead, err1 := enc.DecodeString(head)
	claims, err2 := enc.DecodeString(body)
	sig, err3 := enc.DecodeString(token[dot+1:])
	if errors.Join(err1, err2, err3) != nil || json.Unmarshal(rawHead, &h) != nil || !bytes.HasPrefix(claims, []byte("{")) {
		return
	}
	return h, claims, signed, sig, true
}

// jwk is a public key as in RFC 7517.
type jwk struct {
	Use       string `json:"use"`
	KeyType   string `json:"kty"`
	KeyID     string `json:"kid"`
	Algorithm string `json:"alg"`
	Curve     string `json:"crv,omitempty"`
	X         string `json:"x,omitempty"`
	Y         string `json:"y,omitempty"`
	N         string `json:"n,omitempty"`
	E         string `json:"e,omitempty"`
}

func (k *jwtKey) jwk() (jwk, error) {
	enc := base64.RawURLEncoding
	out := jwk{Use: "sig", KeyID: k.id, Algorithm: k.alg}
	switch pub := k.public.(type) {
	case *rsa.PublicKey:
		out.KeyType = "RSA"
		out.N = enc.EncodeToString(pub.N.Bytes())
		out.E = enc.EncodeToString(big.NewInt(int64(pub.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := pub.Bytes() // 0x04, X, Y
		if err != nil {
			return jwk{}, fmt.Errorf("authn: %w", err)
		}
		half := (len(point) - 1) / 2
		out.KeyType, out.Curve = "EC", pub.Params().Name
		out.X, out.Y = enc.EncodeToString(point[1:1+half]), enc.EncodeToString(point[1+half:])
	}
	return out, nil
}
