package pullrecords

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/registryauth"
)

// The kinds of files, and their version. Files of v1alpha1, which have the same fields, are read too.
const (
	intentKind = "ImagePullIntent"
	recordKind = "ImagePulledRecord"
	apiVersion = "kubelet.config.k8s.io/v1beta1"
	oldVersion = "kubelet.config.k8s.io/v1alpha1"
)

func typeOf(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind} }

// intent announces a pull.
type intent struct {
	metav1.TypeMeta `json:",inline"`
	Image           string `json:"image"`
}

// record says who may use an image.
type record struct {
	metav1.TypeMeta `json:",inline"`
	LastUpdatedTime metav1.Time `json:"lastUpdatedTime"`
	// ImageRef is the runtime's reference to the image.
	ImageRef string `json:"imageRef"`
	// CredentialMapping has rights by the image of pods, without tag and digest.
	CredentialMapping map[string]rights `json:"credentialMapping,omitempty"`
}

// rights are credentials with which an image was pulled. Without any, they are not known.
type rights struct {
	KubernetesSecrets         []secret  `json:"kubernetesSecrets,omitempty"`
	KubernetesServiceAccounts []account `json:"kubernetesServiceAccounts,omitempty"`
	// NodePodsAccessible is true if every pod of the node may use it.
	NodePodsAccessible bool `json:"nodePodsAccessible,omitempty"`
}

type account struct {
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type secret struct {
	account
	CredentialHash string `json:"credentialHash"`
}

func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(b, '\n'), err
}

const prefix = "sha256-"

// fileName is that of an image or a reference.
func fileName(of string) string { return fmt.Sprintf("%s%x", prefix, sha256.Sum256([]byte(of))) }

// list returns the names of the files of a folder, none if it does not exist.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// read returns the record of a file. One for another image than the file's name says is no record.
func read(path string) (*record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rec := &record{}
	if err := json.Unmarshal(b, rec); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if rec.Kind != recordKind || rec.APIVersion != apiVersion && rec.APIVersion != oldVersion {
		return nil, fmt.Errorf("%s: want kind %s of %s, found %q of %q", path, recordKind, apiVersion, rec.Kind, rec.APIVersion)
	}
	if fileName(rec.ImageRef) != filepath.Base(path) {
		return nil, fmt.Errorf("%s: it is of the image %q", path, rec.ImageRef)
	}
	return rec, nil
}

// imageOf returns the image of an announcement, empty if the file cannot be read. That it exists is what
// counts.
func imageOf(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	var i intent
	if json.Unmarshal(b, &i) != nil || fileName(i.Image) != filepath.Base(path) {
		return ""
	}
	return i.Image
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// write writes a file as a whole, on the disk: after a crash of the machine a pull that the runtime still
// remembers must have been announced.
func write(path string, b []byte) error { return atomicfile.WriteSync(path, b) }

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Trim returns an image as a pod has it, without tag and digest.
func Trim(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}

// full returns an image with everything that may be left out of it.
func full(image string) string {
	rest := image[len(Trim(image)):]
	if _, digest, ok := strings.Cut(rest, "@"); ok {
		rest = "@" + digest
	} else if rest == "" {
		rest = ":latest"
	}
	return registryauth.Repository(image) + rest
}
