package main

import (
	"crypto"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/controllers/builtin/certificates"
)

// ownSigners are the signers that may have an authority of their own, by the middle part of its flags.
var ownSigners = map[string]string{
	"kube-apiserver-client": certificatesv1.KubeAPIServerClientSignerName,
	"kubelet-client":        certificatesv1.KubeAPIServerClientKubeletSignerName,
	"kubelet-serving":       certificatesv1.KubeletServingSignerName,
}

// keyFiles are the files of a certificate authority.
type keyFiles struct{ cert, key string }

// authorities are the flags of the certificate authorities that sign requests.
type authorities struct {
	all keyFiles
	own map[string]*keyFiles // by the keys of ownSigners
}

func (a *authorities) flags(f *pflag.FlagSet) {
	f.StringVar(&a.all.cert, "cluster-signing-cert-file", "", "certificate of the authority that signs certificate requests (empty: none are signed)")
	f.StringVar(&a.all.key, "cluster-signing-key-file", "", "key of --cluster-signing-cert-file")
	a.own = map[string]*keyFiles{}
	for name, signer := range ownSigners {
		files := &keyFiles{}
		a.own[name] = files
		cert := "cluster-signing-" + name + "-cert-file"
		f.StringVar(&files.cert, cert, "", "certificate of the authority of signer "+signer+"; the others sign only with their own then")
		f.StringVar(&files.key, "cluster-signing-"+name+"-key-file", "", "key of --"+cert)
	}
}

// load reads the files.
func (a *authorities) load(opts *certificates.SigningOptions) error {
	given := a.all != (keyFiles{})
	if given {
		all, err := a.all.load("cluster-signing")
		if err != nil {
			return err
		}
		opts.Cert, opts.Key = all.Cert, all.Key
	}
	for name, files := range a.own {
		if *files == (keyFiles{}) {
			continue
		}
		if given {
			return errors.New("cannot specify default and per controller certs at the same time: --cluster-signing-cert-file and --cluster-signing-" + name + "-cert-file")
		}
		own, err := files.load("cluster-signing-" + name)
		if err != nil {
			return err
		}
		if opts.Authorities == nil {
			opts.Authorities = map[string]certificates.Authority{}
		}
		opts.Authorities[ownSigners[name]] = own
	}
	return nil
}

// load reads the files of the flags that begin with prefix.
func (k *keyFiles) load(prefix string) (certificates.Authority, error) {
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		return certificates.Authority{}, fmt.Errorf("--%s-cert-file and --%s-key-file: %w", prefix, prefix, err)
	}
	// Every private key that crypto/tls loads is a crypto.Signer.
	return certificates.Authority{Cert: pair.Leaf, Key: pair.PrivateKey.(crypto.Signer)}, nil
}
