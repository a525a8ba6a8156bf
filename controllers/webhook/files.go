package webhook

import (
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// files is a certificate and its key on disk. They are read again when they have changed.
type files struct {
	dir string
	log *slog.Logger

	mu    sync.Mutex
	state [2]stamp // of the files when pair was read
	pair  *tls.Certificate
}

// stamp identifies a state of a file.
type stamp struct {
	at   time.Time
	size int64
}

// get returns the certificate. While the files are being replaced and do not match, it returns the previous
// one.
func (f *files) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	names := [2]string{filepath.Join(f.dir, "tls.crt"), filepath.Join(f.dir, "tls.key")}
	var state [2]stamp
	for i, name := range names {
		if info, err := os.Stat(name); err == nil {
			state[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	f.mu.Lock()
	if f.pair != nil && f.state == state {
		defer f.mu.Unlock()
		return f.pair, nil
	}
	f.mu.Unlock()
	pair, err := tls.LoadX509KeyPair(names[0], names[1])
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		if f.pair == nil {
			return nil, err
		}
		f.log.Warn("read certificate failed, keeping the previous one", "dir", f.dir, "err", err)
		return f.pair, nil
	}
	f.pair, f.state = &pair, state
	return f.pair, nil
}
