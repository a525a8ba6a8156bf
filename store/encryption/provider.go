package encryption

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/nacl/secretbox" // its cipher is not in the standard library

	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// mark begins every encrypted value.
const mark = "k8s:enc:"

var (
	errShort     = errors.New("the stored data was shorter than the required size")
	errEncrypted = errors.New("identity transformer tried to read encrypted data")
	errNoPrefix  = errors.New("no matching prefix found")
)

// sealer encrypts and decrypts with one key. Both return new memory; aad is authenticated, if the cipher can.
type sealer interface {
	seal(prefix string, plain, aad []byte) []byte
	open(data, aad []byte) ([]byte, error)
}

// provider is a kind of cipher with its keys.
type provider struct {
	prefix  string // such as k8s:enc:aesgcm:v1:
	keys    []namedKey
	kms     *plugin // in the place of keys
	unknown error   // for a key that it does not have
}

type namedKey struct {
	prefix string // of values: that of the provider, and name
	name   string // with a colon
	sealer sealer
}

// meter reports the transformations of a value. The zero value reports nothing.
type meter struct {
	report   func(Transformation)
	resource schema.GroupResource
	written  bool
}

// begin returns the current time, which done takes; zero if nothing is reported.
func (m *meter) begin() (began time.Time) {
	if m.report != nil {
		began = time.Now()
	}
	return began
}

// done reports the end of an attempt.
func (m *meter) done(prefix string, began time.Time, err error) {
	if m.report != nil {
		m.report(Transformation{Resource: m.resource, Prefix: prefix, Written: m.written, Elapsed: time.Since(began), Err: err})
	}
}

// providers are those of some resources: the first key of the first one encrypts, all decrypt. One without
// keys is the identity.
type providers []provider

// identity is what holds for resources without a configuration.
var identity = providers{{}}

// newProviders gets the plugins of key management services from kms.
func newProviders(list []ProviderConfiguration, kms func(*KMSConfiguration) (*plugin, error)) (providers, error) {
	var out providers
	for _, c := range list {
		p, err := c.provider(kms)
		if err != nil {
			return nil, fmt.Errorf("encryption: %w", err)
		}
		out = append(out, p)
	}
	return out, nil
}

func (c *ProviderConfiguration) provider(kms func(*KMSConfiguration) (*plugin, error)) (provider, error) {
	switch {
	case c.AESGCM != nil:
		return newProvider("aesgcm", "AES", c.AESGCM.Keys, func(key []byte) (sealer, error) {
			block, err := aes.NewCipher(key)
			if err != nil {
				return nil, err
			}
			aead, err := cipher.NewGCM(block)
			return gcm{aead}, err
		})
	case c.AESCBC != nil:
		return newProvider("aescbc", "AES", c.AESCBC.Keys, func(key []byte) (sealer, error) {
			block, err := aes.NewCipher(key)
			return cbc{block}, err
		})
	case c.Secretbox != nil:
		return newProvider("secretbox", "Secretbox", c.Secretbox.Keys, func(key []byte) (sealer, error) {
			if len(key) != 32 {
				return nil, fmt.Errorf("expected key size 32 for secretbox provider, got %v", len(key))
			}
			return box(key), nil
		})
	case c.Identity != nil:
		return provider{}, nil
	case c.KMS != nil:
		plugin, err := kms(c.KMS)
		if err != nil {
			return provider{}, err
		}
		return provider{prefix: plugin.prefix, kms: plugin}, nil
	}
	return provider{}, errors.New("the provider is of no supported kind")
}

func newProvider(name, title string, keys []Key, open func(key []byte) (sealer, error)) (provider, error) {
	p := provider{prefix: mark + name + ":v1:", unknown: fmt.Errorf("no matching key was found for the provided %s transformer", title)}
	for _, k := range keys {
		key, err := base64.StdEncoding.DecodeString(k.Secret)
		if err != nil {
			return p, fmt.Errorf("could not obtain secret for named key %s: it is not base64", k.Name)
		}
		s, err := open(key)
		if err != nil {
			return p, fmt.Errorf("error while creating cipher for named key %s: %w", k.Name, err)
		}
		p.keys = append(p.keys, namedKey{p.prefix + k.Name + ":", k.Name + ":", s})
	}
	return p, nil
}

func (p *provider) isIdentity() bool { return len(p.keys) == 0 && p.kms == nil }

// encrypt returns the stored form of a value.
func (ps providers) encrypt(ctx context.Context, plain, aad []byte, m *meter) (out []byte, err error) {
	first, began := &ps[0], m.begin()
	switch {
	case first.kms != nil:
		out, err = first.kms.seal(ctx, plain, aad)
	case len(first.keys) == 0:
		out = plain
	default:
		k := first.keys[0]
		out = k.sealer.seal(k.prefix, plain, aad)
		m.done(k.name, began, nil)
	}
	m.done(first.prefix, began, err)
	return out, err
}

// decrypt returns the value of a stored form, and whether encrypt would store it in another form.
func (ps providers) decrypt(ctx context.Context, data, aad []byte, m *meter) (plain []byte, stale bool, err error) {
	var errs []error
	began := m.begin()
	for i, p := range ps {
		if p.isIdentity() {
			if !bytes.HasPrefix(data, []byte(mark)) {
				m.done("identity", began, nil)
				return data, i > 0, nil
			}
			continue
		}
		if !bytes.HasPrefix(data, []byte(p.prefix)) {
			continue
		}
		plain, later, err := p.decrypt(ctx, data, aad, m)
		m.done(p.prefix, began, err)
		if err == nil {
			return plain, later || i > 0, nil
		}
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, false, joined(errs)
	}
	if err = errNoPrefix; len(ps) == 1 && ps[0].isIdentity() {
		err = errEncrypted
	}
	m.done("unknown", began, err)
	return nil, false, err
}

// decrypt reports as later whether another key than the first one was used.
func (p *provider) decrypt(ctx context.Context, data, aad []byte, m *meter) (plain []byte, later bool, err error) {
	if p.kms != nil {
		return p.kms.open(ctx, data[len(p.prefix):], aad)
	}
	var errs []error
	began := m.begin()
	for i, k := range p.keys {
		rest, ok := bytes.CutPrefix(data, []byte(k.prefix))
		if !ok {
			continue
		}
		plain, err := k.sealer.open(rest, aad)
		m.done(k.name, began, err)
		if err == nil {
			return plain, i > 0, nil
		}
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, false, joined(errs)
	}
	m.done("unknown", began, p.unknown)
	return nil, false, p.unknown
}

// joined is the error of several keys, in the form in which Kubernetes joins errors.
func joined(errs []error) error {
	for _, err := range errs {
		if _, ok := errors.AsType[*unavailable](err); ok {
			return err
		}
	}
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	if texts = slices.Compact(texts); len(texts) == 1 {
		return errs[0]
	}
	return errors.New("[" + strings.Join(texts, ", ") + "]")
}

// withRandom returns prefix and n random bytes, with room for size more, and the random part of it.
func withRandom(prefix string, n, size int) (out, random []byte) {
	out = make([]byte, len(prefix)+n, len(prefix)+n+size)
	copy(out, prefix)
	random = out[len(prefix):]
	_, _ = rand.Read(random) // it never fails
	return out, random
}

// gcm is AES-GCM with a random nonce.
type gcm struct{ aead cipher.AEAD }

func (g gcm) seal(prefix string, plain, aad []byte) []byte {
	out, nonce := withRandom(prefix, g.aead.NonceSize(), len(plain)+g.aead.Overhead())
	return g.aead.Seal(out, nonce, plain, aad)
}

func (g gcm) open(data, aad []byte) ([]byte, error) {
	n := g.aead.NonceSize()
	if len(data) < n {
		return nil, errShort
	}
	return g.aead.Open(nil, data[:n], data[n:], aad)
}

// cbc is AES-CBC with PKCS #7 padding and a random IV. It does not authenticate.
type cbc struct{ block cipher.Block }

func (c cbc) seal(prefix string, plain, _ []byte) []byte {
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	out, iv := withRandom(prefix, aes.BlockSize, len(plain)+pad)
	n := len(out)
	out = append(append(out, plain...), bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(c.block, iv).CryptBlocks(out[n:], out[n:])
	return out
}

func (c cbc) open(data, _ []byte) ([]byte, error) {
	if len(data) < aes.BlockSize {
		return nil, errShort
	}
	iv, data := data[:aes.BlockSize], data[aes.BlockSize:]
	if len(data)%aes.BlockSize != 0 {
		return nil, errors.New("the stored data is not a multiple of the block size")
	}
	if len(data) == 0 {
		return nil, errors.New("invalid PKCS7 data (empty or not padded)")
	}
	out := make([]byte, len(data))
	cipher.NewCBCDecrypter(c.block, iv).CryptBlocks(out, data)
	pad := int(out[len(out)-1])
	if pad == 0 || pad > len(out) {
		return nil, errors.New("invalid PKCS7 data (empty or not padded)")
	}
	for _, b := range out[len(out)-pad:] {
		if int(b) != pad {
			return nil, errors.New("invalid padding on input")
		}
	}
	return out[:len(out)-pad], nil
}

// box is XSalsa20 and Poly1305 with a random nonce.
type box [32]byte

const boxNonce = 24

func (b box) seal(prefix string, plain, _ []byte) []byte {
	out, random := withRandom(prefix, boxNonce, len(plain)+secretbox.Overhead)
	nonce, key := [boxNonce]byte(random), [32]byte(b)
	return secretbox.Seal(out, plain, &nonce, &key)
}

func (b box) open(data, _ []byte) ([]byte, error) {
	if len(data) < boxNonce+secretbox.Overhead {
		return nil, errShort
	}
	nonce, key := [boxNonce]byte(data[:boxNonce]), [32]byte(b)
	plain, ok := secretbox.Open(nil, data[boxNonce:], &nonce, &key)
	if !ok {
		return nil, errors.New("output array was not large enough for encryption")
	}
	return plain, nil
}
