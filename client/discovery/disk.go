package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
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
	if err == nil {
		_ = atomicfile.Write(c.file(), b) // if it fails, the next program reads the server
	}
}
