package kubeletconfig

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/kubelet"
)

// providerVersions are those of files of credential providers. Only the first has tokenAttributes.
var providerVersions = []string{"kubelet.config.k8s.io/v1", "kubelet.config.k8s.io/v1beta1", "kubelet.config.k8s.io/v1alpha1"}

const providerKind = "CredentialProviderConfig"

// providerConfig is a file of credential providers.
type providerConfig struct {
	metav1.TypeMeta `json:",inline"`
	Providers       []kubelet.CredentialProvider `json:"providers"`
}

// LoadCredentialProviders reads a CredentialProviderConfig, or those in the *.json, *.yaml and *.yml files of
// a folder, in the order of their names, and checks that they are whole. The programs are in the folder dir.
func LoadCredentialProviders(path, dir string) (kubelet.CredentialProviders, error) {
	none := kubelet.CredentialProviders{}
	files, err := providerFiles(path)
	if err != nil {
		return none, err
	}
	all, hash := kubelet.CredentialProviders{Dir: dir}, sha256.New()
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return none, err
		}
		// As upstream has it, so that the metric is the same: the length of a file, then its content.
		_ = binary.Write(hash, binary.BigEndian, uint64(len(b))) // a hash takes everything
		_, _ = hash.Write(b)
		list, err := readProviders(b)
		if err != nil {
			return none, fmt.Errorf("%s: %w", file, err)
		}
		all.Providers = append(all.Providers, list...)
	}
	if len(all.Providers) == 0 {
		return none, fmt.Errorf("%s: there are no providers", path)
	}
	all.Hash = fmt.Sprintf("sha256:%x", hash.Sum(nil))
	if err := all.Check(); err != nil {
		return none, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

func providerFiles(path string) ([]string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path) // in the order of names
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(e.Name())) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no file of this folder ends in .json, .yaml or .yml", path)
	}
	return files, nil
}

func readProviders(b []byte) ([]kubelet.CredentialProvider, error) {
	var c providerConfig
	if err := strict(b, &c); err != nil {
		return nil, err
	}
	if c.Kind != providerKind || !slices.Contains(providerVersions, c.APIVersion) {
		return nil, fmt.Errorf("want kind %s of %s, found %q of %q", providerKind, providerVersions[0], c.Kind, c.APIVersion)
	}
	for _, p := range c.Providers {
		if p.TokenAttributes != nil && c.APIVersion != providerVersions[0] {
			return nil, fmt.Errorf("provider %q: tokenAttributes need the apiVersion %s of the file", p.Name, providerVersions[0])
		}
	}
	return c.Providers, nil
}
