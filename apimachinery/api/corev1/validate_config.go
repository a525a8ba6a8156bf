package corev1

import (
	"encoding/json"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidateConfigMap checks a config map to be created.
func ValidateConfigMap(c *ConfigMap) validation.ErrorList {
	var r check.Report
	size := 0
	for _, k := range check.Keys(c.Data) {
		r.Each(at("data").Key(k), k, validation.IsConfigMapKey(k))
		_, both := c.BinaryData[k]
		r.If(both, at("data").Key(k), k, "duplicate of key present in binaryData")
		size += len(c.Data[k])
	}
	for _, k := range check.Keys(c.BinaryData) {
		r.Each(at("binaryData").Key(k), k, validation.IsConfigMapKey(k))
		size += len(c.BinaryData[k])
	}
	if size > MaxSecretSize {
		// The object as a whole is named "[]" to clients.
		r.TooLong((*path)(nil).Key(""), MaxSecretSize)
	}
	return r.List()
}

// ValidateConfigMapUpdate checks a change of a config map; one marked immutable stays as it is.
func ValidateConfigMapUpdate(c, old *ConfigMap) validation.ErrorList {
	var r check.Report
	if isTrue(old.Immutable) {
		const why = "field is immutable when `immutable` is set"
		r.ForbidIf(!isTrue(c.Immutable), at("immutable"), why)
		r.ForbidIf(!check.Same(c.Data, old.Data), at("data"), why)
		r.ForbidIf(!check.Same(c.BinaryData, old.BinaryData), at("binaryData"), why)
	}
	r.Add(ValidateConfigMap(c))
	return r.List()
}

// ValidateSecret checks a secret to be created: its keys, its size, and what its type requires.
func ValidateSecret(s *Secret) validation.ErrorList {
	var r check.Report
	data := at("data")
	size := 0
	for _, k := range check.Keys(s.Data) {
		r.Each(data.Key(k), k, validation.IsConfigMapKey(k))
		size += len(s.Data[k])
	}
	if size > MaxSecretSize {
		r.TooLong(data, MaxSecretSize)
	}
	need := func(keys ...string) {
		for _, k := range keys {
			if _, ok := s.Data[k]; !ok {
				r.Required(data.Key(k), "")
			}
		}
	}
	isJSON := func(key string) {
		if v, ok := s.Data[key]; !ok {
			r.Required(data.Key(key), "")
		} else if !json.Valid(v) {
			r.Invalid(data.Key(key), "<secret contents redacted>", "must be JSON")
		}
	}
	switch s.Type {
	case SecretTypeServiceAccountToken:
		if s.Annotations[ServiceAccountNameKey] == "" {
			r.Required(at("metadata", "annotations").Key(ServiceAccountNameKey), "")
		}
	case SecretTypeDockercfg:
		isJSON(DockerConfigKey)
	case SecretTypeDockerConfigJson:
		isJSON(DockerConfigJsonKey)
	case SecretTypeBasicAuth:
		_, user := s.Data[BasicAuthUsernameKey]
		_, password := s.Data[BasicAuthPasswordKey]
		if !user && !password {
			need(BasicAuthUsernameKey, BasicAuthPasswordKey)
		}
	case SecretTypeSSHAuth:
		if len(s.Data[SSHAuthPrivateKey]) == 0 {
			r.Required(data.Key(SSHAuthPrivateKey), "")
		}
	case SecretTypeTLS:
		need(TLSCertKey, TLSPrivateKeyKey)
	}
	return r.List()
}

// ValidateSecretUpdate checks a change of a secret: the type stays, and one marked immutable does altogether.
func ValidateSecretUpdate(s, old *Secret) validation.ErrorList {
	var r check.Report
	check.Immutable(&r, at("type"), s.Type, old.Type)
	if isTrue(old.Immutable) {
		const why = "field is immutable when `immutable` is set"
		r.ForbidIf(!isTrue(s.Immutable), at("immutable"), why)
		r.ForbidIf(!check.Same(s.Data, old.Data), at("data"), why)
	}
	r.Add(ValidateSecret(s))
	return r.List()
}
