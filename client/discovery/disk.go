package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// diskCatalog is the stored form of a catalog.
type diskCatalog struct {
	Catalog
	Etags [2]string
}

func (c *Client) file() string {
	sum := sha256.Sum256([]byte(c.opts.CacheKey))
	return filepath.Join(c.opts.CacheDir, hex.EncodeToString(sum[:8])+".json")
}

// load returns the stored catalog if it has an etag with which the server can revalidate it.
func (c *Client) load() *Catalog {
	if c.opts.CacheDir == "" {
		return nil
	}
	b, err := os.ReadFile(c.file())
	if err != nil {
		return nil
	}
	var k diskCatalog
	if json.Unmarshal(b, &k) != nil || k.Etags[1] == "" {
		return nil
	}
	k.etags = k.Etags
	return &k.Catalog
}

func (c *Client) save(cat *Catalog) {
	if c.opts.CacheDir == "" || cat.etags[1] == "" {
		return
	}
	b, err := json.Marshal(diskCatalog{*cat, cat.etags})
	if err != nil || os.MkdirAll(c.opts.CacheDir, 0o750) != nil {
		return
	}
	// A rename, so that no reader finds a partly written file.
	f, err := os.CreateTemp(c.opts.CacheDir, "catalog-*")
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), c.file())
	}
	if err != nil {
		os.Remove(f.Name())
	}
}
