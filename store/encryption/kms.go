package encryption

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// A key management service is a plugin at a Unix socket. It encrypts a seed, from which a key is derived for
// each value; both are stored with the value. So the plugin is called once for a seed, not for each value:
// to encrypt it when the plugin reports another key, and to decrypt it when a value is first read.

const (
	statusEvery = time.Minute     // the key that the plugin reports is not older than this
	statusValid = 3 * time.Minute // unless it fails: then writes go on for this time
	statusRetry = 3 * time.Second // the least time between attempts that fail

	seedSize = 32
	infoSize = 32 // what a key is derived with, which begins the encrypted value

	maxKeyID       = 1 << 10  // bytes
	maxSeed        = 1 << 10  // bytes of an encrypted seed
	maxAnnotations = 32 << 10 // bytes of keys and values
	maxSeeds       = 1000     // decrypted seeds that are kept
)

// plugin is a key management service in use. It is safe for concurrent use.
type plugin struct {
	name   string
	prefix string // of values
	client kmsClient

	mu         sync.Mutex // guards what follows
	write      *seed      // nil before the first one
	checked    time.Time  // of the last status
	failed     error      // of the last attempt; nil if it succeeded
	failedAt   time.Time
	refreshing chan struct{} // closed when the attempt under way has ended; nil if there is none
	read       map[[sha256.Size]byte][]byte
}

// seed is what keys are derived from, with its encrypted form.
type seed struct {
	plain []byte
	keyID string
	// wrapped is all of the stored form but the value: key, encrypted seed, annotations.
	wrapped []byte
}

// unavailable is the error of a plugin that cannot be used now.
type unavailable struct{ err error }

func (e *unavailable) Error() string { return e.err.Error() }
func (e *unavailable) Unwrap() error { return e.err }

// seal encrypts a value.
func (p *plugin) seal(ctx context.Context, plain, aad []byte) ([]byte, error) {
	s, err := p.current(ctx)
	if err != nil {
		return nil, err
	}
	data := make([]byte, infoSize, infoSize+12+len(plain)+16)
	_, _ = rand.Read(data) // it never fails
	aead, err := derived(s.plain, data)
	if err != nil {
		return nil, err
	}
	data = data[:infoSize+aead.NonceSize()]
	nonce := data[infoSize:]
	_, _ = rand.Read(nonce)
	data = aead.Seal(data, nonce, plain, aad)
	if used := p.client.metrics.KeyUsed; used != nil {
		used(p.name, s.keyID, true)
	}
	out := make([]byte, 0, len(p.prefix)+len(s.wrapped)+len(data)+8)
	return appendBytes(append(append(out, p.prefix...), s.wrapped...), 1, data), nil
}

// derived returns the cipher of a value.
func derived(seed, info []byte) (cipher.AEAD, error) {
	key, err := hkdf.Expand(sha256.New, seed, string(info), 32)
	if err != nil {
		return nil, err
	}
	return newGCM(key)
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// open decrypts a value, without its prefix. stale says that it would be encrypted in another way now.
func (p *plugin) open(ctx context.Context, data, aad []byte) (plain []byte, stale bool, err error) {
	o, err := readObject(data)
	if err != nil {
		return nil, false, err
	}
	if err := o.validate(); err != nil {
		return nil, false, err
	}
	source, err := p.seedOf(ctx, o)
	if err != nil {
		return nil, false, err
	}
	sealed, info := o.data, []byte(nil)
	if o.derived {
		if len(sealed) < infoSize {
			return nil, false, errShort
		}
		info, sealed = sealed[:infoSize], sealed[infoSize:]
	}
	var aead cipher.AEAD
	if o.derived {
		aead, err = derived(source, info)
	} else {
		aead, err = newGCM(source) // of a server before 1.28
	}
	if err != nil {
		return nil, false, err
	}
	if plain, err = (gcm{aead}).open(sealed, aad); err != nil {
		return nil, false, err
	}
	if used := p.client.metrics.KeyUsed; used != nil {
		used(p.name, o.keyID, false)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return plain, !o.derived || p.write != nil && p.write.keyID != o.keyID, nil
}

// seedOf returns the decrypted seed of a value.
func (p *plugin) seedOf(ctx context.Context, o *encryptedObject) ([]byte, error) {
	id := o.identity()
	p.mu.Lock()
	plain := p.read[id]
	p.mu.Unlock()
	if plain != nil {
		return plain, nil
	}
	if missing := p.client.metrics.SeedMissing; missing != nil {
		missing()
	}
	plain, err := p.client.decrypt(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("failed to decrypt DEK: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(id, plain)
	return plain, nil
}

// keep adds a decrypted seed. p.mu is held.
func (p *plugin) keep(id [sha256.Size]byte, plain []byte) {
	if len(p.read) >= maxSeeds {
		clear(p.read)
	}
	p.read[id] = plain
	if seeds := p.client.metrics.Seeds; seeds != nil {
		seeds(p.name, len(p.read))
	}
}

// current returns the seed to write with.
func (p *plugin) current(ctx context.Context) (*seed, error) {
	p.mu.Lock()
	s, age := p.write, time.Since(p.checked)
	busy := p.refreshing != nil
	p.mu.Unlock()
	if s != nil && (age < statusEvery || age < statusValid && busy) {
		return s, nil
	}
	err := p.refresh(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.write != nil && time.Since(p.checked) < statusValid {
		return p.write, nil
	}
	return nil, &unavailable{fmt.Errorf("the key management service %s cannot be used: %w", p.name, err)}
}

// health returns why the plugin cannot be used; nil if it can.
func (p *plugin) health(ctx context.Context) error {
	p.mu.Lock()
	fresh := p.failed == nil && time.Since(p.checked) < 20*time.Second
	p.mu.Unlock()
	if fresh {
		return nil
	}
	return p.refresh(ctx)
}

// refresh reads the status of the plugin, and takes a new seed if its key is another one. Callers at the same
// time share one attempt.
func (p *plugin) refresh(ctx context.Context) error {
	p.mu.Lock()
	if p.failed != nil && time.Since(p.failedAt) < statusRetry {
		defer p.mu.Unlock()
		return p.failed
	}
	if done := p.refreshing; done != nil {
		p.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.failed
	}
	done, old := make(chan struct{}), p.write
	p.refreshing = done
	p.mu.Unlock()
	// A canceled request must not fail the others that wait for the result.
	next, err := p.next(context.WithoutCancel(ctx), old)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refreshing, p.failed = nil, err
	close(done)
	if err != nil {
		p.failedAt = time.Now()
		return err
	}
	p.write, p.checked = next, time.Now()
	return nil
}

// next returns the seed for the key that the plugin reports: the old one, which may be nil, or a new one.
func (p *plugin) next(ctx context.Context, old *seed) (*seed, error) {
	keyID, err := p.client.status(ctx)
	if err != nil {
		return nil, err
	}
	if old != nil && old.keyID == keyID {
		return old, nil
	}
	began, plain := time.Now(), make([]byte, seedSize)
	_, _ = rand.Read(plain) // it never fails
	if made := p.client.metrics.SeedMade; made != nil {
		made(time.Since(began))
	}
	o, err := p.client.encrypt(ctx, plain)
	if err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(o.identity(), plain)
	return &seed{plain: plain, keyID: o.keyID, wrapped: o.wrapped()}, nil
}

// encryptedObject is the stored form of a value, after its prefix.
type encryptedObject struct {
	data        []byte
	keyID       string
	seed        []byte // encrypted
	annotations map[string][]byte
	derived     bool // the key is derived from the seed; otherwise it is the seed
}

// validate checks what a plugin, or another server, wrote.
func (o *encryptedObject) validate() error {
	size := 0
	for key, value := range o.annotations {
		size += len(key) + len(value)
		if !strings.Contains(key, ".") || len(validation.IsDNS1123Subdomain(key)) > 0 {
			return fmt.Errorf("the annotation %q is no domain name", key)
		}
	}
	switch {
	case o.keyID == "" || len(o.keyID) > maxKeyID:
		return fmt.Errorf("the ID of the key has %d bytes, want 1 to %d", len(o.keyID), maxKeyID)
	case len(o.seed) == 0 || len(o.seed) > maxSeed:
		return fmt.Errorf("the encrypted seed has %d bytes, want 1 to %d", len(o.seed), maxSeed)
	case size > maxAnnotations:
		return fmt.Errorf("the annotations have %d bytes, want at most %d", size, maxAnnotations)
	}
	return nil
}

// identity is the same for values with the same seed.
func (o *encryptedObject) identity() [sha256.Size]byte {
	h := sha256.New()
	h.Write(o.wrapped())
	return [sha256.Size]byte(h.Sum(nil))
}

// wrapped is the message without the value.
func (o *encryptedObject) wrapped() []byte {
	out := appendString(nil, 2, o.keyID)
	out = appendBytes(out, 3, o.seed)
	out = appendMap(out, 4, o.annotations)
	if o.derived {
		out = append(out, 5<<3, 1)
	}
	return out
}

func readObject(data []byte) (*encryptedObject, error) {
	o := &encryptedObject{}
	err := eachField(data, func(f field) error {
		switch f.number {
		case 1:
			o.data = f.bytes
		case 2:
			o.keyID = string(f.bytes)
		case 3:
			o.seed = f.bytes
		case 4:
			return readEntry(f.bytes, &o.annotations)
		case 5:
			if o.derived = f.integer == 1; f.integer > 1 {
				return fmt.Errorf("the encryptedDEKSourceType %d is not known", f.integer)
			}
		}
		return nil
	})
	if err == nil && len(o.data) == 0 {
		err = errors.New("encrypted data is empty")
	}
	return o, err
}

// validate implements the checks of a configuration.
func (k *KMSConfiguration) validate(p *validation.Path) (errs validation.ErrorList) {
	if k.APIVersion != "v2" {
		return validation.ErrorList{validation.Invalid(p.Child("apiVersion"), k.APIVersion, "KMSv1 is deprecated and not supported: use a plugin of KMSv2, with apiVersion: v2")}
	}
	if k.Name == "" {
		errs = append(errs, validation.Required(p.Child("name"), "name is a required field"))
	}
	if strings.Contains(k.Name, ":") {
		errs = append(errs, validation.Invalid(p.Child("name"), k.Name, "names must not contain a colon, which ends them in stored values"))
	}
	if k.CacheSize != nil {
		errs = append(errs, validation.Invalid(p.Child("cachesize"), *k.CacheSize, "cachesize is not supported in v2"))
	}
	if k.Timeout != nil && k.Timeout.Duration <= 0 {
		errs = append(errs, validation.Invalid(p.Child("timeout"), k.Timeout.Duration.String(), "timeout should be a positive value"))
	}
	if k.Endpoint == "" {
		errs = append(errs, validation.Required(p.Child("endpoint"), "endpoint is a required field"))
	} else if path, ok := strings.CutPrefix(k.Endpoint, "unix://"); !ok || len(path) < 2 {
		errs = append(errs, validation.Invalid(p.Child("endpoint"), k.Endpoint, "want unix:///PATH, or unix:///@NAME for an abstract socket"))
	}
	return errs
}

// uniqueNames refuses two plugins of one name, by which stored values are assigned to them.
func (c *Configuration) uniqueNames() (errs validation.ErrorList) {
	var seen []string
	for i := range c.Resources {
		for j := range c.Resources[i].Providers {
			k := c.Resources[i].Providers[j].KMS
			if k == nil {
				continue
			}
			if slices.Contains(seen, k.Name) {
				errs = append(errs, validation.Invalid(validation.NewPath("resources").Index(i).Child("providers").Index(j).Child("kms", "name"), k.Name, "two providers have this name: list their resources together"))
			}
			seen = append(seen, k.Name)
		}
	}
	return errs
}
