package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
)

// writeConfig writes the administrator's kubeconfig, readable by the owner only.
func (c *cluster) writeConfig() error {
	c.kubeconfig = c.writeKubeconfig
	switch {
	case c.kubeconfig != "":
	case c.dataDir != "":
		c.kubeconfig = filepath.Join(c.dataDir, "kubeconfig")
	default:
		f, err := os.CreateTemp("", "keelson-kubeconfig-*")
		if err != nil {
			return err
		}
		_ = f.Close() // it is replaced below
		c.kubeconfig = f.Name()
	}
	path, err := filepath.Abs(c.kubeconfig)
	if err != nil {
		return err
	}
	c.kubeconfig = path
	b64 := base64.StdEncoding.EncodeToString
	return atomicfile.WriteSync(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: keelson
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: kubernetes-admin
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: keelson
  context:
    cluster: keelson
    user: kubernetes-admin
current-context: keelson
`, c.url(), b64(c.pki.ca.CertPEM()), b64(c.pki.admin.CertPEM()), b64(c.pki.admin.KeyPEM())))
}
