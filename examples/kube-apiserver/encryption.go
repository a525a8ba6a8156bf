package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/encryption"
)

// encrypting is the flags that say how objects are stored.
type encrypting struct {
	configFile string
	reload     bool

	file      *component.Reloaded[*encryption.Configuration] // nil without configFile
	providers *encryption.Providers
	// changed is called with the outcome of each change of the file.
	changed func(err error)
}

func (e *encrypting) flags(f *pflag.FlagSet) {
	f.StringVar(&e.configFile, "encryption-provider-config", "", "file of kind EncryptionConfiguration (apiserver.config.k8s.io/v1): which objects are encrypted in the store, and by which keys (empty: none)")
	f.BoolVar(&e.reload, "encryption-provider-config-automatic-reload", false, "apply changes of --encryption-provider-config while running")
}

func (e *encrypting) validate() error {
	if e.reload && e.configFile == "" {
		return fmt.Errorf("--encryption-provider-config-automatic-reload needs --encryption-provider-config")
	}
	return nil
}

// apply reads the file and adds it to the options of the server. prefix is that of keys in etcd.
func (e *encrypting) apply(o *apiserver.Options, prefix string, m *apimetrics.Metrics, log *slog.Logger) (err error) {
	if e.configFile == "" {
		return nil
	}
	e.file, err = component.Reload(log, func(contents [][]byte) (*encryption.Configuration, error) {
		return encryption.ParseConfiguration(contents[0])
	}, e.configFile)
	if err != nil {
		return fmt.Errorf("--encryption-provider-config: %w", err)
	}
	e.changed = count(e.file, m.Config("encryption"))
	e.providers, err = encryption.New(e.file.Get(), encryption.Options{Prefix: "/" + strings.Trim(prefix, "/"), Metrics: m.Encryption()})
	if err != nil {
		return fmt.Errorf("--encryption-provider-config: %s: %w", e.configFile, err)
	}
	o.Encryption = e.providers
	if e.reload || e.providers.UsesPlugins() { // a later file may name a plugin
		o.ReadyChecks = map[string]func(context.Context) error{"kms-providers": e.providers.Health}
	}
	return nil
}

// count notes the contents of a file, and returns the function that counts the outcomes of its changes.
func count[T any](file *component.Reloaded[T], c *apimetrics.Config) (changed func(err error)) {
	c.Used(file.Hash())
	return func(err error) { c.Reloaded(file.Hash(), err) }
}

// close ends the connections to key management services. Nothing may use the store any more.
func (e *encrypting) close() {
	if e.providers != nil {
		e.providers.Close()
	}
}

// follow puts a changed file in force until ctx ends. What cannot be used changes nothing.
func (e *encrypting) follow(ctx context.Context) {
	if e.file == nil || !e.reload {
		return
	}
	e.file.Follow(ctx, func(_ context.Context, now *encryption.Configuration) (bool, error) {
		return false, e.providers.Set(now)
	}, e.changed)
}
